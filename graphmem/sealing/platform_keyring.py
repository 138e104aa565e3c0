"""The keyring of the platform, where it keeps secrets safely."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_USABLE_PRIORITY: Final = 1
"""The least priority of a keyring that its library recommends: those below keep secrets in plain text."""


class KeyringLocked(Exception):
    """The keyring does not open, as on a machine without a desktop; its message names the fault."""


class PlatformKeyring:
    """The secrets of one purpose, by name. It keeps nothing where the platform keeps no secrets safely."""

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose

    def get(self, name: str) -> str | None:
        """Return a secret, None if it is not there; KeyringLocked: nobody can tell."""
        from keyring.errors import KeyringError

        try:
            return backend.get_password(self._purpose, name) if (backend := _backend()) else None
        except KeyringError as exc:
            raise KeyringLocked(type(exc).__name__) from exc

    def put(self, name: str, secret: str) -> bool:
        """Keep a secret; return whether the keyring took it."""
        from keyring.errors import KeyringError

        backend = _backend()
        with contextlib.suppress(KeyringError):
            if backend is not None:
                backend.set_password(self._purpose, name, secret)
                return True
        return False

    def remove(self, name: str) -> None:
        from keyring.errors import KeyringError

        # It raises where there is nothing to remove.
        with contextlib.suppress(KeyringError):
            if (backend := _backend()) is not None:
                backend.delete_password(self._purpose, name)


def _backend() -> KeyringBackend | None:
    import keyring

    backend = keyring.get_keyring()
    return backend if backend.priority >= _USABLE_PRIORITY else None
