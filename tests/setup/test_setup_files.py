"""`graphmem setup` in the files of each agent: what it writes, what it keeps, and how it undoes that."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphmem.cli.agents.agent_table import Launch, agents
from graphmem.cli.agents.jsonc_edit import JsonEntry, pruned
from graphmem.service.place import lock, make_folder, place
from graphmem.settings import Settings
from tests.setup.agent_samples import SAMPLES, Sample
from tests.setup.conftest import Run

CLAUDE = ("claude-code", "--scope", "user")
SERVICE = ("--base-url", "https://memory.example.org")


def root(home: Path, scope: str) -> Path:
    return home if scope == "user" else home / "project"


def parsed(text: str, path: str) -> Any:
    if path.endswith(".toml"):
        return tomllib.loads(text)
    comments = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", text, flags=re.DOTALL)
    return json.loads(re.sub(r",(?=\s*[}\]])", "", comments))


def servers(document: Any, agent: str) -> Any:
    for name in agents()[agent].row["path"]:
        # The older form of opencode has its servers one step higher.
        document = document.get(name, document) if name == "servers" else document[name]
    return document


def without_graphmem(value: Any) -> Any:
    """Return a document without what names graphmem, and without what is then empty."""
    if isinstance(value, dict):
        kept = {k: without_graphmem(v) for k, v in value.items() if k != "graphmem"}
        return {k: v for k, v in kept.items() if v not in ({}, [], None)}
    if isinstance(value, list):
        kept = [without_graphmem(each) for each in value if "graphmem" not in json.dumps(each)]
        return [each for each in kept if each not in ({}, [], None)]
    return value


@pytest.mark.parametrize(
    ("agent", "variable", "files"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", [".claude.json", "settings.json", "CLAUDE.md"]),
        ("codex", "CODEX_HOME", ["config.toml", "hooks.json", "AGENTS.md"]),
        ("opencode", "XDG_CONFIG_HOME", ["opencode/plugins/graphmem.js", "opencode/AGENTS.md"]),
    ],
)  # fmt: skip
def test_the_files_of_an_agent_are_where_the_environment_puts_them(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, agent: str, variable: str, files: list[str]
) -> None:
    elsewhere = home / "elsewhere"
    monkeypatch.setenv(variable, str(elsewhere))
    assert run("setup", agent, "--hooks").exit_code == 0
    assert run("instructions", "install", agent, "--scope", "user").exit_code == 0
    assert [file for file in files if not (elsewhere / file).is_file()] == []
    assert not {path.name for path in home.iterdir()} - {"project", "elsewhere", ".local"}
    assert agents()[agent].is_installed(home)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.agent}-{s.scope}")
def test_setup_adds_the_entry_keeps_everything_else_and_undo_gives_the_bytes_back(
    home: Path, run: Run, sample: Sample
) -> None:
    file = root(home, sample.scope) / sample.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(sample.text.encode())
    file.chmod(0o640)
    words = ("setup", sample.agent, "--scope", sample.scope)
    assert run(*words, "--dry-run").exit_code == 0
    assert file.read_bytes() == sample.text.encode()

    assert run(*words).exit_code == 0, sample

    text = file.read_bytes().decode()
    before, after = parsed(sample.text, sample.path), parsed(text, sample.path)
    entry = servers(after, sample.agent)["graphmem"]
    line = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert line[-1] == "mcp"
    assert Path(line[0]).name == "graphmem"
    # A file that a project shares names no path of this machine.
    assert ("/" in line[0]) is (sample.scope == "user")
    assert without_graphmem(after) == without_graphmem(before)
    assert [each for each in re.findall(r"(?://|/\*|#) [a-z ]+", sample.text) if each not in text] == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert "as asked" in run(*words).output
    assert file.read_bytes().decode() == text
    # To another address and back is still one entry, and the undoing knows the first bytes.
    if "remote" in agents()[sample.agent].row:
        assert run(*SERVICE, *words).exit_code == 0
        changed = servers(parsed(file.read_text(), sample.path), sample.agent)["graphmem"]
        assert "https://memory.example.org/mcp" in changed.values()
    assert run(*words, "--undo").exit_code == 0
    assert file.read_bytes() == sample.text.encode()


@pytest.mark.parametrize("name", list(agents()))
def test_a_missing_file_is_made_and_removed_again_with_its_folders(home: Path, run: Run, name: str) -> None:
    before = {str(each) for each in home.rglob("*") if ".local" not in each.parts}
    assert run("setup", name).exit_code == 0
    made = [each for each in home.rglob("*") if each.is_file() and ".local" not in each.parts]
    assert len(made) == 1
    assert run("setup", name, "--undo").exit_code == 0
    assert {str(each) for each in home.rglob("*") if ".local" not in each.parts} == before


def test_continue_gets_a_file_of_its_own_which_is_left_where_somebody_changed_it(
    home: Path, run: Run
) -> None:
    assert run("setup", "continue").exit_code == 0
    file = home / ".continue/mcpServers/graphmem.yaml"
    content = yaml.safe_load(file.read_text())
    assert content["mcpServers"][0]["args"] == ["mcp"]
    assert {"name", "version", "schema"} <= set(content)
    file.write_text(file.read_text() + "# mine\n")
    result = run("setup", "continue", "--undo")
    assert result.exit_code == 1
    assert "by hand" in result.output
    assert file.exists()


BROKEN = [b"{", b'{"mcpServers": [}', b"[]", b"\xff\xfe{}", b'{"mcpServers": 3}', b'{"a": 1} x']


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_refused_with_what_to_do_and_stays(home: Path, run: Run, content: bytes) -> None:
    file = home / ".claude.json"
    file.write_bytes(content)
    for words in ((), ("--undo",), ("--dry-run",)):
        result = run("setup", *CLAUDE, *words)
        if words == ("--undo",) and content == b'{"mcpServers": 3}':
            continue  # nothing of graphmem is in it
        assert result.exit_code == 1, result.output
        assert "Mend" in result.output or "UTF-8" in result.output
        assert content != b'{"mcpServers": 3}' or "mcpServers in it is no object" in result.output
    assert file.read_bytes() == content


TOMLS = [
    "", "a = 1", "# only\n", "[mcp_servers]\n", 'mcp_servers.docs.command = "x"\n', "mcp_servers = {}\n",
    'mcp_servers = {docs = {command = "a"}} # mine\n', '[[x]]\na = 1\n\n\n',
    '[mcp_servers.graphmem]\ncommand = "old"\n[mcp_servers.graphmem.env]\nA = "1"\n\n[x]\n',
    '[a]\r\nb = 1 # c\r\n\r\n[mcp_servers.d]\r\nc = 1\r\n\r\n[tui]\r\n',
    "\ufeff# only a comment\n", "\ufeff[a]\r\nb = 1\r\n",
]  # fmt: skip


@pytest.mark.parametrize("content", TOMLS)
def test_an_entry_goes_into_every_layout_of_toml_and_undo_gives_the_bytes_back(
    home: Path, run: Run, content: str
) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_bytes(content.encode())
    assert run("setup", "codex").exit_code == 0
    text = file.read_bytes().decode()
    after, before = (tomllib.loads(each.removeprefix("\ufeff")) for each in (text, content))
    assert text.startswith("\ufeff") is content.startswith("\ufeff")
    assert after["mcp_servers"]["graphmem"]["args"] == ["mcp"]
    assert without_graphmem(after) == without_graphmem(before)
    assert not ("\r\n" in content and re.search(r"(?<!\r)\n", text))
    assert run("setup", "codex", "--undo").exit_code == 0
    assert file.read_bytes() == content.encode()


@pytest.mark.parametrize("content", ["[mcp_servers\n", "a = 1\na = 2\n", "mcp_servers = 3\n"])
def test_a_broken_toml_file_is_refused_and_stays(home: Path, run: Run, content: str) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(content)
    result = run("setup", "codex")
    assert result.exit_code == 1
    assert "Mend the" in " ".join(result.output.split())
    assert file.read_text() == content


def test_a_read_only_file_and_a_folder_in_its_place_are_refused(home: Path, run: Run) -> None:
    file = home / ".claude.json"
    file.write_text("{}")
    file.chmod(0o444)
    assert run("setup", *CLAUDE).exit_code == 1
    assert file.read_text() == "{}"
    file.unlink()
    file.mkdir()
    assert run("setup", *CLAUDE).exit_code == 1


def test_one_refused_file_does_not_stop_the_other_agents(home: Path, run: Run) -> None:
    (home / ".claude.json").write_text("{")
    (home / ".cursor").mkdir()
    assert run("setup").exit_code == 1
    assert "graphmem" in (home / ".cursor/mcp.json").read_text()


def test_a_link_stays_a_link(home: Path, run: Run) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}\n")
    os.symlink(kept, home / ".claude.json")
    assert run("setup", *CLAUDE).exit_code == 0
    assert (home / ".claude.json").is_symlink()
    assert "graphmem" in kept.read_text()
    assert run("setup", *CLAUDE, "--undo").exit_code == 0
    assert kept.read_text() == "{}\n"


def test_undo_takes_the_entry_out_of_a_file_that_an_agent_wrote_anew(home: Path, run: Run) -> None:
    file = home / ".claude.json"
    for before in ({"a": 1}, {"a": 1, "mcpServers": {"b": {"command": "c"}}}):
        file.write_text(json.dumps(before))
        assert run("setup", *CLAUDE).exit_code == 0
        # Claude Code writes this file anew at every start.
        file.write_text(json.dumps({**json.loads(file.read_text()), "numStartups": 3}, indent=4))
        assert run("setup", *CLAUDE, "--undo").exit_code == 0
        assert json.loads(file.read_text()) == {**before, "numStartups": 3}


def test_an_entry_written_by_hand_or_on_another_machine_is_taken_over_and_out(home: Path, run: Run) -> None:
    file = home / "project/.mcp.json"
    file.write_text('{"mcpServers": {"graphmem": {"command": "old"}, "b": {}}}')
    words = ("setup", "claude-code", "--scope", "project")
    assert run(*words).exit_code == 0
    assert json.loads(file.read_text())["mcpServers"]["graphmem"]["args"] == ["mcp"]
    (home / ".local/share/graphmem/setup.json").unlink()
    assert run(*words, "--undo").exit_code == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"b": {}}}


def test_the_record_of_what_was_written_is_private(home: Path, run: Run) -> None:
    assert run("setup", *CLAUDE).exit_code == 0
    assert stat.S_IMODE((home / ".local/share/graphmem/setup.json").stat().st_mode) == 0o600


def test_options_go_with_the_command_and_secrets_do_not(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_BEARER_TOKEN", "s3cret-" * 8)
    assert (
        run("--env", "demo", "--data-dir", str(home / "d"), "--account", "ada", "setup", *CLAUDE).exit_code
        == 0
    )
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["graphmem"]
    assert entry["args"] == ["--env", "demo", "--data-dir", str(home / "d"), "--account", "ada", "mcp"]
    assert run(*SERVICE, "setup", "claude-code", "--scope", "project").exit_code == 0
    shared = (home / "project/.mcp.json").read_text()
    assert json.loads(shared)["mcpServers"]["graphmem"] == {
        "type": "http",
        "url": "https://memory.example.org/mcp",
    }
    assert "s3cret" not in shared
    assert run("--base-url", "https://ada:pw@memory.example.org", "setup", "cursor").exit_code == 6
    assert "left out" in run(*SERVICE, "setup", "claude-desktop").output


def test_the_command_is_uvx_where_uv_runs_it_from_its_cache(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (
        (".cache/uv/archive-v0/x/bin", "uvx"), (".cache/uv/environments-v2/x/bin", "uvx"),
        (".local/share/uv/tools/graphmem/bin", "graphmem"), ("uv/project/.venv/bin", "graphmem"),
    ):  # fmt: skip
        monkeypatch.setattr("sys.executable", str(home / folder / "python"))
        (home / folder).mkdir(parents=True)
        (home / folder / "graphmem").touch()
        assert run("setup", *CLAUDE).exit_code == 0
        entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["graphmem"]
        assert Path(entry["command"]).name == name
        assert entry["args"] == (["graphmem", "mcp"] if name == "uvx" else ["mcp"])


def test_names_that_are_none_and_a_home_without_agents_are_told(run: Run) -> None:
    assert run("setup", "emacs").exit_code == 2
    result = run("setup")
    assert result.exit_code == 6
    assert "cursor" in result.output


def test_check_says_what_is_set_up_and_whether_it_answers(home: Path, run: Run) -> None:
    occupied = place(Settings())
    make_folder(occupied)
    handle = lock(occupied)  # so that `graphmem mcp` starts no service
    (home / ".cursor").mkdir()
    run("setup", "cursor", "claude-code")
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("[")
    file = home / ".claude.json"
    file.write_text(file.read_text().replace('"mcp"', '"mcp", "--tools", "full"'))
    file.write_text(re.sub('"command": ".*"', '"command": "/no/such/program"', file.read_text()))
    rows = json.loads(run("setup", "check", "cursor", "claude-code", "codex", "zed", "--json").output)[
        "agents"
    ]
    told = {row["agent"]: (row["result"], row.get("answers", "")) for row in rows}
    assert told["cursor"] == ("set up", "yes")
    assert told["claude-code"][0] == "set up otherwise"
    assert told["claude-code"][1].startswith("no: /no/such/program")
    assert told["codex"][0] == "broken"
    assert told["zed"] == ("not set up", "")
    assert handle is not None
    os.close(handle)


def test_check_asks_the_agent_itself_where_its_program_is_there(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    occupied = place(Settings())
    make_folder(occupied)
    handle = lock(occupied)  # so that `graphmem mcp` starts no service
    program = home / "bin/opencode"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    run("setup", "opencode")
    for said, expected in (
        ("graphmem connected", "yes"),
        ("no servers", "no: no servers"),
        ("✗ graphmem \\033[90mfailed", "no: ✗ graphmem failed"),
    ):
        program.write_text(f"#!/bin/sh\nprintf '{said}\\n'\n")
        program.chmod(0o755)
        rows = json.loads(run("setup", "check", "opencode", "--json").output)["agents"]
        assert [row["client"] for row in rows if row["scope"] == "user"] == [expected]
    assert handle is not None
    os.close(handle)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_agent_has_its_files_under_the_home_directory_on_every_platform(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for agent in agents().values():
        file = agent.server("user", home, Launch(("graphmem",)))
        assert home in file.path.parents
        assert agent.row["documented"].startswith("https://")


LAYOUTS = [
    "{}", "{ }", "{\n}", "{\n}\n", '{"a": 1}', '{\n  "a": 1\n}', '{\n  "a": 1,\n}',
    '{\n\t"a": [1, 2] // c, "d"\n}\n',
    '{"m": {}}', '{"m": {"s": {}}}',
    '{\n  "m": {\n    "s": {\n      "b": 1 /* x */, // y\n    } // z\n  },\n}',
    '\ufeff{\r\n  "m": {"s": {"b": "}//,"}}\r\n}', "", " \n", '// top\n{"m": {"s": { /* in */ }}} // end\n',
    '{"m": {"s": {"a": "\\"}", "b": {"s": {}}}}}', '{\n  "m": {\n    "s": {\n      // only\n    }\n  }\n}\n',
]  # fmt: skip


@pytest.mark.parametrize("text", LAYOUTS)
def test_an_entry_goes_into_every_layout_of_json_and_out_of_it(text: str) -> None:
    entry = JsonEntry(("m", "s"), {"x": ["y"]}, "graphmem")
    made = entry.missing(text)
    after = entry.put(text)
    assert entry.value_in(after) == {"x": ["y"]}
    assert entry.put(after) == after
    before = parsed(text.lstrip("\ufeff"), "") if text.strip() else {}
    assert without_graphmem(parsed(after.lstrip("\ufeff"), "")) == without_graphmem(before)
    gone = pruned(entry.removed(after), made)
    assert parsed(gone.lstrip("\ufeff"), "") == before
    for comment in re.findall(r"//.*|/\*.*?\*/", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        assert comment.strip() in after
        assert comment.strip() in gone
    assert ("\r\n" in after) is ("\r\n" in text)
    assert not ("\r\n" in text and re.search(r"(?<!\r)\n", after))
