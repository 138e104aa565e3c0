"""Who the caller is, and the API keys of the caller's account."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from graphmem.arguments import Nothing
from graphmem.registry import Context, Scope, operation


class Me(TypedDict):
    """The caller: ``user_id`` is the id of the account, ``owner`` that of the data it works on.

    ``authentication`` says how the caller authenticated: none, token (SERVICE_BEARER_TOKEN), key, oauth,
    socket (the Unix socket of this machine) or process (a command that works on the database itself).
    ``credential`` is the id of the API key or of the OAuth connection.
    """

    user_id: str
    account: str
    owner: str
    scopes: list[str]
    authentication: str
    credential: NotRequired[str]
    client: str
    sandbox_mode: bool


@operation("auth.whoami", "GET /me", tool="get_authenticated_user", command="auth whoami", scope=Scope.READ)
async def who_am_i(context: Context, arguments: Nothing) -> Me:
    """Return the account that the caller acts for, its scopes, and how it authenticated."""
    actor = context.actor
    answer: Me = {
        "user_id": actor.account,
        "account": actor.account_name,
        "owner": actor.owner,
        "scopes": sorted(actor.scopes),
        "authentication": actor.method,
        "client": actor.client,
        "sandbox_mode": context.services.settings.sandbox,
    }
    if actor.credential:
        answer["credential"] = actor.credential
    return answer
