"""Connections: the programs that the caller's account allowed to use it, by OAuth."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import EXAMPLE_CONNECTION_ID, Arguments, Nothing, Spelled
from graphmem.auth.grants import Grant, Grants
from graphmem.errors import NotFound
from graphmem.model import times
from graphmem.reading import answers
from graphmem.registry import Context, Face, Scope, operation

CONNECTION_ID_LIMIT = 100
_NO_MODEL = "a program does not manage what its person allowed"


class Connection(TypedDict):
    """One program. ``resource`` is the address that its tokens are for.

    ``lastUsedAt`` is exact to the minute. ``expiresAt`` is when it ends by itself, unless the program uses
    it before.
    """

    connectionId: str
    clientName: str
    clientId: str
    scopes: list[str]
    resource: str
    createdAt: str | None
    lastUsedAt: str | None
    expiresAt: str | None


class Connections(TypedDict):
    """The connections of an account, newest first."""

    connections: list[Connection]


class ConnectionStatus(TypedDict):
    """The state of one connection; ``none`` without any. ``connections`` counts those of the account."""

    status: Literal["none", "pending", "active", "expired"]
    connections: int
    connection_id: NotRequired[str]
    connection: NotRequired[Connection]


class Removed(TypedDict):
    """The connection has ended, with all its tokens."""

    success: bool
    connectionId: str


ConnectionId = Annotated[str, Field(max_length=CONNECTION_ID_LIMIT, description="The id of the connection.")]


class NameConnection(Arguments):
    """Which connection."""

    id: Annotated[ConnectionId, Spelled("connection_id")]


class ConnectionOrOwn(Arguments):
    """Which connection: by default the one by which the caller authenticated, else the newest."""

    connection_id: ConnectionId | None = None


def _connection(grant: Grant) -> Connection:
    return {
        "connectionId": grant.id,
        "clientName": grant.client_name,
        "clientId": grant.client_id,
        "scopes": grant.scopes,
        "resource": grant.resource,
        "createdAt": answers.when(grant.created_at),
        "lastUsedAt": answers.when(grant.last_used_at),
        "expiresAt": answers.when(grant.expires_at),
    }


@operation(
    "connections.list",
    "GET /mcp/oauth/connections",
    command="auth connections list",
    scope=Scope.READ,
    faces=Face.REST | Face.CLI,
    reason=_NO_MODEL,
)
async def list_connections(context: Context, arguments: Nothing) -> Connections:
    """List the programs that may use the caller's account by OAuth."""
    grants = await Grants(context.services.database).connections(context.actor.account)
    return {"connections": [_connection(grant) for grant in grants]}


@operation(
    "connections.status",
    "GET /mcp/oauth/status",
    command="auth connections status",
    scope=Scope.READ,
    faces=Face.REST | Face.CLI,
    reason=_NO_MODEL,
    errors=(NotFound,),
)
async def connection_status(context: Context, arguments: ConnectionOrOwn) -> ConnectionStatus:
    """Say whether a program's connection is active, pending or expired."""
    grants, actor = Grants(context.services.database), context.actor
    active = await grants.connections(actor.account)
    own = [grant for grant in active if grant.id == actor.credential] or active
    if arguments.connection_id is not None:
        own = [await grants.connection(actor.account, arguments.connection_id)]
    if not own:
        return {"status": "none", "connections": 0}
    grant = own[0]
    expired = grant.expires_at <= times.now()
    status = "expired" if expired else "pending" if grant.redeemed_at is None else "active"
    return {
        "status": status,
        "connections": len(active),
        "connection_id": grant.id,
        "connection": _connection(grant),
    }


@operation(
    "connections.revoke",
    "DELETE /mcp/oauth/connections/{id}",
    command="auth connections revoke",
    scope=Scope.WRITE,
    idempotent=True,
    sandbox=False,
    faces=Face.REST | Face.CLI,
    reason=_NO_MODEL,
    errors=(NotFound,),
    example={"id": EXAMPLE_CONNECTION_ID},
)
async def revoke_connection(context: Context, arguments: NameConnection) -> Removed:
    """End the connection of a program, with all its tokens. They stop working within 5 seconds."""
    grants = Grants(context.services.database, context.services.credentials)
    grant = await grants.revoke(context.actor.account, arguments.id)
    return {"success": True, "connectionId": grant.id}
