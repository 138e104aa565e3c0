"""What `make packages` makes: the plugin of Claude Code, the MCP bundle, the registry's entry, the links."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import pytest

from graphmem import __version__
from graphmem.cli.agents.agent_table import TEXT
from graphmem.cli.entry import hook_words
from graphmem.ingest.formats.markdown import FRONT_MATTER, front_matter_fields
from graphmem.mcp.toolsets import TOOLSETS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packages() -> Any:
    spec = importlib.util.spec_from_file_location("make_packages", ROOT / "packaging/make_packages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_everything_has_the_version_of_the_package_and_fits_its_schema(packages: Any, tmp_path: Path) -> None:
    packages.make(tmp_path)
    packages.make(tmp_path)
    with zipfile.ZipFile(tmp_path / f"graphmem-{__version__}.mcpb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert f"graphmem=={__version__}" in bundle.read("pyproject.toml").decode()
        compile(bundle.read("server.py"), "server.py", "exec")
    market = json.loads((tmp_path / "claude-code/.claude-plugin/marketplace.json").read_text())
    folder = tmp_path / "claude-code" / market["plugins"][0]["source"]
    plugin = json.loads((folder / ".claude-plugin/plugin.json").read_text())
    entry = json.loads((tmp_path / "server.json").read_text())
    versions = [
        each["version"] for each in (manifest, plugin, market["plugins"][0], entry, *entry["packages"])
    ]
    assert versions == [__version__] * 5
    assert len(entry["description"]) <= 100
    written = [path for path in (ROOT / "packaging").rglob("*.*") if path.suffix != ".pyc"]
    assert not [path for path in written if f'"{__version__}"' in path.read_text()]


def test_a_wrong_manifest_is_refused(packages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {**packages.registry_entry(), "name": "no slash"}
    monkeypatch.setattr(packages, "registry_entry", lambda: entry)
    with pytest.raises(jsonschema.ValidationError):
        packages.check()


def test_the_plugin_calls_hooks_that_the_program_takes_and_names_tools_that_exist(packages: Any) -> None:
    files = packages.plugin()
    hooks = json.loads(files["graphmem/hooks/hooks.json"])["hooks"]
    commands = [group["hooks"][0]["command"].split() for groups in hooks.values() for group in groups]
    assert {hook_words(words[1:])[0] for words in commands} == {"session-start", "prompt", "stop"}  # type: ignore
    texts = {name: text for name, text in files.items() if name.endswith(".md")}
    tools = set(TOOLSETS["core"].tools())
    for name, text in texts.items():
        front = FRONT_MATTER.match(text)
        assert front is not None, name
        fields, _ = front_matter_fields(front)
        assert {field.name: field.value for field in fields}["description"], name
        assert set(re.findall(r"`([a-z_]+)`", text[front.end() :])) <= {*tools, "graphmem"}, name
    assert TEXT.read_text() in texts["graphmem/skills/graphmem/SKILL.md"]


def test_the_links_start_the_program_and_the_page_has_them(packages: Any) -> None:
    links = packages.links()
    vscode = json.loads(unquote(links["VS Code"].partition("?")[2]))
    assert vscode == {"name": "graphmem", "command": "uvx", "args": ["graphmem", "mcp"]}
    query = parse_qs(urlsplit(links["Cursor"]).query)
    assert json.loads(base64.b64decode(query["config"][0])) == {"command": "uvx", "args": ["graphmem", "mcp"]}
    page = (ROOT / "docs/setup.md").read_text()
    assert all(link in page for link in links.values())


def test_the_target_of_make_runs() -> None:
    subprocess.run(
        [sys.executable, "packaging/make_packages.py", "--check"], cwd=ROOT, check=True, timeout=60
    )
