"""The view of an MCP App: one document with the page's own modules, which shows what a tool answered.

Hosts take one HTML document that loads nothing, so its modules are put into one script here. The package
`mcp` has the extension for its class `MCPServer` alone; on the wire it is what this module names.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib import resources
from typing import Any, Final

EXTENSION: Final = "io.modelcontextprotocol/ui"
URI: Final = "ui://graphmem/view"
MIME_TYPE: Final = "text/html;profile=mcp-app"
META: Final[dict[str, Any]] = {"ui": {"resourceUri": URI}}
"""What the description of a tool has, whose answer the view shows."""
TOOLS: Final = frozenset({"entities.snapshot", "entities.related", "timeline.list"})
_ENTRY: Final = "src/app.js"
_IMPORT: Final = re.compile(r"^import \{ (.+?) \} from '(.+?)';$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
_LIST: Final = re.compile(r"export\{([^{}]+)\};?\s*$")
_STYLE: Final = "html { overflow-y: auto; } main { min-block-size: 0; padding: 0 1rem 1rem; }"


@cache
def document() -> str:
    """Return the document. What it shows comes from the host; it asks no address."""
    style = _file("src/style.css") + _STYLE
    script = "const loaded = {};\n" + "\n".join(_modules(_ENTRY, []))
    script = script.replace("</script", r"<\/script")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>graphmem</title>'
        f'<style>{style}</style></head><body><div id="app"></div>'
        f'<script type="module">{script}</script></body></html>\n'
    )


def _file(name: str) -> str:
    return (resources.files("graphmem.api") / "page" / name).read_text("utf-8")


def _modules(name: str, known: list[str]) -> list[str]:
    """Return a module as a function that runs once, after the modules that it imports."""
    text, parts = _file(name), []
    known.append(name)
    folder = posixpath.dirname(name)

    def at(path: str) -> str:
        return posixpath.normpath(posixpath.join(folder, path))

    for _, path in _IMPORT.findall(text):
        if at(path) not in known:
            parts += _modules(at(path), known)
    exported = [inner for _, inner in _EXPORT.findall(text)]
    if listed := _LIST.search(text):
        pairs = [each.split(" as ") for each in listed[1].split(",")]
        exported += [f"{pair[-1]}: {pair[0]}" for pair in pairs]
    text = _LIST.sub("", _EXPORT.sub(r"\1 \2", text))
    text = _IMPORT.sub(
        lambda match: f"const {{ {match[1].replace(' as ', ': ')} }} = loaded['{at(match[2])}'];", text
    )
    return [*parts, f"loaded['{name}'] = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"]
