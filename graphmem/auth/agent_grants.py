"""Grants of agents: what an agent that signs may do for an account. They only take from what the account may.

They are data of the instance and not facts: no dump has them.
"""

import secrets
from collections.abc import Collection
from typing import Literal, NamedTuple

import orjson
from cachetools import TTLCache

from graphmem.arguments import Arguments, named_types
from graphmem.auth import Actor, Scope, SignedAgent
from graphmem.auth.credentials import CREDENTIALS_LIMIT, REMEMBERED_SECONDS
from graphmem.auth.rates import meter
from graphmem.database.driver import Database
from graphmem.database.owner_cache import TypeAliases
from graphmem.errors import CapabilityDenied, NotFound
from graphmem.model import ids, times
from graphmem.model.identity import normalise_type
from graphmem.model.schema.schema_document import SchemaDocument

GrantStatus = Literal["active", "suspended", "revoked"]


class Capability(NamedTuple):
    """An operation, or ``read``, ``write`` or ``*``, on entities of some types; no types: of every type."""

    op: str
    entity_types: list[str]


class AgentGrant(NamedTuple):
    """A row of ``account/_agent_grant.cypher``: of one key, or of a subject for which its issuer vouches."""

    grant_id: str
    label: str
    thumbprint: str | None
    issuer: str | None
    subject: str | None
    capabilities: str
    status: GrantStatus
    created_at: int

    @property
    def allowed(self) -> list[Capability]:
        return [Capability(*each) for each in orjson.loads(self.capabilities)]

    def is_of(self, agent: SignedAgent) -> bool:
        if self.thumbprint is not None:
            return self.thumbprint == agent.thumbprint
        return agent.issuer is not None and (self.issuer, self.subject) == (agent.issuer, agent.subject)


class AgentGrants:
    """The grants of agents. A process remembers those of an account for 4 seconds."""

    def __init__(self, database: Database, type_aliases: TypeAliases) -> None:
        self._database, self._aliases = database, type_aliases
        self._reads, self._writes = database.reads(None), database.writes(None)
        self._known: TTLCache[str, list[AgentGrant]] = TTLCache(CREDENTIALS_LIMIT, REMEMBERED_SECONDS)

    async def create(
        self, actor: Actor, label: str, agent: tuple[str | None, ...], capabilities: Collection[Capability]
    ) -> AgentGrant:
        """Store a grant of the account of an actor. ``agent``: thumbprint, issuer and subject."""
        account_id, (thumbprint, issuer, subject) = actor.account, agent
        allowed = orjson.dumps([tuple(each) for each in capabilities]).decode()
        grant = await self._database.writes(actor.owner).one(
            "account.create_agent_grant", AgentGrant, account_id=account_id,
            id=f"agr_{secrets.token_hex(8)}", label=label, thumbprint=thumbprint, issuer=issuer,
            subject=subject, capabilities=allowed, created_at=times.now(),
        )  # fmt: skip
        self._known.pop(account_id, None)
        if grant is None:
            raise NotFound("the caller has no account on this instance", account_id=account_id)
        return grant

    async def of_account(self, account_id: str) -> list[AgentGrant]:
        """Return the grants of an account, newest first, revoked ones included."""
        return await self._reads.all("account.agent_grants", AgentGrant, account_id=account_id)

    async def change(self, account_id: str, grant_id: str, status: GrantStatus) -> AgentGrant:
        """Change the status of a grant; raises NotFound: there is none. One that is revoked stays so."""
        grant = await self._writes.one(
            "account.set_agent_grant", AgentGrant, account_id=account_id, id=grant_id, status=status
        )
        self._known.pop(account_id, None)
        if grant is None:
            raise NotFound(f"there is no grant {grant_id}: the list of grants has the ids", grant_id=grant_id)
        return grant

    async def check(self, actor: Actor, name: str, scope: Scope, arguments: Arguments | None = None) -> None:
        """Refuse a call of an agent that its grants do not cover, or cannot be shown to cover.

        ``arguments``: those of a call that touches no types but those that they name.

        Raises:
            CapabilityDenied: they do not.
        """
        capabilities = await self._narrowing(actor)
        if capabilities is None:
            return
        kind = "read" if scope is Scope.READ else "write"
        # No agent with a grant says who may call: it would give itself another grant, or a key without one.
        # Nor is it another copy, which says who wrote.
        is_open = scope not in (Scope.KEYS, Scope.COPY)
        fitting = [each for each in capabilities if is_open and each.op in ("*", kind, name)]
        if any(not each.entity_types for each in fitting):
            return
        types: set[str] = set()
        if fitting and arguments is not None:
            types = await self._touched(actor.owner, arguments)
            aliases = await self._aliases.of(actor.owner)
            allowed = {aliases.get(each, each) for capability in fitting for each in capability.entity_types}
            if types and types <= allowed:
                return
        raise CapabilityDenied(operation=name, entity_types=sorted(types))

    async def check_again(self, actor: Actor, name: str, arguments: Arguments | None = None) -> None:
        """Refuse to go on with a read whose credential or grant has ended since it began.

        Raises:
            AuthInvalid, AuthRequired, Forbidden, CursorOfAnotherDatabase: it has.
        """
        await meter().credential_holds(Scope.READ)
        await self.check(actor, name, Scope.READ, arguments)

    async def _narrowing(self, actor: Actor) -> list[Capability] | None:
        """Return all that the agent of a request may do; None if no grant takes anything from it.

        Once an account has a grant that is not revoked, an agent without one may do nothing: it could make a
        new key else.
        """
        if actor.signer is None:
            return None
        grants = self._known.get(actor.account)
        if grants is None:
            grants = self._known[actor.account] = await self.of_account(actor.account)
        own = [grant for grant in grants if grant.is_of(actor.signer)]
        if not own and all(grant.status == "revoked" for grant in grants):
            return None
        return [each for grant in own if grant.status == "active" for each in grant.allowed]

    async def _touched(self, owner: str, arguments: Arguments) -> set[str]:
        """Return the types of what typed arguments name; none if they name something else, such as a file."""
        sent, graph = arguments.sent(), self._database.reads(owner)
        if "file_content" in sent or "file_path" in sent:
            return set()
        items = [item for item in sent.get("entities", ()) if isinstance(item, dict)]
        named = {str(item["entity_type"]) for item in items if "entity_type" in item} | named_types(arguments)
        aliases = await self._aliases.of(owner)
        try:
            normal = {normalise_type(name) for name in named}
        except ValueError:
            return set()
        types = {aliases.get(name, name) for name in normal}
        if named_ids := sorted(set(ids.ENTITY_ID.findall(str(sent)))):
            rows = await graph.all("entity.kinds", tuple[str, list[str]], entity_ids=named_ids)
            if len(rows) < len(named_ids):
                return set()
            types.update(*(entity_types for _, entity_types in rows))
        fields = {name for item in (*items, sent.get("corrections") or {}) for name in item} | {
            sent.get("field")
        }
        documents = await graph.only("schema.documents", list[tuple[str, str]], types=sorted(types))
        references = [each for _, text in documents for each in SchemaDocument.read(text).references]
        # Also what a value names is stored: an entity of another type.
        return types | {
            aliases.get(each.entity_type, each.entity_type) for each in references if each.field in fields
        }
