"""Commands as people say them. Each runs a longer command, which draws the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, Final

import typer

from graphmem.cli.session import Draw, Session
from graphmem.errors import InvalidInput

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?|true|false|null")
FORGETTING: Final = """\
say what is meant: `graphmem entities delete "{0}"` hides it, and it can be restored; `graphmem entities \
correct "{0}" FIELD --value VALUE` mends a value; `graphmem undo` takes back what was stored"""


def _run(session: Session, *words: str) -> None:
    from graphmem.cli.main import app

    typer.main.get_command(app).main(args=[*words], prog_name="graphmem", obj=session)  # it exits


def _saying(*line: str) -> Callable[..., None]:
    def say(session: Session, words: list[str] | None = None) -> None:
        _run(session, *(part.format(" ".join(["", *(words or ())])).strip() for part in line))

    return say


show, who, kind = _saying("entities", "snapshot", "{}"), _saying("ask", "who{}"), _saying("search", "{}")
today, todo = _saying("ask", "What is on today{}?"), _saying("search", "open tasks{}")


def _value(text: str) -> Any:
    return json.loads(text) if _NUMBER.fullmatch(text) else text


def add(session: Session, entity_type: str, name: str, fields: list[str] | None = None) -> None:
    item: dict[str, Any] = {"entity_type": entity_type, "name": name}
    for each in fields or ():
        field, sign, value = each.partition("=")
        if not (field and sign):
            raise InvalidInput(f"{each!r} is no field=value: quote a name or a value of several words")
        item[field] = _value(value)
    _run(session, "store", "--entities", json.dumps([item]), "--observation-source", "human")


def put(session: Session, entity: str, field: str, value: str) -> None:
    _run(session, "observations", "create", entity, "--fields", json.dumps({field: _value(value)}))


def relate(session: Session, entity: str, relationship_type: str, other: str) -> None:
    _run(session, "relationships", "create", "_".join(relationship_type.upper().split()), entity, other)


def forget(session: Session, words: list[str]) -> None:
    raise InvalidInput(FORGETTING.format(" ".join(words)))


def note(session: Session, words: list[str]) -> tuple[dict[str, Any], Draw]:
    from graphmem.cli.layouts import render

    text = " ".join(words)
    if words[0] == "me":  # "Tell me about Ada" is a question.
        _run(session, "ask", "tell", text)
    answer = session.ask("entities.find", {"identifier": text[:10_000], "provenance": "none", "limit": 20})
    named = [] if answer.get("match") == "resemblance" else answer["entities"]
    item = {"title": text[:80], "content": text, "date": date.today().isoformat()}
    link = {"relationship_type": "REFERS_TO", "source_index": 0}
    # A note that was kept before bears its own text as its name.
    others = [
        each for each in named if each["canonical_name"] != item["title"] or each["entity_type"] != "note"
    ]
    links = [{**link, "target_entity_id": each["entity_id"]} for each in others]
    entities = [{"entity_type": "note", **item}]
    answer = session.ask(
        "store", {"entities": entities, "relationships": links, "observation_source": "human"}
    )
    # A note is meant to be identified by its text.
    warnings = [each for each in answer.get("store_warnings", ()) if each["code"] != "CONTENT_IDENTITY"]
    return answer, partial(render, "store", {**answer, "store_warnings": warnings})
