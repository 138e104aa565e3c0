"""Each command of README, docs/ and --help is run, in their order, in one environment: it answers as it says.

An ordinary run has the data of one owner in the database of the run; a long one an instance as a new user has
it, in which databases, accounts, backups and moves are run as well. What needs something else is named below.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import operator
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from typer.testing import CliRunner

from graphmem.cli.main import app
from graphmem.service import calling
from graphmem.settings import Settings, load
from tests.contract.snapshots import ROOT
from tests.support.commands import command, environment
from tests.support.example_lines import Line, lines
from tests.support.local_service import local_settings, started_for, wait_for
from tests.support.service import free_port

ELSEWHERE: Final = {
    r"(make|pip|cp|chmod|code|claude|kubectl|caddy|docker) ": "another program: tests/containers",
    r"graphmem auth (login|logout)": "a browser or an authorization server: tests/access/test_sdk_flow.py",
    r"graphmem init .*(--at-login|--neo4j-uri)": "systemd, or another machine: tests/setup/test_init.py",
    r"graphmem scripts test": "it is this suite",
    r"graphmem import --from": "another service: tests/faces/test_export_import.py",
    r"graphmem (encryption|erasure|init --encrypt)": "a sealed instance: tests/sealing",
    r"graphmem .*(sandbox|--env demo|^graphmem demo)": "tests/access/test_public_sandbox.py, make demo",
    r"graphmem backup restore laptop": "the keys of another machine: tests/sealing/test_sealed_dumps.py",
    r"curl https://try": "a public sandbox: tests/page/test_sandbox_page.py",
    r"graphmem copies (join|add|accept|pause)": "another machine: tests/access/test_copies.py",
    r"graphmem auth connections revoke": "a connection of a program: tests/access/test_connections.py",
}
"""Commands that are not run here, and where they are or why they cannot be."""
OF_INSTANCE: Final = re.compile(
    r"graphmem (init|reset|db|storage|demo|rebuild|server|account|backup|snapshots|doctor|auth|agents|undo|"
    r"me\b|subscriptions|--account|--env|serve --env|withdraw|reinstate|watch --sub|relationship-types)"
    r"|.*(production|backup create|serve --detach)"
)
"""Commands about an instance or its accounts, or whose answer is that of all owners."""
LASTING: Final = re.compile(r"graphmem (watch|logs .*--follow|serve(?!.*--detach))|curl -N")
EXPECTED: Final = {
    r".*--expected-version 3": 5,  # the entity has another version
    r"graphmem forget": 2,  # it says which command is meant
    r"graphmem entities split .*--source-id-in": 2,  # no observation of the entity is from that file
    r"graphmem schemas update event": 2,  # the second of two equal examples has nothing to change
    r"graphmem init( --hooks)?$": 6,  # there is no terminal to ask
    r"graphmem reset": 6,  # the name of the instance, which a terminal is asked for, is another one
    r".*doctor --deep": 1,  # nothing serves the instance for production
    r"graphmem account create ada --owner": 4,  # the owner has nothing
    r".*backup create graphmem.dump --without-files": 2,  # the file is there
    r"graphmem auth mcp-token": 6,  # the instance is not sealed
    r".*relationship-types rename": 2,  # there is no such type
    r"graphmem receipts (show|replay)": 4,  # receipts are off, so there is none
    r"graphmem undo --transaction-id": 4,
    r"graphmem (withdraw|reinstate) --by-key": 4,  # the key wrote nothing
    r"graphmem instructions check": 1,  # before `instructions install`, or after --undo
}
"""Exit codes other than 0 that a line may have, with the reason."""
BEFORE: Final = {
    r".*entities restore": "entities delete {one}",
    r".*entities unmerge": "entities merge {one} {two}",
    r".*dismiss-duplicates .*--undo": "entities dismiss-duplicates {one} {two}",
    r".*sources reinstate": "sources withdraw {source}",
    r".*interpretations reinstate": "interpretations withdraw {reading}",
    r".*relationships restore": "relationships delete {link}",
    r".*GRAPHMEM_AGENT_KEY": "auth keygen planner",
    r"graphmem serve": "server stop",
    r".*--account ada|.*account (disable|enable|delete|set-password)": "account create ada",
    r".*laptop.dump": "backup create laptop.dump --force",
    r".*backup (verify|restore) graphmem.dump": "backup create graphmem.dump --force",
    r".*--account studio": "--env production account create studio",
}
"""What must have been done before a line can be run."""
MADE: Final = {
    "key": (("auth", "keys", "create", "laptop"), ("key", "key_id")),
    "sub": (("subscriptions", "add", "--delivery-method", "sse"), ("subscription_id",)),
    "agr": (
        (*["agents", "grant", "planner", "--thumbprint", "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"],
         "--capabilities", '[{"op": "store"}]'),
        ("grant", "grant_id"),
    ),
}  # fmt: skip
"""Commands that make what an id of an example stands for, and where their answers have the id."""
KEY: Final = ["auth", "keys", "create", "tests", "--scopes", "read", "--scopes", "write", "--scopes", "admin"]
SILENT_SECONDS, TIMES_PRESSED = 15.0, 5
CACHE: Final = Path.home() / ".cache/graphmem"
ADA, OTHER = "ent_0123456789abcdef01234567", "ent_76543210fedcba9876543210"


class World:
    """A home directory with a project in it, data, files, and ids in place of those of the examples."""

    def __init__(self, folder: Path, program: list[str], port: int) -> None:
        self.folder, self.program, self.port = folder, program, port
        self.url = f"http://127.0.0.1:{port}"
        self.made, self.token = 0, ""

    def run(self, *words: str, stdin: str = "y\n" * 3, **environ: str) -> Any:
        return CliRunner().invoke(app, list(words), input=stdin, env=environ)

    def ask(self, *words: str) -> dict[str, Any]:
        result = self.run(*words, "--json")
        assert result.exit_code == 0, (words, result.stderr)
        return json.loads(result.stdout)

    def fill(self) -> None:
        project = self.folder
        files = {
            "memory.jsonl": '{"type":"entity","name":"Ann","entityType":"person","observations":["tea"]}\n',
            "commands.txt": "status\nlist people\n", "notes.md": "# Note\n", "scans/x.txt": "A scan.",
            "contacts.csv": "Name,Email\nBo,bo@example.org\n", "export": "a,b\n1,2\n",
            "vault/a.md": "# A\n\nSee [[b]].\n", "vault/b.md": "# B\n", "AGENTS.md": "# Rules\n",
            ".graphmem.toml": 'about = "Ada Lovelace"\n',
        }  # fmt: skip
        for name, text in files.items():
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text(text)
        shutil.make_archive(str(project / "takeout"), "zip", project / "vault")
        for name, kind in (("invoice", "pdf"), ("book", "pdf"), ("report", "docx")):
            shutil.copy(ROOT / "tests/ingest/files" / f"report.{kind}", project / f"{name}.{kind}")
        shutil.copytree(ROOT / "examples", project / "examples")
        told = "Ada leads the battery team."
        (project / "letter.csv").write_text(f"name,email,note\nAda Lovelace,ada@example.org,{told}\n")
        people = [
            {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "city": "London"},
            {"entity_type": "task", "title": "Oil the engine", "due_date": "2026-12-24"},
            {"entity_type": "person", "name": "Nadia Brandt"}, {"entity_type": "person", "name": "Tom Berg"},
            *({"entity_type": "company", "name": name} for name in ("Analytical Engines", "Acme")),
        ]  # fmt: skip
        stored = self.ask("store", "--entities", json.dumps(people))
        self.ids = [each["entity_id"] for each in stored["entities"] if each["entity_type"] != "task"]
        self.source, self.report = (
            self.ask("upload", name)["files"][0]["source_id"] for name in ("letter.csv", "report.docx")
        )

    def pair(self) -> tuple[str, str]:
        """Store two people who were never merged; return their ids."""
        self.made += 1
        both = [{"entity_type": "person", "name": f"Person {self.made} {name}"} for name in ("One", "Two")]
        self.ask("store", "--entities", json.dumps([{**both[0], "observed_at": "2026-01-05", "twin": True}]))
        one, two = self.ask("store", "--entities", json.dumps(both))["entities"]
        return one["entity_id"], two["entity_id"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    (tmp_path / "home" / ".cursor").mkdir()
    for name in os.environ:
        if name.startswith(("GRAPHMEM_", "NEO4J_", "XDG_", "SERVICE_")) and "TEST" not in name:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.chdir(project)
    return project


def chosen(is_instance: bool) -> Iterator[Line]:
    for line in lines():
        is_here = not any(re.match(pattern, line.text) for pattern in ELSEWHERE)
        if is_here and is_instance == bool(OF_INSTANCE.match(line.text)):
            yield line


def filled(world: World, line: Line) -> list[str]:
    """Return the words of a line about what is there; what it changes is made for it."""
    one, two = (
        world.pair()
        if re.match(r".*entities (delete|restore|.*merge|.*split|dismiss)", line.text)
        else (world.ids[0], world.ids[1])
    )
    known = {
        ADA: one, OTHER: two, "ent_89abcdef0123456789abcdef": world.ids[3], "ENTITY": "Ada Lovelace",
        "ent_9f7412bacb97093cb8a37d5d": world.ids[3], "ent_...": world.ids[0],
        "src_0123456789abcdef01234567": world.source, "src_...": world.source,
        "https://memory.example.org": world.url, "http://127.0.0.1:3080": world.url,
        "http://localhost:3080": world.url,
        "$(base64 -w0 invoice.pdf)": base64.b64encode(Path("invoice.pdf").read_bytes()).decode(),
    }  # fmt: skip
    if "rel_0123" in line.text or "relationships restore" in line.text:
        made = world.ask("relationships", "create", "KNOWS", one, two)
        known["rel_0123456789abcdef01234567"] = made["relationship_id"]
    if "int_0123" in line.text:
        known["int_0123456789abcdef01234567"] = world.ask("interpretations", "list")["interpretations"][0][
            "interpretation_id"
        ]
    if "--interpreter tables" in line.text:
        known["src_0123456789abcdef01234567"] = world.report
    if "evt_0123" in line.text:
        known["evt_0123456789abcdef01234567"] = world.ask("timeline", "list")["events"][0]["id"]
    if "unsplit" in line.text:
        fits = json.dumps({"field": "twin", "value": True})
        new = json.dumps({"entity_type": "person", "canonical_name": f"Twin {world.made}"})
        words = ("--observation-field-equals", fits, "--new-entity", new)
        split = world.ask("entities", "split", one, *words)
        known["spl_0123456789abcdef01234567"] = split["split_id"]
    for kind, (words, path) in MADE.items():
        if f"{kind}_0123456789abcdef" in line.text:
            known[f"{kind}_0123456789abcdef"] = functools.reduce(operator.getitem, path, world.ask(*words))
    for folder in ("/big/", "/old/", "/safe/", "/backups"):
        known[folder] = f"{world.folder}{folder}"
    if "/old/graphmem" in line.text and not Path(known["/old/"]).exists():
        world.run("db", "stop")
        shutil.copytree(str(load().data_path), f"{known['/old/']}graphmem")
    if world.token and world.url in known.values() and ("://" in line.text) and not is_up(world.port):
        world.run("serve", "--detach")
    for pattern, before in BEFORE.items():
        if re.match(pattern, " ".join([*(f"{name}=" for name, _ in line.environ), line.text])):
            reading, link = (known.get(f"{kind}_0123456789abcdef01234567", "") for kind in ("int", "rel"))
            world.run(
                *before.format(one=one, two=two, source=world.source, reading=reading, link=link).split()
            )
    return [
        functools.reduce(lambda text, each: text.replace(*each), known.items(), word) for word in line.words
    ]


def tried(world: World, line: Line) -> str:
    """Run a line; return what is wrong with it, or with what is done for it before."""
    try:
        return outcome(world, line)
    except (AssertionError, KeyError, OSError) as exc:
        return f"{line.where}: {line.text}: {exc!r}"


def outcome(world: World, line: Line) -> str:
    words = filled(world, line)
    if words[0] == "curl" and "-N" not in words:
        return by_http(words, world.token)
    if LASTING.match(line.text):
        return lasting(world, line, words)
    stdin = (world.folder / line.stdin_file).read_text() if line.stdin_file else line.stdin
    environ = dict(line.environ)
    stdin = stdin or ("" if words[1] == "session" else "y\n" * 3)
    if words[-1] in ("--password", "ada") and {"create", "set-password"} & {*words}:
        stdin = "correct horse battery\n" * 2
    if "reset" in words:
        stdin = "ada\n" if "ada" in words else "development\n"
    if world.token and world.url in words:
        environ |= {"SERVICE_BEARER_TOKEN": world.token}
    result = world.run(*words[1:], stdin=stdin, **environ)
    allowed = {0, *(code for pattern, code in EXPECTED.items() if re.match(pattern, line.text))}
    if result.exit_code in allowed and "INTERNAL_ERROR" not in result.stderr:
        return ""
    return f"{line.where}: {line.text}: {result.exit_code} {result.stdout[-300:]} {result.stderr[-700:]}"


def by_http(words: list[str], token: str) -> str:
    url = next(word for word in words if word.startswith("http"))
    body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
    answer = httpx.request(
        "GET" if body is None else "POST",
        url,
        json=body,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=60.0,
    )
    return "" if answer.is_success else f"{words}: {answer.status_code} {answer.text[:300]}"


def lasting(world: World, line: Line, words: list[str]) -> str:
    """Start what lasts, and press Ctrl-C once something is said, or nothing for long; again if it goes on."""
    program = words if words[0] == "curl" else [*world.program, *words[1:]]
    said, until = world.folder.parent / "said", time.monotonic() + SILENT_SECONDS
    with said.open("wb") as file:
        process = subprocess.Popen(
            program, env={**os.environ, **dict(line.environ)}, stdout=file, stderr=subprocess.STDOUT,
            # A run in the background may have inherited that Ctrl-C is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
    while process.poll() is None and not said.stat().st_size and time.monotonic() < until:
        time.sleep(0.05)
    for _ in range(TIMES_PRESSED):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SILENT_SECONDS)
            break
    else:
        process.kill()
        process.wait()
    is_ended = process.returncode in (0, 130, -2)
    return "" if is_ended else f"{line.text}: {process.returncode} {said.read_bytes()[-900:]!r}"


def run_all(world: World, is_instance: bool) -> None:
    faults = [fault for line in chosen(is_instance) if (fault := tried(world, line))]
    assert not faults, "\n\n".join(faults)


def test_every_example_about_data_is_run(
    settings: Settings, home: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    local = local_settings(settings, home.parent / "data")
    for name, value in environment(local, local.data_path, GRAPHMEM_PORT=str(port)).items():
        if name.startswith(("GRAPHMEM_", "NEO4J_")) and name != "GRAPHMEM_OFFLINE":
            monkeypatch.setenv(name, value)
    with started_for(monkeypatch, owner, local):
        calling.ensure(local)
        world = World(home, command(owner), port)
        world.fill()
        with subprocess.Popen([*world.program, "serve"], stderr=subprocess.DEVNULL) as serving:
            wait_for(lambda: is_up(port))
            try:
                run_all(world, is_instance=False)
            finally:
                serving.terminate()


@pytest.mark.long
def test_every_example_is_run_in_an_instance(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody has it who installed graphmem: an embedded Neo4j, and data in the usual places."""
    port = free_port()
    for name, value in {
        "port": str(port),
        "practice": "off",
        "cache_dir": str(CACHE),
        "neo4j_heap": "256m",
    }.items():
        monkeypatch.setenv(f"GRAPHMEM_{name.upper()}", value)
    world = World(home, [sys.executable, "-m", "graphmem"], port)
    world.run("init", "--yes")
    try:
        world.fill()
        world.token = world.ask(*KEY)["secret"]
        run_all(world, is_instance=True)
    finally:
        for env in ("development", "production"):
            world.run("--env", env, "server", "stop")
            world.run("--env", env, "db", "stop")


def is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").is_success
    except httpx.HTTPError:
        return False
