"""Answers within a number of characters: an agent's context is small.

An operation whose answer may be large takes :class:`Sized` arguments, and its row in
``operations/faces.toml`` says how the answer is kept within them (:func:`within_budget`). A list that is too
long is read again with a lower limit, so that its cursor goes on exactly after its last item. A single item
that is too long has its longest values shortened.
"""

import functools
import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, NotRequired, TypeVar, cast

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NoBool
from graphmem.budgets import shortening
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import canonical

CHARACTERS_MINIMUM: Final = 500
MaxCharacters = Annotated[
    Annotated[int, Field(ge=CHARACTERS_MINIMUM), NoBool] | None, Field(description="Size of the answer.")
]
_RESERVED_CHARACTERS: Final = 400
"""Characters of a page beside its items: the cursor, and what :class:`Omitted` says."""
_ATTEMPTS: Final = 5  # reads of one page with ever lower limits, before the limit is halved each time

_REPEATED: Final = frozenset({"outgoing", "incoming", "hubs", "warnings"})
"""Lists that hold items of other lists, or no items."""

Answer = dict[str, Any]
A = TypeVar("A", bound=Arguments)
T = TypeVar("T")


class Omitted(TypedDict):
    """What an answer lacks to stay within ``max_characters``, and as ``hint``, how to get it.

    ``left_out`` counts, by list, the items that the page would have without a budget. ``shortened`` names
    values that are cut; ``…`` and the number of all characters end such a value.
    """

    left_out: NotRequired[dict[str, int]]
    shortened: NotRequired[list[str]]
    hint: str


class Budgeted(TypedDict):
    """What a budget adds to an answer."""

    omitted: NotRequired[Omitted]


class Sized(Arguments):
    """The arguments of an operation whose answer may be large."""

    described_last: ClassVar[tuple[str, ...]] = ("max_characters",)

    max_characters: MaxCharacters = None


Answering = Callable[[Context, A], Awaitable[T]]  # a function of an operation


def within_budget(
    members: Sequence[str], is_page: bool = False, *, is_receipt: bool = False
) -> Callable[[Answering[A, T]], Answering[A, T]]:
    """Decorate an operation whose answer stays within ``max_characters`` where the request has it.

    ``members`` are the lists that ``limit`` limits, of which the first with items is measured; without any,
    only values are shortened. ``is_page``: it has the members of a ``PageEnvelope``. ``is_receipt``: it is of
    a write, and keeps all ids even if it then exceeds the budget.
    """

    def decorate(function: Answering[A, T]) -> Answering[A, T]:
        @functools.wraps(function)
        async def run(context: Context, arguments: A) -> T:
            budget: int | None = getattr(arguments, "max_characters", None)
            answer = await function(context, arguments)
            if budget is None:
                return answer
            await context.services.vocabulary.show(context.actor.owner, answer)
            if size(cast("Answer", answer)) <= budget:
                return answer
            whole = cast("Answer", answer)
            if members:
                answer = await _fewer_items(context, function, arguments, whole, members, is_page)
            least = _shorten(cast("Answer", answer), budget, members)
            if least > budget and not is_receipt:
                message = (
                    f"one item alone takes {least:,} characters with its longest values cut: "
                    f"give {least} or more"
                )
                raise InvalidInput.at("$.max_characters", message)
            return answer

        return run

    return decorate


def size(answer: Mapping[str, Any]) -> int:
    """Return the characters of an answer's JSON text."""
    return len(orjson.dumps(answer).decode())


async def _fewer_items(
    context: Context, function: Answering[A, T], arguments: Any, whole: Answer, members: Sequence[str],
    is_page: bool,
) -> T:  # fmt: skip
    """Return the page with as many items as fit, at least one."""
    answer, limit, attempts = whole, arguments.limit, 0
    while limit > 1 and size(answer) > arguments.max_characters:
        items: list[Any] = next((answer[name] for name in members if answer.get(name)), [])
        share = max(arguments.max_characters - _RESERVED_CHARACTERS, 0) / size(answer)
        sizes = [len(orjson.dumps(item).decode()) + 1 for item in items] or [1] * limit
        totals = itertools.accumulate(sizes)
        fitting = sum(total <= share * sum(sizes) for total in totals)
        limit = max(min(fitting if attempts < _ATTEMPTS else limit // 2, limit - 1), 1)
        attempts += 1
        answer = cast("Answer", await function(context, arguments.model_copy(update={"limit": limit})))
        await context.services.vocabulary.show(context.actor.owner, answer)
        if "limit" in answer:
            answer["limit"] = arguments.limit
        _say_left_out(answer, whole, arguments, members[0] if is_page else "")
    return cast("T", answer)


def _say_left_out(answer: Answer, whole: Answer, arguments: Any, paged: str) -> None:
    """Say how many items are left out, and where they are."""
    counts = {
        name: len(value) - len(answer.get(name, ()))
        for name, value in whole.items()
        if isinstance(value, list) and name not in _REPEATED
    }
    left_out = {name: count for name, count in counts.items() if count > 0}
    if not left_out:
        return
    if paged in left_out:
        answer["truncated"] = True
        # A scan may end between two items that fit: only its cursor knows how far it compared.
        if arguments.cursor is None and "scanned" not in answer:
            answer["next_offset"] = arguments.offset + len(answer[paged])
    if "next_cursor" in answer:
        way = "`next_cursor` as `cursor` answers what follows"
    elif "next_offset" in answer:
        way = "`next_offset` as `offset` answers what follows"
    else:
        way = "narrow the request, or raise max_characters"
    hint = f"more than max_characters ({arguments.max_characters:,}): {way}"
    answer["omitted"] = Omitted(left_out=left_out, hint=hint)


def _shorten(answer: Answer, budget: int, members: Collection[str]) -> int:
    """Shorten the longest values of an answer that does not fit. Return its size."""
    needed = size(answer)
    if needed <= budget:
        return needed
    names: list[str] = []
    omitted = answer["omitted"] = Omitted(**{**answer.get("omitted", {"hint": ""}), "shortened": names})
    whole = f"nothing is left out or shortened with max_characters {needed + _RESERVED_CHARACTERS}"
    omitted["hint"] = "; ".join(filter(None, [omitted["hint"], whole]))
    shortening.shorten(answer, budget, size, names)
    if size(answer) > budget:
        dropped = shortening.drop(answer, budget, size, members)
        omitted["left_out"] = {**omitted.get("left_out", {}), **dropped}
        present = {name for place in canonical.objects(answer) for name in place}
        names[:] = [name for name in names if name in present]
    while size(answer) > budget and names:
        names.pop()
    if not names:
        del omitted["shortened"]
    return size(answer)
