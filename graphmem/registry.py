"""The operation registry: the one definition that REST, MCP and the command line share.

An operation is declared once with :func:`operation`. The faces loop over :data:`REGISTRY` and hold no code
for a single operation. All of them call :meth:`Operation.run`, so the same arguments give the same answer and
the same error everywhere.
"""

import asyncio
import contextlib
import copy
import enum
import inspect
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, cast, get_args, get_type_hints

import orjson
import structlog
from pydantic import TypeAdapter

from graphmem import errors, tables
from graphmem.arguments import Arguments, named_types, read, with_types
from graphmem.auth import Actor, Scope
from graphmem.auth.credentials import CHECK_SECONDS
from graphmem.auth.rates import RateClass, meter
from graphmem.budgets import within_budget
from graphmem.context import Context, Services
from graphmem.database.driver import round_trips
from graphmem.database.left_out import MET_DAMAGE, Damage, LeftOutEntity, noting
from graphmem.errors import Forbidden, GraphmemError, InternalError, InvalidInput, ServiceBusy
from graphmem.foreign_arguments import asking_something
from graphmem.fresh import read_fresh
from graphmem.model import membership, times
from graphmem.model.attribution import writers_of
from graphmem.observability import logs
from graphmem.receipts.collected import COLLECTED, Collected
from graphmem.settings import Settings, TierName
from graphmem.writing.state import WrittenSpan

_log = structlog.get_logger(logs.OPERATIONS)


class Face(enum.Flag):
    """Where an operation can be called."""

    REST = enum.auto()
    MCP = enum.auto()
    CLI = enum.auto()
    ALL = REST | MCP | CLI


_FACES = {Face.REST: "rest", Face.MCP: "mcp", Face.CLI: "cli"}


A = TypeVar("A", bound=Arguments)
Function = Callable[[Context, A], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[A]):
    """An operation, as its row in ``operations/faces.toml`` declares it and as its function reads.

    Attributes:
        destructive: whether it takes something from what reads show: an entity, a value, a field. What is
            merely superseded by a newer observation does not count. Nothing stored is ever lost.
        idempotent: whether the same call once more changes nothing. Every read is idempotent.
        sandbox: whether the public sandbox allows it.
        faces: where it can be called.
        public: whether it answers callers without a credential.
        heavy: whether it looks at far more than it answers, by queries of ``cost heavy``; such calls have a
            rate limit of their own.
        limited: whether calls count for rate limits. The probes of those who run the service do not.
        rate: the name of the class of its rate limit, if it has one that its scope does not tell.
        takes_file: whether its arguments may hold a file, so that its body may be as large as
            that of the largest file.
        typed: whether it touches no entity type but those of the types and entities that its arguments name,
            and those that the reference fields among its arguments name. Every other operation needs a grant
            of its agent for every type.
        withheld: whether a writer in quarantine may call it: what it adds does not count meanwhile.
        errors: the errors that it raises beyond those of every operation.
        statements: the most that its example, and a page of 100, runs, however much its owner has; infinite
            where their number grows with what its owner has. By default 2 of a read, 4 of a write.
        leaves_out: the member of its answer that lists damaged entities; empty if it has none.
        asked_by: the arguments that may be its question, if it tells what is known: it leaves receipts.
    """

    name: str
    routes: tuple[tuple[str, str], ...] = ()
    tool: str = ""
    command: tuple[str, ...] = ()
    scope: Scope
    destructive: bool = False
    idempotent: bool = False
    sandbox: bool = True
    faces: Face = Face.ALL
    reason: str = ""
    public: bool = False
    heavy: bool = False
    limited: bool = True
    rate: str = ""
    takes_file: bool = False
    typed: bool = False
    withheld: bool = False
    errors: tuple[type[GraphmemError], ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict[str, Any])
    people: Mapping[str, Any] = field(default_factory=dict[str, Any])
    statements: float = 0
    function: Function[A]
    arguments: type[A]
    result: TypeAdapter[Any] = field(repr=False)
    answer_members: frozenset[str] = frozenset()
    leaves_out: str = ""
    asked_by: Sequence[str] = ()

    @property
    def description(self) -> str:
        """The docstring of the function; its first line is the summary."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        return self.description.partition("\n")[0]

    @property
    def indexed(self) -> bool:
        """Whether it reads indexes, so that its answer says as ``pending`` how much of them is outdated."""
        return self.scope is Scope.READ and "pending" in self.answer_members

    @property
    def rate_class(self) -> RateClass:
        if self.rate:
            return RateClass(self.rate)
        if self.heavy:
            return RateClass.HEAVY
        return RateClass.READ if self.scope is Scope.READ else RateClass.WRITE

    def count(self, actor: Actor) -> None:
        """Count the request under way for its caller, once. A face may do so before it reads arguments."""
        if self.limited:
            meter().count(self.rate_class, actor)

    def check_open(self, settings: Settings) -> None:
        """Refuse what a sandbox does not allow. A face may do so before it reads the arguments."""
        if settings.sandbox and not self.sandbox:
            raise errors.SandboxDisabled(operation=self.name)

    async def run(
        self, services: Services, actor: Actor, raw: Mapping[str, Any], face: Face = Face.CLI
    ) -> bytes:
        """Authorise and validate a call, run it once, count it and log one line; return the answer as JSON.

        An unexpected exception becomes ``InternalError``. If the caller goes away, the call is ``cancelled``.
        """
        cell = [0]
        token = round_trips.set(cell)
        zone = times.ZONE.set(times.ZONE.get() or times.zone_of(services.settings.time_zone))
        start = time.perf_counter()
        outcome, failed = "ok", False
        try:
            return await self._run(services, actor, raw, face)
        except GraphmemError as exc:
            if isinstance(exc, errors.AuthInvalid) and services.settings.sandbox:
                exc = ServiceBusy("the sandbox was wiped just now, and nothing was written: send it again")
            outcome, failed = exc.code, exc.status >= 500
            raise reworded_error(exc, face) from exc
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception as exc:
            outcome, failed = InternalError.code, True
            _log.exception("unexpected fault", operation=self.name)
            raise InternalError from exc
        finally:
            round_trips.reset(token)
            times.ZONE.reset(zone)
            seconds = time.perf_counter() - start
            services.metrics.requests(self.name, _FACES[face], outcome).inc()
            services.metrics.request_seconds(self.name).observe(seconds)
            services.tracer.operation(self.name, _FACES[face], outcome, failed)
            logs.operation(self.name, {
                "outcome": outcome,
                "owner": actor.owner,
                # The log is in clear in a sealed instance too.
                "client": actor.client if services.keys is None else None,
                "milliseconds": round(seconds * 1000, 2),
                "round_trips": cell[0],
            })  # fmt: skip

    async def _run(self, services: Services, actor: Actor, raw: Mapping[str, Any], face: Face) -> bytes:
        self.count(actor)
        self.check_open(services.settings)
        if not actor.may(self.scope):
            raise Forbidden(needs=self.scope, operation=self.name)
        if self.scope is not Scope.READ:
            _check_writer(actor, services.settings)
            if not self.withheld and "idempotency_key" not in self.arguments.model_fields:
                # The owner's writer decides on the others: it knows of a quarantine in their turn.
                await _check_quarantine(services, actor, self.name)
        if not self.typed:
            await services.agent_grants.check(actor, self.name, self.scope)
        if "max_behind" in raw and (age := services.age(actor.owner)):
            if age["behind_seconds"] > _seconds(raw["max_behind"]):
                raise errors.CopyBehind(**age)
            raw = {name: value for name, value in raw.items() if name != "max_behind"}
        arguments = await self.read(services, actor, raw)
        named = arguments if self.typed else None
        if named:
            await services.agent_grants.check(actor, self.name, self.scope, named)
        begin, receipts = time.monotonic(), services.receipts
        collected = Collected() if self.asked_by and receipts.leaves(_FACES[face]) else None
        text = await self.answered(Context(actor, services), arguments, face, collected)
        if self.scope is Scope.READ and time.monotonic() - begin > CHECK_SECONDS:
            await services.agent_grants.check_again(actor, self.name, named)
        if collected is not None:
            parts = arguments, getattr(arguments, "filters", None)
            words = [getattr(part, name, None) for part in parts for name in self.asked_by]
            receipts.add(collected, actor, self.name, _FACES[face], [*filter(None, words), ""][0], raw, text)
        return text

    async def read(self, services: Services, actor: Actor, raw: Mapping[str, Any]) -> A:
        """Return the arguments of a call, with the types of today."""
        arguments = read(self.arguments, self.name, asking_something(self.arguments, raw, actor))
        if self.scope is Scope.READ and named_types(arguments):
            return with_types(arguments, await services.type_aliases.of(actor.owner))
        return arguments

    async def answered(self, context: Context, arguments: A, face: Face, into: Collected | None) -> bytes:
        """Run the function, and return the answer as JSON; ``into`` gets what it may tell."""
        token = COLLECTED.set(into)
        try:
            answer = await self._answer(context, arguments)
        finally:
            COLLECTED.reset(token)
        if (age := context.services.age(context.actor.owner)) and isinstance(answer, dict):
            answer = {**answer, "copy": age}
        text = orjson.dumps(reworded_answer(answer, face))
        # To look for them in each answer takes longer than to write it.
        vocabulary, owner = context.services.vocabulary, context.actor.owner
        if b'"relationship_type"' in text and await vocabulary.show(owner, answer):
            text = orjson.dumps(reworded_answer(answer, face))
        return text

    async def _answer(self, context: Context, arguments: A) -> Any:
        """Return the answer. A read that meets damage runs once more, and checks what it reads."""
        if self.scope is not Scope.READ:
            return await self.function(context, arguments)
        damage = Damage(drops=bool(self.leaves_out))
        with noting(damage):
            try:
                answer = await self._read(context, arguments)
            except MET_DAMAGE as exc:
                if damage.is_checking:
                    raise
                _log.warning("a read meets damage", operation=self.name, reason=repr(exc)[:500])
                damage.is_checking = True
                answer = await self._read(context, arguments)
        if damage.reasons and self.leaves_out:
            answer[self.leaves_out] = damage.listed
        return answer

    async def _read(self, context: Context, arguments: A) -> Any:
        call = self.function(context, arguments)
        if not self.indexed:
            return await call
        answer, pending = await context.services.pending_refolds.beside(context.actor.owner, call)
        if pending:
            answer["pending"] = pending
        return answer


def _seconds(value: Any) -> float:
    with contextlib.suppress(TypeError, ValueError):
        if not math.isnan(seconds := float(value)):
            return seconds
    raise InvalidInput.at("$.max_behind", "give a number of seconds")


def _check_writer(actor: Actor, settings: Settings) -> None:
    if settings.aauth_mode == "required" and actor.signer is None:
        raise errors.AgentSignatureRequired
    tiers = get_args(TierName)
    if tiers.index(actor.tier) < tiers.index(settings.min_tier):
        raise errors.AttributionRequired(current_tier=actor.tier, min_tier=settings.min_tier)


async def _check_quarantine(services: Services, actor: Actor, name: str) -> None:
    writers = writers_of(actor.owner, actor.agent, actor.client, actor.by)
    reads = services.database.reads(actor.owner)
    spans = await reads.only("exclusion.writings", list[WrittenSpan], writers=writers)
    if any(span.holds(writers, times.now()) and not membership.counts(span.toggles) for span in spans):
        raise errors.WriterQuarantined(operation=name)


_ERRORS_OF: Final[Mapping[str, type[GraphmemError]]] = {
    "cursor": errors.InvalidCursor,
    "idempotency_key": errors.IdempotencyMismatch,
    "expected_version": errors.VersionConflict,
}
"""The errors of every operation that takes an argument."""
REGISTRY: dict[str, Operation[Any]] = {}
"""Every operation by name. Importing :mod:`graphmem.operations` fills it."""


_CITED = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/[a-z0-9_/{}-]+)")
"""An operation as a message cites it: by a route."""
_ADVICE: Final = frozenset({"warnings", "store_warnings", "hint"})
"""The members of answers that advise the caller. No other member is reworded: it may be stored text."""
_TEXTS: Final = frozenset({"message", "hint"})  # the members of errors and of advice that are messages


def reworded(text: str, face: Face) -> str:
    """Return a message in which each operation that is cited by a route has its name on a face.

    For ``POST /list_relationships`` MCP has the tool `list_relationships`, and the command line has
    `graphmem relationships list`.
    """
    return text if face is Face.REST else _CITED.sub(lambda match: _cited(match, face), text)


def _cited(match: re.Match[str], face: Face) -> str:
    route = (match[1], match[2])
    for operation in REGISTRY.values():
        if route in operation.routes and face in operation.faces:
            name = operation.tool if face is Face.MCP else " ".join(("graphmem", *operation.command))
            return f"`{name}`"
    return match[0]


def reworded_error(error: GraphmemError, face: Face) -> GraphmemError:
    """Return a copy of an error whose messages name operations as a face does.

    Callers of several faces may wait for one turn, and get one error when the turn fails.
    """
    worded = copy.copy(error)
    worded.args = (reworded(str(error), face),)
    worded.details = {name: _reworded(name, member, face) for name, member in error.details.items()}
    return worded


def reworded_answer(answer: Any, face: Face) -> Any:
    """Return an answer whose advice names operations as a face does."""
    if face is Face.REST or not isinstance(answer, dict) or not _ADVICE & answer.keys():
        return answer
    members = cast("dict[str, Any]", answer).items()
    return {name: _reworded(name, part, face) if name in _ADVICE else part for name, part in members}


def _reworded(name: str, part: Any, face: Face) -> Any:
    if isinstance(part, str):
        return reworded(part, face) if name in _TEXTS else part
    if isinstance(part, dict):
        members = cast("dict[str, Any]", part).items()
        return {inner: _reworded(inner, member, face) for inner, member in members}
    if isinstance(part, list):
        return [_reworded(name, member, face) for member in cast("list[Any]", part)]
    return part


def operation(name: str, scope: Scope) -> Callable[[Function[A]], Function[A]]:
    """Declare an operation. Its row in ``operations/faces.toml`` has the other fields of its class, and how
    its answer is kept within ``max_characters`` (:func:`graphmem.budgets.within_budget`).

    Its faces are those of which it has a name. A read is repeated where its answer would be torn or stale.

    Raises:
        TypeError: the declaration is incomplete, or the name is taken.
    """
    row = {**tables.read("operations/faces")[name]}

    def register(function: Function[A]) -> Function[A]:
        hints = get_type_hints(function, include_extras=True)
        members = frozenset(getattr(hints["return"], "__annotations__", ()))
        listed = get_type_hints(hints["return"]).items() if members else ()
        command = tuple(row.pop("command", name.replace(".", " ")).split())
        routes = tuple((method, path) for method, path in map(str.split, row.pop("routes")))
        faces = Face.REST | (Face.MCP if "tool" in row else Face(0)) | (Face.CLI if command else Face(0))
        if name in REGISTRY or not routes or ("reason" in row) is (faces is Face.ALL):
            raise TypeError(f"operation {name!r}: name taken, no route, or reason does not fit its faces")
        if scope is Scope.READ and row.keys() & {"destructive", "idempotent"}:
            raise TypeError(f"operation {name!r}: a read is idempotent and not destructive by itself")
        budget, run = row.pop("budget", None), function
        if budget is not None:
            lists = budget.get("lists", ())
            run = within_budget(lists, budget.get("is_page", False), is_receipt=scope is not Scope.READ)(run)
        run = read_fresh(run) if scope is Scope.READ else run
        fields = hints["arguments"].model_fields
        declared = [getattr(errors, each) for each in row.pop("errors", ())]
        row.setdefault("statements", 2 if scope is Scope.READ else 4)
        row.setdefault("idempotent", scope is Scope.READ)
        REGISTRY[name] = Operation(
            name=name, routes=routes, command=command, scope=scope, faces=faces,
            errors=(*declared, *(error for argument, error in _ERRORS_OF.items() if argument in fields)),
            function=run, arguments=hints["arguments"], result=TypeAdapter(hints["return"]),
            answer_members=members,
            leaves_out=next((each for each, of in listed if of == list[LeftOutEntity]), ""), **row,
        )  # fmt: skip
        return run

    return register
