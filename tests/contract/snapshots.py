"""The public contract as files: what REST, MCP and the command line offer, and the README's tables.

``make snapshots`` writes them, ``make check`` compares. A change of the public face is read as their diff.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem.api import openapi
from graphmem.cli.main import app
from graphmem.errors import CATALOGUE
from graphmem.mcp.tools import described
from graphmem.registry import REGISTRY
from graphmem.settings import Settings, variable

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"


def contents() -> dict[Path, str]:
    """Return what each file should hold."""
    listed = [tool.model_dump(mode="json", exclude_none=True) for tool in described()]
    return {
        HERE / "openapi.yaml": openapi.as_yaml().decode(),
        HERE / "tools.json": json.dumps(listed, indent=1, ensure_ascii=False) + "\n",
        HERE / "cli.txt": "\n".join(commands(typer.main.get_command(app), "graphmem")) + "\n",
        README: with_tables(README.read_text(encoding="utf-8")),
    }


def commands(command: Any, words: str) -> Iterator[str]:
    """Yield each command with its parameters and help, in a form that no terminal's width changes."""
    yield f"{words}: {_flat(command.help)}"
    for parameter in command.params:
        names = ", ".join((*parameter.opts, *parameter.secondary_opts))
        need = " (required)" if parameter.required else ""
        yield f"    {names}{need}: {_flat(getattr(parameter, 'help', ''))}"
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{words} {name}")


def _flat(text: str | None) -> str:
    return re.sub(r"\s+", " ", (text or "").replace("\b", "")).strip()


def with_tables(readme: str) -> str:
    """Return the README with its generated tables as they should be."""
    for name, table in (("operations", operations()), ("settings", settings()), ("errors", errors())):
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        if not re.search(pattern, readme, re.DOTALL):
            raise SystemExit(f"README.md has no place for the table of {name}")
        readme = re.sub(
            pattern, lambda m, t=table: m[1] + "\n".join(t) + "\n" + m[2], readme, flags=re.DOTALL
        )
    return readme


def operations() -> Iterator[str]:
    """Yield the table of operations."""
    yield "| REST | MCP tool | command | |"
    yield "|---|---|---|---|"
    for operation in REGISTRY.values():
        routes = "<br>".join(f"`{method} {path}`" for method, path in operation.routes)
        tool = f"`{operation.tool}`" if operation.tool else f"({operation.reason})"
        command = f"`{' '.join(operation.command)}`" if operation.command else f"({operation.reason})"
        yield f"| {routes} | {tool} | {command} | {operation.summary} |"


def settings() -> Iterator[str]:
    """Yield the table of settings."""
    yield "| variable | default | |"
    yield "|---|---|---|"
    for name, info in Settings.model_fields.items():
        default = (
            "" if info.default in (None, ()) or "SecretStr" in repr(info.default) else f"`{info.default}`"
        )
        yield f"| `{variable(name)}` | {default} | {info.description} |"


def errors() -> Iterator[str]:
    """Yield the table of errors."""
    yield "| error_code | status | exit code | |"
    yield "|---|---|---|---|"
    for code, error in CATALOGUE.items():
        yield f"| `{code}` | {error.status} | {error.exit_code} | {error.default_message()} |"


def stale() -> list[Path]:
    """Return the files that do not hold what they should."""
    wanted = contents()
    return [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]


def main() -> None:
    """Write the files, or say which are stale."""
    if "--write" in sys.argv:
        for path, text in contents().items():
            path.write_text(text, encoding="utf-8")
    elif found := stale():
        sys.exit(
            f"stale: {', '.join(str(p.relative_to(HERE.parents[1])) for p in found)}; run make snapshots"
        )


if __name__ == "__main__":
    main()
