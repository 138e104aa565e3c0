"""Hooks of agents and the local service: what it tells, and turns that wait while it is away."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from graphmem.cli import instance_files
from graphmem.cli.agents import hook_call, hook_events, hook_spool
from graphmem.cli.agents.hook_transport import NoAnswer, Reach
from graphmem.service import calling
from graphmem.service.place import is_locked, lock, place, sessions
from graphmem.settings import Settings
from tests.support.commands import command, environment
from tests.support.local_service import call_service, is_alive, wait_for
from tests.support.socket_answers import answering_once

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hooked(local: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A local service as the environment of a hook names it. Hooks wait for it as long as a test may."""
    for name, value in environment(local, local.data_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for kind in hook_call.SECONDS:
        monkeypatch.setitem(hook_call.SECONDS, kind, 60.0)
        monkeypatch.setitem(hook_call.FIRST_SECONDS, kind, 60.0)
    return local


def stop_of(turn: int, folder: Path) -> bytes:
    """Return what an agent tells at the end of a turn."""
    event = {"session_id": "s", "turn_id": f"t{turn}", "cwd": str(folder), "prompt": f"Prompt {turn}"}
    return json.dumps({**event, "last_assistant_message": f"Answer {turn}"}).encode()


def keep(turn: int, folder: Path) -> None:
    """Run the hook of the end of a turn where the service is away, later than the one before it."""
    # An answer is told a millisecond after its prompt.
    time.sleep(0.01)
    assert hook_events.run("stop", Reach("codex", is_away=True), stop_of(turn, folder)) == ""


def waiting(local: Settings) -> list[Path]:
    return hook_spool.waiting(local.data_path / hook_spool.FOLDER)


def contents(local: Settings) -> list[str]:
    """Return the contents of the stored messages, in the order of their storing."""
    arguments = {"entity_type": "message", "sort_by": "snapshot.sent_at", "sort_order": "asc"}
    messages = call_service(local, "entities.query", arguments)["entities"]
    return [each["snapshot"]["content"] for each in messages]


def test_the_service_does_the_work_of_a_hook(hooked: Settings, tmp_path: Path) -> None:
    calling.ensure(hooked)
    ada = {"entity_type": "person", "name": "Ada Lovelace", "employer": "Analytical Engines"}
    call_service(hooked, "store", {"entities": [ada]})
    prompt = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "Write to Ada Lovelace"}
    stdin = json.dumps(prompt).encode()
    # The service answers nothing while its first statements take longer than a prompt waits.
    wait_for(lambda: "Analytical Engines" in (hook_call.call("prompt", "claude-code", {}, stdin)[0] or ""))
    (tmp_path / ".graphmem.toml").write_text('off = ["prompt"]')
    assert hook_call.call("prompt", "claude-code", {}, stdin) == ("", False)
    (tmp_path / ".graphmem.toml").unlink()
    for stdin in (b"", b"[]", b"null", b"\xff{", b'{"prompt": 3}'):
        assert hook_call.call("prompt", "claude-code", {}, stdin) == ("", False)
    assert hook_call.call("stop", "codex", {}, stop_of(1, tmp_path)) == ("", False)
    wait_for(lambda: not waiting(hooked))
    assert contents(hooked) == ["Prompt 1", "Answer 1"]


def test_turns_wait_for_the_service_and_each_is_stored_once_in_their_order(
    hooked: Settings, tmp_path: Path
) -> None:
    for turn in range(3):
        keep(turn, tmp_path)
    files = waiting(hooked)
    assert [each.stat().st_mode & 0o777 for each in files] == [0o600] * 3
    copy = shutil.copy(files[0], tmp_path)
    with pytest.raises(NoAnswer):
        hook_events.deliver(Reach("codex", is_away=True))
    assert waiting(hooked) == files
    calling.ensure(hooked)
    wait_for(lambda: not waiting(hooked))
    expected = [f"{kind} {turn}" for turn in range(3) for kind in ("Prompt", "Answer")]
    assert contents(hooked) == expected
    # As if the service had ended between the store and the removal of the file.
    shutil.copy(copy, files[0])
    keep(3, tmp_path)
    hook_events.deliver(Reach("codex"))
    assert contents(hooked) == [*expected, "Prompt 3", "Answer 3"]
    assert not waiting(hooked)


def test_a_turn_that_the_service_refuses_does_not_keep_others_waiting(
    hooked: Settings, tmp_path: Path
) -> None:
    folder = hooked.data_path / hook_spool.FOLDER / "local"
    hook_spool.keep(folder, None, {"account": "nobody", "client": "codex", "store": {"entities": [{}]}})
    hook_spool.keep(folder, None, {"account": None, "client": "two\nlines", "store": {"entities": [{}]}})
    for text in ("no JSON", '{"a": 1}', "[]"):
        (folder / f"{time.time_ns():020d}-1.turn").write_text(text)
    keep(1, tmp_path)
    calling.ensure(hooked)
    wait_for(lambda: not waiting(hooked))
    assert contents(hooked) == ["Prompt 1", "Answer 1"]
    assert len(hook_spool.refused(folder)) == 5


def test_a_turn_is_stored_at_once_where_it_cannot_be_kept(hooked: Settings, tmp_path: Path) -> None:
    calling.ensure(hooked)
    call_service(hooked, "store", {"entities": [{"entity_type": "note", "title": "The first store"}]})
    (hooked.data_path / hook_spool.FOLDER).write_text("a file in place of the folder")
    event = json.loads(stop_of(1, tmp_path))
    # A program cut the text within a character.
    half = json.dumps({**event, "last_assistant_message": "Answer \ud83d"}).encode()
    hook_call.call("stop", "codex", {}, half)
    assert contents(hooked) == ["Prompt 1", "Answer \ufffd"]


def test_whatever_an_agent_gives_a_hook_ends_well(hooked: Settings, tmp_path: Path) -> None:
    environ = environment(hooked, hooked.data_path, PYTHONPATH=str(ROOT))
    words = [sys.executable, "-m", "graphmem", "hook", "prompt", "--agent", "opencode"]
    odd = (b'{"cwd": "/tmp/\\u0000x"}', b'{"cwd": "/tmp/\\ud800x"}', b"[" * 300_000, b"\xff", b"")
    for stdin in odd:
        ended = subprocess.run(words, input=stdin, env=environ, cwd=tmp_path, capture_output=True)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b""), stdin[:40]
    closed = f"exec {shlex.join(words)} <&- >&-"
    ended = subprocess.run(["sh", "-c", closed], env=environ, cwd=tmp_path, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_service_that_was_stopped_is_not_started_by_hooks(
    hooked: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(os, "posix_spawn", lambda *words, **more: tried.append(words))
    calling.ensure(hooked)
    calling.stop(hooked)
    assert hook_call.call("prompt", "codex", {}, b'{"cwd": "/"}') == ("", True)
    assert tried == []


def test_turns_that_wait_move_to_the_sealed_instance(tmp_path: Path) -> None:
    source, target = tmp_path / "open", tmp_path / "sealed"
    target.mkdir()
    hook_spool.keep(source / hook_spool.FOLDER / "local", None, {"turn": 1})
    instance_files.replace(source, target, "encryption enable", print)
    stored: list[Any] = []
    assert not hook_spool.waiting(source)
    hook_spool.deliver(target / hook_spool.FOLDER / "local", AESGCM(os.urandom(32)), stored.append)
    assert stored == [{"turn": 1}]


def test_a_prompt_waits_for_the_end_of_its_turn_also_while_the_service_is_away(
    hooked: Settings, tmp_path: Path
) -> None:
    prompt = {"session_id": "s", "turn_id": "t1", "cwd": str(tmp_path), "prompt": "Prompt 1"}
    assert hook_call.call("prompt", "codex", {}, json.dumps(prompt).encode()) == (None, True)
    assert hook_events.run("prompt", Reach("codex", is_away=True), json.dumps(prompt).encode()) == ""
    stop = {**json.loads(stop_of(1, tmp_path)), "prompt": ""}
    assert hook_events.run("stop", Reach("codex", is_away=True), json.dumps(stop).encode()) == ""
    calling.ensure(hooked)
    wait_for(lambda: not waiting(hooked))
    assert contents(hooked) == ["Prompt 1", "Answer 1"]


def test_of_a_service_that_hangs_nothing_is_expected(
    hooked: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = calling.ensure(hooked)["pid"]
    for kind in hook_call.FIRST_SECONDS:
        monkeypatch.setitem(hook_call.FIRST_SECONDS, kind, 0.05)
    os.kill(serving, signal.SIGSTOP)
    try:
        assert hook_call.call("session-start", "codex", {}, b'{"cwd": "/"}') == ("", True)
        assert hook_call.call("stop", "codex", {}, stop_of(1, tmp_path)) == (None, True)
    finally:
        os.kill(serving, signal.SIGCONT)


def test_a_service_that_starts_is_not_waited_for(
    hooked: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "starting.sock"
    (tmp_path / "starting.secret").write_text("secret")
    where = place(hooked)
    where.folder.mkdir(parents=True)
    where.lock.write_text(json.dumps({"pid": 1, "socket": str(path)}))
    with answering_once(path, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}"):
        assert hook_call.call("prompt", "codex", {}, b"{}") == ("", True)


def test_a_hook_starts_a_service_that_ended_and_none_that_never_was(
    hooked: Settings, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    spawn = os.posix_spawn
    monkeypatch.setattr(hook_call, "COMMAND", command(owner))
    monkeypatch.setattr(os, "posix_spawn", lambda *words, **more: tried.append(spawn(*words, **more)))
    assert hook_call.call("prompt", "codex", {}, b'{"cwd": "/"}') == ("", True)
    assert tried == []
    brief = hooked.model_copy(update={"service_idle_seconds": 0.3})
    first = calling.ensure(brief)["pid"]
    wait_for(lambda: not is_locked(place(brief)))
    monkeypatch.chdir(ROOT)
    for _ in range(2):  # the second one within a minute starts nothing
        assert hook_call.call("prompt", "codex", {}, b'{"cwd": "/"}') == ("", True)
    assert len(tried) == 1
    wait_for(lambda: calling.greet(place(hooked)) is not None)
    os.waitpid(tried[0], 0)
    assert calling.ensure(hooked)["pid"] != first


def test_an_open_session_keeps_an_idle_service(local: Settings) -> None:
    brief = local.model_copy(update={"service_idle_seconds": 0.2})
    (place(brief).folder).mkdir(mode=0o700, parents=True)
    session = lock(sessions(place(brief)), shared=True)
    assert session is not None
    serving = calling.ensure(brief)["pid"]
    wait_for(lambda: (calling.greet(place(brief)) or {})["idle_seconds"] > 0.6)
    assert is_alive(serving)
    os.close(session)
    wait_for(lambda: not is_locked(place(brief)))


def test_turns_of_a_sealed_instance_are_sealed(tmp_path: Path) -> None:
    seal, stored = AESGCM(os.urandom(32)), list[Mapping[str, Any]]()
    hook_spool.keep(tmp_path, seal, {"turn": "sealed"})
    assert b"sealed" not in hook_spool.waiting(tmp_path)[0].read_bytes()
    hook_spool.keep(tmp_path, seal, {"turn": "damaged"})
    damaged = hook_spool.waiting(tmp_path)[1]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x00")
    hook_spool.deliver(tmp_path, seal, stored.append)
    assert stored == [{"turn": "sealed"}]
    assert len(hook_spool.refused(tmp_path)) == 1


def test_old_turns_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for turn in range(4):
        hook_spool.keep(tmp_path, None, {"turn": turn})
    old = time.time() - hook_spool.SECONDS_LIMIT - 1
    os.utime(hook_spool.waiting(tmp_path)[0], (old, old))
    monkeypatch.setattr(hook_spool, "BYTES_LIMIT", 30)
    hook_spool.keep(tmp_path, None, {"turn": 4})
    assert [json.loads(each.read_bytes())["turn"] for each in hook_spool.waiting(tmp_path)] == [3, 4]
