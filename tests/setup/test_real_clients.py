"""The agents themselves, as npm has them, set up by `graphmem setup --hooks`, with a scripted model.

Each is fetched once into the temporary folder. Without npm, or where the registry has it not, it is skipped.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import graphmem.cli.setup
from graphmem.cli.agents.agent_table import Launch, agents
from graphmem.service import calling
from graphmem.settings import Settings
from tests.setup.conftest import Run
from tests.support.commands import environment
from tests.support.figures import Figures
from tests.support.local_service import call_service, local_settings, started_for, wait_for
from tests.support.scripted_model import ANSWER, ScriptedModel, scripted_model

pytestmark = pytest.mark.long  # it fetches up to 300 MB for each agent

ROOT: Final = Path(__file__).parents[2]
PROGRAM: Final = [sys.executable, "-c", "from graphmem.cli.entry import main; main()"]
PROMPT: Final = "Write to Ada Lovelace"


class Client(NamedTuple):
    """An agent: its package, its program, the words for one prompt, its variables, its model."""

    package: str
    program: str
    words: tuple[str, ...]
    environ: Callable[[str], dict[str, str]] = lambda url: {}
    configure: Callable[[Path, str], None] = lambda home, url: None


def codex_model(home: Path, url: str) -> None:
    path = home / ".codex/config.toml"
    model = f'\n[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
    path.write_text(path.read_text() + model)


def gemini_model(home: Path, url: str) -> None:
    path = home / ".gemini/settings.json"
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    path.write_text(json.dumps({**json.loads(path.read_text()), **chosen}))


def opencode_model(home: Path, url: str) -> None:
    path = home / ".config/opencode/opencode.json"
    options = {"baseURL": f"{url}/v1", "apiKey": "x"}
    local = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"name": "m"}}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "provider": {"local": local}}))


CLIENTS: Final = {
    "claude-code": Client(
        "@anthropic-ai/claude-code", "claude", ("-p", PROMPT),
        lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "DISABLE_AUTOUPDATER": "1",
                     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": Client(
        "@openai/codex", "codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", "model_provider=local",
         "-c", "model=m", PROMPT),
        configure=codex_model,
    ),
    "gemini-cli": Client(
        "@google/gemini-cli", "gemini", ("--skip-trust", "-p", PROMPT),
        lambda url: {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url}, gemini_model,
    ),
    "opencode": Client("opencode-ai", "opencode", ("run", "-m", "local/m", PROMPT), configure=opencode_model),
}  # fmt: skip


def fetched(client: Client) -> Path:
    """Return the program of an agent, which npm has fetched."""
    folder = Path(tempfile.gettempdir()) / f"graphmem-tests-clients-{os.getuid()}" / client.program
    program = folder / "node_modules/.bin" / client.program
    if not program.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        words = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), client.package)
        done = subprocess.run(words, capture_output=True, text=True, timeout=900)
        if done.returncode:
            pytest.skip(f"npm does not fetch {client.package}: {done.stderr[-200:]}")
    return program


@pytest.mark.parametrize("name", CLIENTS)
def test_an_agent_is_told_whom_a_prompt_names_gets_the_tools_and_its_turn_is_stored(
    settings: Settings, home: Path, run: Run, owner: str, monkeypatch: pytest.MonkeyPatch, name: str,
    figures: Figures,
) -> None:  # fmt: skip
    client = CLIENTS[name]
    program = fetched(client)
    local = local_settings(settings, home / "data")
    reached = environment(local, local.data_path, PYTHONPATH=str(ROOT))
    del reached["GRAPHMEM_OFFLINE"]
    names = [each for each in reached if each.startswith(("GRAPHMEM_", "NEO4J_", "PYTHON"))]
    lines = [f"export {each}={shlex.quote(reached[each])}" for each in names]
    graphmem_program = home / "graphmem"
    called = home / "called"
    graphmem_program.write_text("\n".join(
        ["#!/bin/sh", *lines, f'echo "$@" >> {called}', f'exec {shlex.join(PROGRAM)} "$@"', ""]
    ))  # fmt: skip
    graphmem_program.chmod(0o755)
    monkeypatch.setattr(graphmem.cli.setup, "_program", lambda is_shared: [str(graphmem_program)])
    assert run("--data-dir", str(home / "data"), "setup", name, "--hooks").exit_code == 0
    with started_for(monkeypatch, owner, local), scripted_model() as model:
        calling.ensure(local)
        ada = {"entity_type": "person", "name": "Ada Lovelace", "employer": "Analytical Engines"}
        call_service(local, "store", {"entities": [ada]})
        client.configure(home, model.url)
        version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()[-1]
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        (row,) = graphmem.cli.setup.checked([agents()[name]], launched(home))[:1]
        # Gemini CLI starts no program of a folder that it does not trust, and says so.
        assert (row["answers"], row["client"][:3]) == ("yes", "no:" if name == "gemini-cli" else "yes")
        figures(f"{client.package}: {version}")
        told_by(model, [str(program), *client.words], client.environ(model.url), home)
        assert any("Analytical Engines" in each for each in model.prompts), model.prompts
        assert {"mcp"} < {line.split(" hook ")[0].split()[-1] for line in called.read_text().splitlines()}

        def contents() -> list[str]:
            query = {"entity_type": "message", "sort_by": "snapshot.sent_at"}
            messages: list[Any] = call_service(local, "entities.query", query)["entities"]
            # `opencode run` puts a message of several words in quotation marks.
            return sorted(each["snapshot"]["content"].strip('"') for each in messages)

        wait_for(lambda: len(contents()) == 2)
        assert contents() == [ANSWER, PROMPT]


def launched(home: Path) -> Launch:
    """Return how agents start the program of the test."""
    return Launch((str(home / "graphmem"), "--data-dir", str(home / "data")), None, None)


def told_by(model: ScriptedModel, words: list[str], environ: dict[str, str], home: Path) -> None:
    """Give the prompt to the agent, and read its answer."""
    kept = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C.UTF-8", **environ}
    done = subprocess.run(
        words, env=kept, cwd=home / "project", stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=500,
    )  # fmt: skip
    assert ANSWER in done.stdout, (done.returncode, done.stdout[-500:], done.stderr[-1500:])
