"""What somebody wrote by hand into the file of an agent, before and after `graphmem setup`."""

from __future__ import annotations

from pathlib import Path

from tests.setup.conftest import Run


def test_what_somebody_wrote_by_hand_is_kept_and_there_again_after_an_undo(home: Path, run: Run) -> None:
    env = '"env": {"GRAPHMEM_ENV": "production"}'
    entry = f'"graphmem": {{"command": "graphmem", "args": ["mcp"], {env}}}'
    by_hand = f'{{\n  "mcpServers": {{\n    {entry}\n  }}\n}}\n'
    toml = '[mcp_servers.graphmem]\ncommand = "old"\n\n[mcp_servers.graphmem.env]\nA = "1"\n'
    for name, where, text in (
        ("claude-code", ".claude.json", by_hand), ("codex", ".codex/config.toml", toml),
        ("claude-code", ".claude.json", ""), ("claude-code", ".claude.json", " \n"),
        ("claude-code", ".claude.json", "// mine\n"), ("zed", ".config/zed/settings.json", "/* c */"),
    ):  # fmt: skip
        file = home / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        assert run("setup", name).exit_code == 0, text
        assert '"mcp"' in file.read_text()
        assert ("production" in file.read_text(), 'A = "1"' in file.read_text()) == (
            text == by_hand,
            text == toml,
        )
        assert "as asked" in run("setup", name).output
        assert run("setup", name, "--undo").exit_code == 0
        assert file.read_text() == text


def test_comments_behind_the_table_of_graphmem_stay_where_somebody_changed_the_file(
    home: Path, run: Run
) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text("[a]\nb = 1\n")
    run("setup", "codex")
    file.write_text(file.read_text() + "\n# mine\n[z]\ny = 2 # also mine\n")
    assert run("setup", "codex", "--undo").exit_code == 0
    assert file.read_text() == "[a]\nb = 1\n\n# mine\n[z]\ny = 2 # also mine\n"
