"""What a local service tells of itself at ``GET /service``, and whether it fits its caller.

The names of ``version``, ``pid`` and ``state``, and ``POST /service/stop``, never change: every version asks
a service of another version with them.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from graphmem import __version__
from graphmem.settings import Settings, shared_settings, without_url_secrets

PATH = "/service"
STOP_PATH = "/service/stop"

STARTING, READY, FAILED, STOPPING = "starting", "ready", "failed", "stopping"


def answer_settings(settings: Settings) -> dict[str, str]:
    """Return the settings that change answers, by environment variable. Of a secret only a hash."""
    return {name: _text(value) for name, value in shared_settings(settings).items()}


def identity(settings: Settings) -> dict[str, Any]:
    """Return the part of the greeting that does not change while the service lives, without its pid."""
    return {
        "version": __version__,
        "database": settings.neo4j_uri or f"embedded Neo4j in {settings.data_path}",
        "settings": answer_settings(settings),
    }


def differences(settings: Settings, greeting: Mapping[str, Any]) -> list[str]:
    """Name the settings in which the caller differs from the service, with both values."""
    own = answer_settings(settings)
    other: Mapping[str, str] = greeting.get("settings", {})
    return [
        f"{name} is {own.get(name) or 'not set'} for this command and {other.get(name) or 'not set'} for the "
        "service"
        for name in sorted({*own, *other})
        if own.get(name) != other.get(name)
    ]


def _text(value: Any) -> str:
    text = value.get_secret_value() if isinstance(value, SecretStr) else "" if value is None else str(value)
    clean = "secret" if isinstance(value, SecretStr) else without_url_secrets(text)
    # Two secrets differ, though neither is shown.
    return clean if clean == text else f"{clean} with hash {hashlib.sha256(text.encode()).hexdigest()[:8]}"
