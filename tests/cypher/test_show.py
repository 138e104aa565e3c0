"""``graphmem cypher``: every query can be printed, and the server runs what is printed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem import cypher
from graphmem.cli.cypher import browser_text
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.errors import NotFound
from tests.support.event_loop import Loop

PARAM = re.compile(r"^:param (\w+) => (.*);$", re.MULTILINE)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["cypher", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_names_every_query_with_its_purpose() -> None:
    queries = json.loads(run("list", "--json"))["queries"]
    assert [query["name"] for query in queries] == cypher.names()
    assert {query["name"]: query["mode"] for query in queries}["write.turn"] == "write"
    lines = run("list").splitlines()
    at = lines.index("entity.get  read")
    assert lines[at + 1].startswith("    one entity")
    assert max(map(len, lines)) <= 80


def test_show_prints_the_text_and_params_prints_what_it_takes() -> None:
    text = run("show", "entity.get")
    assert ":param" not in text
    assert text.rstrip().endswith(";")
    assert "<entity." not in text
    assert ':param args => {entity_id: "", include_deleted: true};' in run("show", "entity.get", "--params")
    assert ":param owner" not in run("show", "relationship_type.all", "--params")


def test_a_name_without_its_form_shows_the_first_form() -> None:
    assert run("show", "entity.page") == run("show", "entity.page[asc]")


def test_a_name_that_no_query_has_is_refused() -> None:
    with pytest.raises(NotFound, match="cypher list"):
        browser_text("entity.nothing", params=False)
    assert CliRunner().invoke(app, ["cypher", "show", "entity.nothing"]).exit_code == NotFound.exit_code


def test_the_server_plans_what_is_shown(loop: Loop, services: Services) -> None:
    """The parameters are set as the Browser sets them: each value is an expression."""

    async def explain(name: str) -> None:
        shown = browser_text(name, params=True)
        text = PARAM.sub("", shown).rstrip().removesuffix(";")
        values: dict[str, Any] = {}
        for parameter, expression in PARAM.findall(shown):
            (row,) = await services.database.script(f"RETURN {expression} AS value")  # pyright: ignore
            values[parameter] = row["value"]
        assert "$owner" not in text or "owner" in values
        await services.database.script(f"EXPLAIN {text}", **values)  # pyright: ignore

    for name in ("entity.get", "entity.page[desc]", "relationship.reach", "write.look", "schema.pending"):
        loop.run(explain(name))
