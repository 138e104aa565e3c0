"""Who needs no credential: whoever asks for one of these paths."""

from typing import Final

PUBLIC_PATHS: Final = frozenset({
    "/", "/health", "/health/ready", "/server-info", "/signed_file", "/sandbox/terms",
    "/mcp/oauth/initiate", "/mcp/oauth/authorize", "/mcp/oauth/consent", "/mcp/oauth/token",
    "/mcp/oauth/register", "/mcp/oauth/revoke",
})  # fmt: skip
"""The paths, without the prefix ``/api``, of operations and other routes that need no credential."""
PUBLIC_PREFIXES: Final = ("/.well-known/", "/app/")
"""No path below them needs a credential: a client that looks for a document gets 404 there, and not 401."""


def is_public(path: str) -> bool:
    """Return whether a path, without the prefix ``/api``, needs no credential."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)
