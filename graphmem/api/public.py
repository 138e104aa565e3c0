"""What needs no credential: one list for all faces of HTTP."""

from __future__ import annotations

from typing import Final

PUBLIC_PATHS: Final = frozenset({
    "/", "/health", "/health/ready", "/server-info", "/signed_file",
    "/mcp/oauth/initiate", "/mcp/oauth/authorize", "/mcp/oauth/consent", "/mcp/oauth/token",
    "/mcp/oauth/register", "/mcp/oauth/revoke",
})  # fmt: skip
"""The paths, without the prefix ``/api``, of operations and other routes that need no credential."""
PUBLIC_PREFIX: Final = "/.well-known/"
"""No path below it needs a credential: a client that looks for a document gets 404 there, and not 401."""


def is_public(path: str) -> bool:
    """Return whether a path, without the prefix ``/api``, needs no credential."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIX)
