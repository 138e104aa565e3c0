"""Reading again until an answer is whole: of one committed state, and folded under today's schemas.

Whatever reads may raise ``Torn``, ``Stale`` or ``Unavailable``: docstrings name the other errors.
"""

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from graphmem.context import Context
from graphmem.database import left_out
from graphmem.errors import DatabaseTimeout
from graphmem.model.reduction import Stale, Torn

READ_ATTEMPTS: Final = 20  # how often one read is tried while commits or changes of a schema fall into it

P = ParamSpec("P")
T = TypeVar("T")


def read_fresh(
    read: Callable[Concatenate[Context, P], Awaitable[T]],
) -> Callable[Concatenate[Context, P], Coroutine[Any, Any, T]]:
    """Decorate a function that only reads: it runs again where its answer would be torn or stale.

    Torn: a commit fell between two parts of one thing. Stale: rules or observations have changed since a
    thing was folded; the owner's writer folds it again first. A function that writes would write again.

    Raises:
        DatabaseTimeout: every attempt was torn or stale.
        DataDamaged: two attempts read the same torn parts, so that no commit tore them.
    """

    @functools.wraps(read)
    async def fresh(context: Context, /, *args: P.args, **kwargs: P.kwargs) -> T:
        torn, damage = Torn("this"), left_out.current()
        for _ in range(READ_ATTEMPTS):
            try:
                return await read(context, *args, **kwargs)
            except Torn as exc:
                if damage is not None and damage.drops and not damage.is_checking:
                    damage.is_checking = True
                elif exc.parts == torn.parts:
                    raise left_out.refused(str(exc)) from exc
                else:
                    torn = exc
            except Stale as exc:
                writers = context.services.writers
                await writers.refold(context.actor.owner, exc.entity_ids, exc.relationship_keys)
        raise unsettled(str(torn))

    return fresh


def unsettled(what: str = "this") -> DatabaseTimeout:
    """Return the error of a read into which commits fall at every attempt; they change ``what``."""
    return DatabaseTimeout(
        f"{what} changes faster than it can be read: try again in a moment; "
        "if it stays so, POST /health_check_snapshots says what is damaged"
    )
