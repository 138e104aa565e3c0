"""``graphmem settings``: every setting of this instance, and where its value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem import environment_file
from graphmem.cli.session import Draw, Session
from graphmem.cli.tables import List, add, pairs, short

if TYPE_CHECKING:
    from rich.console import Group

    from graphmem.settings import Settings

MASK = "********"


def settings(session: Session) -> tuple[dict[str, Any], Draw]:
    chosen = session.settings()
    path = chosen.data_path / environment_file.FILE
    answer = {
        "data_directory": str(chosen.data_path),
        "file": str(path) if path.exists() else None,
        "settings": [_row(chosen, name, session.overrides) for name in type(chosen).model_fields],
    }

    def draw() -> Group:
        from rich.console import Group

        table = List(("setting", "value", "from"))
        for row in sorted(answer["settings"], key=lambda row: row["from"] == "default"):
            value = row["value"]
            add(table, row["name"], "" if value in (None, "", []) else short(value, 60), row["from"])
        where = {"data directory": answer["data_directory"], "file": answer["file"] or f"no {path}"}
        return Group(pairs(where), table)

    return answer, draw


def _row(chosen: Settings, name: str, overrides: dict[str, Any]) -> dict[str, Any]:
    from pydantic import SecretStr

    from graphmem.settings import variable, without_url_secrets

    value = getattr(chosen, name)
    if isinstance(value, SecretStr):
        value = MASK if value.get_secret_value() else None
    elif isinstance(value, str):
        value = without_url_secrets(value)
    elif isinstance(value, Path | tuple):
        value = str(value) if isinstance(value, Path) else list(value)
    is_set = name in chosen.model_fields_set
    known = "file" if variable(name).upper() in environment_file.applied() else "environment"
    origin = "option" if name in overrides else known if is_set else "default"
    return {"name": variable(name), "value": value, "from": origin}
