"""Make what other programs install graphmem from, and check it.

dist/claude-code/            a marketplace of Claude Code with one plugin: MCP, hooks, commands and a skill
dist/graphmem-<version>.mcpb a bundle for Claude Desktop and other hosts of MCP bundles
dist/server.json             the entry of the MCP registry
dist/links.md                links that install graphmem in VS Code and Cursor

The version is that of the package, the hooks are those that `graphmem setup` writes, and the skill has the
lines of `graphmem instructions`. Manifests are checked against their schemas in ``packaging/schemas``.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema

from graphmem import __version__
from graphmem.cli.agents.agent_table import TEXT, Launch, agents
from graphmem.cli.agents.jsonc_edit import JsonEntry

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
REGISTRY_NAME = "io.github.graphmem/graphmem"
"""The name in the MCP registry; README.md has it too, because the registry looks for it there."""
SUMMARY = "Structured memory for agents and people: facts with provenance, on a graph database."
UVX = {"command": "uvx", "args": ["graphmem", "mcp"]}
ABOUT = {"name": "graphmem", "version": __version__, "description": SUMMARY}
SKILL = """---
name: graphmem
description: Look into the memory and store in it, when a person, a company, a project, a date or an earlier
  decision is named, or something is learnt that is of use later.
---

"""


def plugin() -> dict[str, str]:
    """Return the files of the marketplace of Claude Code, by their paths."""
    folder = "graphmem"
    author = {"name": "graphmem"}
    manifest = {**ABOUT, "author": author, "license": PROJECT["license"], "keywords": PROJECT["keywords"]}
    market = {"name": "graphmem", "owner": author, "plugins": [{**ABOUT, "source": f"./{folder}"}]}
    hooks: dict[str, Any] = {}
    for edit in agents()["claude-code"].hooks("project", HERE, Launch(("graphmem",))).edits:
        assert isinstance(edit, JsonEntry)
        hooks[edit.path[-1]] = [edit.value]
    servers = {"mcpServers": {"graphmem": {"command": "graphmem", "args": ["mcp"]}}}
    files = {
        ".claude-plugin/marketplace.json": _json(market),
        f"{folder}/.claude-plugin/plugin.json": _json(manifest),
        f"{folder}/.mcp.json": _json(servers),
        f"{folder}/hooks/hooks.json": _json({"hooks": hooks}),
        f"{folder}/skills/graphmem/SKILL.md": SKILL + TEXT.read_text("utf-8"),
    }
    for path in sorted((HERE / "claude-code/commands").glob("*.md")):
        files[f"{folder}/commands/{path.name}"] = path.read_text("utf-8")
    return files


def bundle() -> dict[str, str]:
    """Return the files of the MCP bundle. Its host installs the packages with uv."""
    manifest = {
        "manifest_version": "0.4", **ABOUT, "display_name": "graphmem", "author": {"name": "graphmem"},
        "license": PROJECT["license"], "keywords": PROJECT["keywords"], "tools_generated": True,
        "prompts_generated": True,
        "server": {
            "type": "uv", "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", "server.py"]},
        },
        "compatibility": {
            "platforms": ["darwin", "linux"], "runtimes": {"python": PROJECT["requires-python"]}
        },
    }  # fmt: skip
    project = (
        f'[project]\nname = "graphmem-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{PROJECT["requires-python"]}"\ndependencies = ["graphmem=={__version__}"]\n'
    )
    server = 'import sys\n\nfrom graphmem.cli.entry import main\n\nsys.argv[1:] = ["mcp"]\nmain()\n'
    return {"manifest.json": _json(manifest), "pyproject.toml": project, "server.py": server}


def registry_entry() -> dict[str, Any]:
    """Return the entry of the MCP registry."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        **ABOUT, "name": REGISTRY_NAME, "title": "graphmem",
        "packages": [{
            "registryType": "pypi", "identifier": PROJECT["name"], "version": __version__,
            "runtimeHint": "uvx", "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "value": "mcp"}],
        }],
    }  # fmt: skip


def links() -> dict[str, str]:
    """Return the links that install graphmem, by the name of the program."""
    inside = base64.b64encode(json.dumps(UVX, separators=(",", ":")).encode()).decode()
    named = json.dumps({"name": "graphmem", **UVX}, separators=(",", ":"))
    return {
        "VS Code": f"vscode:mcp/install?{quote(named, safe='')}",
        "Cursor": "cursor://anysphere.cursor-deeplink/mcp/install"
        f"?name=graphmem&config={quote(inside, safe='')}",
    }


def check() -> None:
    """Check the manifests against their schemas. jsonschema.ValidationError: one is wrong."""
    for name, content in (
        ("server", registry_entry()), ("mcpb-manifest", json.loads(bundle()["manifest.json"])),
    ):  # fmt: skip
        schema = json.loads((HERE / f"schemas/{name}.schema.json").read_text("utf-8"))
        jsonschema.Draft7Validator(schema).validate(content)
    if f"mcp-name: {REGISTRY_NAME}" not in (HERE.parent / "README.md").read_text("utf-8"):
        raise SystemExit(f"README.md lacks the line `mcp-name: {REGISTRY_NAME}`")


def make(dist: Path) -> None:
    """Write everything into a folder."""
    check()
    shutil.rmtree(dist / "claude-code", ignore_errors=True)
    for name, text in plugin().items():
        path = dist / "claude-code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with zipfile.ZipFile(dist / f"graphmem-{__version__}.mcpb", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in bundle().items():
            # The same bytes each time.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    (dist / "server.json").write_text(_json(registry_entry()), "utf-8")
    lines = [f"- {name}: <{link}>\n" for name, link in links().items()]
    (dist / "links.md").write_text("".join(lines), "utf-8")


def _json(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
    else:
        target = HERE.parent / "dist"
        target.mkdir(exist_ok=True)
        make(target)
        sys.stdout.write("".join(f"  {path.relative_to(HERE.parent)}\n" for path in sorted(target.iterdir())))
