"""The public contract as files: what REST, MCP and the command line offer, and ``docs/reference.md``.

``make snapshots`` writes the files, ``make check`` compares them. The diff shows a change of the public face.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem import tables
from graphmem.api import openapi
from graphmem.api.rest_routes import ROUTES
from graphmem.cli.commands import LISTED as COMMANDS
from graphmem.cli.commands import listed
from graphmem.errors import CATALOGUE
from graphmem.mcp.beside_tools import RECENT_RESOURCE
from graphmem.mcp.protocol import LISTED
from graphmem.mcp.tools import described
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.observability.metrics import Metrics
from graphmem.registry import REGISTRY
from graphmem.settings import Settings, ToolsetName, variable
from tests.contract.command_list import listing
from tests.contract.page_types import page_types
from tests.support.mcp_conversation import DISCOVER, conversation, opening, server, with_envelope

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
STATIC_LISTS = ("tools/list", "prompts/list", "resources/templates/list")
"""The lists of MCP that a toolset fixes."""
FORWARDED = (
    "tools/call", "prompts/get", "resources/list", "resources/read", "completion/complete",
    "resources/subscribe", "resources/unsubscribe", "subscriptions/listen",
)  # fmt: skip
"""The requests of MCP that need the database."""


def contents() -> dict[Path, str]:
    """Return the expected text of each file."""
    tools = [
        tool.model_dump(mode="json", exclude_none=True) for tool in (*described("full"), *described("memory"))
    ]
    from graphmem.cli.main import app

    document = openapi.as_yaml()
    return {
        COMMANDS: listing(),
        **{LISTED / f"{name}.json": toolset_file(name) for name in TOOLSETS},
        FOLDER / "openapi.yaml": document.decode(),
        ROOT / "packaging" / "rest.d.ts": page_types(document),
        FOLDER / "tools.json": json.dumps(tools, indent=1, ensure_ascii=False) + "\n",
        FOLDER / "cli.txt": "\n".join(commands(typer.main.get_command(app), "graphmem")) + "\n",
        REFERENCE: with_tables(REFERENCE.read_text(encoding="utf-8")),
    }


def dumped(part: Any) -> dict[str, Any]:
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


def toolset_file(name: ToolsetName) -> str:
    """Return the recorded answers of a toolset, from which `graphmem mcp` answers without the database."""
    toolset = server(name)
    lists = [method for method in STATIC_LISTS if toolset.get_request_handler(method)]
    requests = [{"method": method} for method in lists]
    initialized, *listed = asyncio.run(conversation(server(name), [opening("2025-11-25"), *requests]))
    discovered, *enveloped = asyncio.run(
        conversation(server(name), [with_envelope(DISCOVER), *map(with_envelope, requests)])
    )
    results = {method: answer["result"] for method, answer in zip(lists, listed, strict=True)}
    tools = results["tools/list"]
    envelope = {part: value for part, value in enveloped[0]["result"].items() if part not in tools}
    if [answer["result"] for answer in enveloped] != [each | envelope for each in results.values()]:
        raise SystemExit("the two eras of MCP list different things: graphmem/mcp/protocol.py lists one")
    content = {
        "initialize": {
            part: value for part, value in initialized["result"].items() if part != "protocolVersion"
        },
        "discover": discovered["result"],
        "lists": results,
        "closed": [tool for tool, operation in TOOLSETS[name].tools().items() if not operation.sandbox],
        "forwarded": [method for method in FORWARDED if toolset.get_request_handler(method)],
        "waiting": {"resources/list": {"resources": [dumped(RECENT_RESOURCE)]}},
        "envelope": envelope,
        "handshake_versions": HANDSHAKE_PROTOCOL_VERSIONS,
        "envelope_versions": MODERN_PROTOCOL_VERSIONS,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def commands(command: Any, words: str) -> Iterator[str]:
    """Yield each command with its parameters and help, in a form that no terminal's width changes."""
    yield f"{words}: {_flat(command.help)}"
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        names = ", ".join((*parameter.opts, *parameter.secondary_opts))
        need = " (required)" if parameter.required else ""
        yield f"    {names}{need}: {_flat(getattr(parameter, 'help', ''))}"
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{words} {name}")


def _flat(text: str | None) -> str:
    return re.sub(r"\s+", " ", (text or "").replace("\b", "")).strip()


def with_tables(page: str) -> str:
    """Return the reference with its tables generated anew."""
    for name, table in TABLES.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        if not re.search(pattern, page, re.DOTALL):
            raise SystemExit(f"{REFERENCE.name} has no place for the table of {name}")
        text = "\n".join(table()) + "\n"
        page = re.sub(pattern, lambda match, text=text: match[1] + text + match[2], page, flags=re.DOTALL)
    return page


def operations() -> Iterator[str]:
    """Yield the table of operations."""
    yield "| REST | MCP tool | command | |"
    yield "|---|---|---|---|"
    for operation in REGISTRY.values():
        routes = "<br>".join(f"`{method} {path}`" for method, path in operation.routes)
        tool = f"`{operation.tool}`" if operation.tool else f"({operation.reason})"
        command = f"`{' '.join(operation.command)}`" if operation.command else f"({operation.reason})"
        yield f"| {routes} | {tool} | {command} | {operation.summary} |"


def routes() -> Iterator[str]:
    """Yield the table of the routes that REST alone has."""
    yield "| REST | needs | |"
    yield "|---|---|---|"
    for route in ROUTES:
        needs = (
            "no credential"
            if route.is_public
            else f"the scope `{route.scope}`"
            if route.scope
            else "a credential"
        )
        yield f"| `{route.method} {route.path}` | {needs} | {route.summary} |"


def local_commands() -> Iterator[str]:
    """Yield the table of the commands that are no operations."""
    from graphmem.cli.main import app

    yield "| command | |"
    yield "|---|---|"
    for words, command in _leaves(typer.main.get_command(app), ()):
        if words not in listed() and words != ("ask",):
            yield f"| `{' '.join(words)}` | {_flat((command.help or '').partition(chr(10))[0])} |"


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name in inner:
        yield from _leaves(inner[name], (*words, name))


def settings() -> Iterator[str]:
    """Yield the table of settings."""
    yield "| variable | default | |"
    yield "|---|---|---|"
    described = tables.read("settings")
    for name, info in Settings.model_fields.items():
        if name not in described:
            continue
        default = (
            "" if info.default in (None, (), "") or "SecretStr" in repr(info.default) else f"`{info.default}`"
        )
        yield f"| `{variable(name)}` | {default} | {_flat(described[name])} |"


def errors() -> Iterator[str]:
    """Yield the table of errors."""
    yield "| error_code | status | exit code | |"
    yield "|---|---|---|---|"
    for code, error in CATALOGUE.items():
        yield f"| `{code}` | {error.status} | {error.exit_code} | {error.default_message()} |"


def metrics() -> Iterator[str]:
    """Yield the table of metrics; ``prometheus_client`` adds those of Python and of the process."""
    yield "| metric | kind | |"
    yield "|---|---|---|"
    for metric in Metrics().registry.collect():
        if metric.name.startswith("graphmem_"):
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            yield f"| `{name}` | {metric.type} | {metric.documentation} |"


TABLES = {
    "operations": operations,
    "routes": routes,
    "commands": local_commands,
    "settings": settings,
    "errors": errors,
    "metrics": metrics,
}


def stale() -> list[Path]:
    """Return the files whose text is not the expected one."""
    return [
        path
        for path, text in contents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    """Write the files, or name those that are stale."""
    if "--write" in sys.argv:
        # The command line reads it when it is imported.
        COMMANDS.write_text(listing(), encoding="utf-8")
        for path, text in contents().items():
            path.write_text(text, encoding="utf-8")
    elif paths := stale():
        names = ", ".join(str(path.relative_to(ROOT)) for path in paths)
        sys.exit(f"stale: {names}; run make snapshots")


if __name__ == "__main__":
    main()
