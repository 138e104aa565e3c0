"""Agents: what an agent that signs its requests may do for the caller's account."""

from typing import Annotated, Any, Final

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NotBlank
from graphmem.auth.agent_grants import AgentGrant, Capability, GrantStatus
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model.identity import normalise_type
from graphmem.reading import answers
from graphmem.reading.pages import Paged, PageEnvelope, page_of
from graphmem.registry import REGISTRY, Scope, operation

_KINDS: Final = frozenset({"*", "read", "write"})
Text = Annotated[str, Field(min_length=1, max_length=500), NotBlank]


class GrantedCapability(Arguments):
    """Some operations on entities of some types."""

    op: str
    entity_types: list[Text] = Field(default=[], max_length=100)


class GrantAgent(Arguments):
    """The arguments of ``agents.grant``: one key, or one subject of an issuer that the service trusts."""

    label: Text
    thumbprint: Text | None = None
    issuer: Text | None = None
    subject: Text | None = None
    capabilities: list[GrantedCapability] = Field(min_length=1, max_length=100)


class Grant(TypedDict):
    """What one agent may do."""

    grant_id: str
    label: str
    status: GrantStatus
    thumbprint: str | None
    issuer: str | None
    subject: str | None
    capabilities: list[dict[str, Any]]
    created_at: str


class GrantAnswer(TypedDict):
    """The grant that was made or changed."""

    grant: Grant


class AgentGrantPage(PageEnvelope):
    """A page of the grants of an account, newest first, with those that are revoked."""

    grants: list[Grant]


@operation("agents.grant", Scope.KEYS)
async def grant_agent(context: Context, arguments: GrantAgent) -> GrantAnswer:
    """Narrow what an agent may do for the caller's account, by its key or by a subject of a trusted issuer.

    From then on every other agent that signs needs a grant too. What an agent says of itself fits no grant.
    """
    if (arguments.thumbprint is None) == (arguments.issuer is None or arguments.subject is None):
        raise InvalidInput.at("$", "name either thumbprint, or issuer and subject")
    capabilities: list[Capability] = []
    for index, each in enumerate(arguments.capabilities):
        tools = {entry.tool: entry.name for entry in REGISTRY.values() if entry.tool}
        name = tools.get(each.op, each.op)
        if name not in _KINDS | REGISTRY.keys():
            raise InvalidInput.at(f"$.capabilities[{index}].op", f"there is no operation {each.op[:100]!r}")
        try:
            types = sorted({normalise_type(entity_type) for entity_type in each.entity_types})
        except ValueError as exc:
            raise InvalidInput.at(f"$.capabilities[{index}].entity_types", str(exc)) from None
        capabilities.append(Capability(name, types))
    agent = arguments.thumbprint, arguments.issuer, arguments.subject
    grants = context.services.agent_grants
    return {"grant": _grant(await grants.create(context.actor, arguments.label, agent, capabilities))}


@operation("agents.grants", Scope.READ)
async def list_grants(context: Context, arguments: Paged) -> AgentGrantPage:
    """List what agents may do for the caller's account."""
    grants = await context.services.agent_grants.of_account(context.actor.account)
    page, envelope = page_of(context, "agents.grants", arguments, grants, lambda grant: grant.grant_id)
    return {"grants": [_grant(grant) for grant in page], **envelope}


class NameGrant(Arguments):
    grant_id: str = Field(min_length=1, max_length=100)


class SuspendGrant(NameGrant):
    undo: bool = False


@operation("agents.suspend", Scope.KEYS)
async def suspend_grant(context: Context, arguments: SuspendGrant) -> GrantAnswer:
    """Suspend a grant, or bring it back. In all processes it takes effect within 5 seconds."""
    status = "active" if arguments.undo else "suspended"
    grants = context.services.agent_grants
    return {"grant": _grant(await grants.change(context.actor.account, arguments.grant_id, status))}


@operation("agents.revoke", Scope.KEYS)
async def revoke_grant(context: Context, arguments: NameGrant) -> GrantAnswer:
    """Revoke a grant for good. Its agent may do nothing in any process after 5 seconds."""
    grants = context.services.agent_grants
    return {"grant": _grant(await grants.change(context.actor.account, arguments.grant_id, "revoked"))}


def _grant(grant: AgentGrant) -> Grant:
    return {**answers.of_row(Grant, grant), "capabilities": [each._asdict() for each in grant.allowed]}
