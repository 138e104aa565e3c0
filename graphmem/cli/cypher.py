"""``graphmem cypher``: the queries that graphmem sends to Neo4j, as the Neo4j Browser runs them."""

from __future__ import annotations

import sys
from typing import Any

from rich.padding import Padding

from graphmem.cli.session import Draw, Session, console
from graphmem.cli.tables import plain
from graphmem.errors import NotFound

_SAMPLES = {"STRING": '""', "INTEGER": "0", "FLOAT": "0.0", "BOOLEAN": "true", "MAP": "{}", "ANY": '""'}
"""A value of each type that a header declares. A list is empty."""


def list_queries(session: Session) -> tuple[dict[str, Any], Draw]:
    from graphmem import cypher

    queries = [cypher.query(name) for name in cypher.names()]

    def draw() -> None:
        for query in queries:
            console.print(plain(query.name, "bold") + plain(f"  {query.mode}", "not bold"), highlight=False)
            console.print(Padding(plain(query.doc), (0, 0, 0, 4), expand=False), width=min(80, console.width))

    return {"queries": [{"name": q.name, "mode": q.mode, "purpose": q.doc} for q in queries]}, draw


def show(session: Session, name: str, params: bool = False) -> None:
    sys.stdout.write(browser_text(name, params))


def browser_text(name: str, params: bool) -> str:
    from graphmem import cypher
    from graphmem.model.relationship import BUILTIN
    from graphmem.settings import DEFAULT_OWNER

    forms = [form for form in cypher.names() if name in (form, form.partition("[")[0])]
    if not forms:
        raise NotFound(f"there is no query {name!r:.100}: `graphmem cypher list` lists all", query=name)
    query = cypher.query(forms[0])
    text = cypher.with_types(query.name, frozenset(BUILTIN)) if query.takes_types else query.text
    lines = [f"// {query.name}: {query.doc}"]
    if params and not query.tenancy:
        lines.append(f':param owner => "{DEFAULT_OWNER}";')
    if params and query.params:
        # One map holds all parameters but the owner.
        samples = {n: "[]" if kind.startswith("LIST") else _SAMPLES[kind] for n, kind in query.params.items()}
        values = ", ".join(f"{name}: {sample}" for name, sample in samples.items())
        lines.append(f":param args => {{{values}}};")
    return "\n".join([*lines, f"{text};"]) + "\n"
