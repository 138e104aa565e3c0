"""Connections: the programs that the caller's account allowed to use it, by OAuth."""

import re
from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, Spelled
from graphmem.auth.grants import Grant, Grants
from graphmem.context import Context
from graphmem.model import times
from graphmem.reading import answers
from graphmem.reading.pages import Paged, PageEnvelope, page_of
from graphmem.registry import Scope, operation

CONNECTION_ID_LIMIT = 100


class Connection(TypedDict):
    """One program. ``resource`` is the address that its tokens are for.

    ``last_used_at`` is exact to the minute. ``expires_at`` is when it ends by itself, unless the program uses
    it before. ``connectionId`` and the others in this spelling are the same, for clients that know them so.
    """

    connection_id: str
    client_name: str
    client_id: str
    scopes: list[str]
    resource: str
    created_at: str | None
    last_used_at: str | None
    expires_at: str | None
    connectionId: str
    clientName: str
    clientId: str
    createdAt: str | None
    lastUsedAt: str | None
    expiresAt: str | None


class Connections(PageEnvelope):
    """A page of the connections of an account, newest first."""

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
    connection_id: str
    connectionId: str


ConnectionId = Annotated[str, Field(max_length=CONNECTION_ID_LIMIT, description="The id of the connection.")]


class NameConnection(Arguments):
    id: Annotated[ConnectionId, Spelled("connection_id")]


class ConnectionOrOwn(Arguments):
    """Which connection: by default the one by which the caller authenticated, else the newest."""

    connection_id: ConnectionId | None = None


def _connection(grant: Grant) -> Connection:
    named = answers.of_row(Connection, grant)
    in_camel_case = {re.sub("_(.)", lambda match: match[1].upper(), name): named[name] for name in named}
    return cast("Connection", {**named, **in_camel_case})


@operation("connections.list", Scope.READ)
async def list_connections(context: Context, arguments: Paged) -> Connections:
    """List the programs that may use the caller's account by OAuth."""
    grants = await Grants(context.services.database).connections(context.actor.account)
    page, envelope = page_of(context, "connections.list", arguments, grants, lambda each: each.connection_id)
    return {"connections": [_connection(grant) for grant in page], **envelope}


@operation("connections.status", Scope.READ)
async def connection_status(context: Context, arguments: ConnectionOrOwn) -> ConnectionStatus:
    """Say whether a program's connection is active, pending or expired."""
    grants, actor = Grants(context.services.database), context.actor
    active = await grants.connections(actor.account)
    own = [grant for grant in active if grant.connection_id == actor.credential] or active
    if arguments.connection_id is not None:
        own = [await grants.connection(actor.account, arguments.connection_id)]
    if not own:
        return {"status": "none", "connections": 0}
    grant = own[0]
    expired = grant.expires_at <= times.now()
    return {
        "status": "expired" if expired else "pending" if grant.redeemed_at is None else "active",
        "connections": len(active),
        "connection_id": grant.connection_id,
        "connection": _connection(grant),
    }


@operation("connections.revoke", Scope.WRITE)
async def revoke_connection(context: Context, arguments: NameConnection) -> Removed:
    """End the connection of a program, with all its tokens. They stop working within 5 seconds."""
    grants = Grants(context.services.database, context.services.credentials)
    grant = await grants.revoke(context.actor.account, arguments.id)
    return {"success": True, "connection_id": grant.connection_id, "connectionId": grant.connection_id}
