"""Filters by who wrote: an account, an API key, a client program, or an agent that signed."""

from typing import Annotated, Any, Final, LiteralString, cast

from pydantic import Field

from graphmem import cypher
from graphmem.arguments import Arguments, NotBlank
from graphmem.model.attribution import writer_key

Name = Annotated[str, Field(min_length=1, max_length=200), NotBlank]
_KINDS: Final = ("account", "key", "client", "agent")


class ByProgram(Arguments):
    """Arguments that name who wrote: an API key, a client program, an agent that signed."""

    by_key: Annotated[Name | None, Field(description="Only by this API key.")] = None
    by_client: Annotated[Name | None, Field(description="Only by this program.")] = None
    by_agent: Annotated[Name | None, Field(description="Only signed by this agent.")] = None

    @property
    def writers(self) -> list[str]:
        names = {kind: getattr(self, f"by_{kind}", None) for kind in _KINDS}
        return [writer_key(kind, name) for kind, name in names.items() if name is not None]


class ByWriter(ByProgram):
    """Which writers a list is about; all that are given must fit. No filter fits what is unattributed."""

    by_account: Annotated[Name | None, Field(description="Only by this account.")] = None


def written(name: LiteralString, writers: list[str]) -> tuple[LiteralString, dict[str, Any]]:
    """Return the name of a query that looks for writers only where some are wanted, and its parameter."""
    if not writers:
        return name, {}
    return cast("LiteralString", cypher.query(f"{name}[written]").name), {"writers": writers}
