"""The keyring of the platform, where it keeps secrets safely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_USABLE_PRIORITY: Final = 1
"""The least priority of a keyring that its library recommends: those below keep secrets in plain text."""


def platform_keyring() -> KeyringBackend | None:
    """Return the platform's keyring, None if there is none that keeps secrets safely."""
    import keyring

    backend = keyring.get_keyring()
    return backend if backend.priority >= _USABLE_PRIORITY else None
