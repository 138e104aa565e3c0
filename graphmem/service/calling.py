"""Call the local service: find it, start it if there is none, wait until it is ready, stop it.

Nothing here imports the operations or the database.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from graphmem import __version__
from graphmem.auth import ACCOUNT_HEADER, HOOK_HEADER
from graphmem.errors import ConfigurationInvalid, GraphmemError, ServiceUnreachable
from graphmem.service import greeting, wire
from graphmem.service.place import Place, is_locked, make_folder, place
from graphmem.settings import Settings, variable

COMMAND = [sys.executable, "-P", "-m", "graphmem.service"]

HELD_EXIT_CODE = 75  # exit code of a service that ends because another process has the lock

GREETING_TIMEOUT_SECONDS = 15.0  # seconds that a service may be silent before it counts as hung

STOP_SECONDS = 10.0  # seconds for the end of a service beyond those of its running requests

POLL_SECONDS = 0.05
TELL_SECONDS = 4.0  # seconds between two lines of progress

STARTS_LIMIT = 3
"""Times that one call starts a service. If it ends each time, one more start does not help."""

CONSOLE_BYTES_LIMIT = 1_000_000  # a longer console file is emptied at the next start

Tell = Callable[[str], None]  # takes a line of progress

Greeting = Mapping[str, Any]

_children: list[subprocess.Popen[bytes]] = []
"""The services that this process started: they are reaped when the next one is started."""

_newest: dict[Place, subprocess.Popen[bytes]] = {}
"""The service that this process started last, by place: threads that need one at once share it."""
_starting = threading.Lock()


def greet(where: Place) -> Greeting | None:
    """Return the greeting of the service, None if none listens. Raises ServiceUnreachable: it does not
    answer."""
    path = where.record().get("socket")
    if not path:
        return None
    try:
        status, body = wire.send(
            Path(path), wire.Request("GET", greeting.PATH), timeout=GREETING_TIMEOUT_SECONDS
        )
        answer = json.loads(body)
    except wire.NotConnected:
        return None
    except wire.Interrupted as exc:
        if not is_locked(where):
            return None
        raise ServiceUnreachable(
            f"the local service (process {where.record().get('pid')}) does not answer: "
            "run `graphmem server stop`, or use --offline",
            reason=str(exc),
        ) from exc
    except ValueError:
        status, answer = 0, {}
    if status != 200 or not isinstance(answer, dict) or "version" not in answer:
        raise ServiceUnreachable(f"{path} is not the socket of a graphmem service", socket=path)
    return answer


def ensure(settings: Settings, tell: Tell | None = None) -> Greeting:
    """Return the greeting of a ready service; start the service if there is none.

    A service of another version is stopped, after its running requests, and replaced; one that had failed
    before this call is replaced as soon as it has ended. ``tell`` gets a line of progress at least every 5 s.

    Raises:
        ConfigurationInvalid: the service has other settings; the message names them. Nothing was done.
        SetupError: the data directory cannot be used, or the database does not start.
        ServiceUnreachable: the service does not answer, or ends while it starts.
    """
    where = place(settings)
    wait = _Wait(tell)
    child: subprocess.Popen[bytes] | None = None
    starts = 0
    replaced: set[int] = set()
    answer = greet(where)
    # What made that service fail may be mended by now. It ends once its failure is read.
    failed = answer["pid"] if answer and answer["state"] == greeting.FAILED else None
    while True:
        if answer is not None and answer["version"] != __version__:
            _replace(where, answer, replaced)
        elif answer is not None:
            _check_settings(settings, answer)
            if answer["state"] == greeting.READY:
                _start_stopped_database(settings)
                return answer
            if answer["state"] == greeting.FAILED and answer["pid"] != failed:
                raise GraphmemError.of(answer["error"])
        if answer is None and child is None and not is_locked(where):
            _check_starts(starts, where)
            with _starting:
                child = _newest.get(where)
                if child is None or child.poll() is not None:
                    child = _newest[where] = start(settings, where)
            starts += 1
        elif child is not None and (code := child.poll()) is not None:
            child = None
            if code != HELD_EXIT_CODE and answer is None and not is_locked(where):
                _check_starts(STARTS_LIMIT if code > 0 else starts, where)
        wait.turn(str(answer["doing"]) if answer and answer.get("doing") else "starting the local service")
        answer = greet(where)


def start(settings: Settings, where: Place) -> subprocess.Popen[bytes]:
    return spawn(settings, where, COMMAND)


def spawn(settings: Settings, where: Place, command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process with these settings, detached, which writes to the console file of the place."""
    _children[:] = [child for child in _children if child.poll() is None]
    make_folder(where)
    too_long = where.console.exists() and where.console.stat().st_size > CONSOLE_BYTES_LIMIT
    with where.console.open("wb" if too_long else "ab") as console:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, env=environment(settings),
            start_new_session=True,
        )  # fmt: skip
    _children.append(child)
    return child


def wait_until_ready(
    where: Place,
    child: subprocess.Popen[bytes],
    answers: Callable[[Greeting], bool],
    tell: Tell | None = None,
) -> Greeting:
    """Return the greeting of a process that :func:`spawn` started, once it is ready and ``answers``. Raises
    GraphmemError: what keeps it from being ready. Raises ServiceUnreachable: it ends while it starts."""
    wait = _Wait(tell)
    while True:
        with contextlib.suppress(ServiceUnreachable):
            # The service whose place it takes may still answer, or end in this moment.
            answer = greet(where)
            is_ready = answer and answer["pid"] == child.pid and answer["state"] == greeting.READY
            if answer and is_ready and answers(answer):
                return answer
            if answer and answer["pid"] == child.pid and answer["state"] == greeting.FAILED:
                raise GraphmemError.of(answer["error"])
        if child.poll() is not None:
            _check_starts(STARTS_LIMIT, where)
        wait.turn("starting the service")


def stop(settings: Settings) -> bool:
    """Stop the service once its running requests have finished; False if none ran.

    `graphmem serve` is stopped only if it was started with ``--detach``. A service that does not end in time
    is killed: what it acknowledged is in the database.
    """
    where = place(settings)
    record = where.record()
    if not is_locked(where) or ("serves" in record and not record.get("detached")):
        return False
    if "serves" in record:
        with contextlib.suppress(ProcessLookupError):
            os.kill(record["pid"], signal.SIGTERM)
    else:
        _ask_to_stop(where)
    if not _wait_for_end(where, settings.shutdown_seconds + STOP_SECONDS):
        pid = where.record().get("pid")
        if isinstance(pid, int):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _wait_for_end(where, STOP_SECONDS)
    return True


def account_headers(account: str | None) -> dict[str, str]:
    """Return the headers with which a request acts as an account; none for the local account."""
    return {} if account is None else {ACCOUNT_HEADER: quote(account, safe="")}


def call(
    settings: Settings, route: tuple[str, str], raw: Mapping[str, Any], client: str, tell: Tell | None = None,
    account: str | None = None, *, timeout: float | None = None, starts: bool = True, by_hook: bool = False,
) -> bytes:  # fmt: skip
    """Return an operation's answer as JSON.

    ``route``: method and path of the operation. ``client``: the name of the calling program. ``account``: the
    name of the account that acts, by default the local one. ``timeout`` and ``starts``: as of :func:`send`.
    ``by_hook``: a hook of an agent asks.

    Raises:
        GraphmemError: the error that the service answered, or what :func:`ensure` raises.
        ServiceUnreachable: the service ended before it answered.
    """
    headers = {"X-Client-Name": client, **account_headers(account), **({HOOK_HEADER: "1"} if by_hook else {})}
    status, body = send(settings, wire.request_of(route, raw), headers, tell, timeout=timeout, starts=starts)
    if status == 200:
        return body
    raise GraphmemError.of(json.loads(body))


def send(
    settings: Settings, request: wire.Request, headers: Mapping[str, str], tell: Tell | None = None, *,
    timeout: float | None = None, starts: bool = True, opened: wire.Opened | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Send a request as :func:`call` does, and raise what it raises; return status and body of the answer.

    Where the settings name the key of an agent, the request is signed.

    Args:
        timeout: seconds that the service may be silent; None: any time.
        starts: whether a service is started where none runs.
    """
    sign = signing(settings)
    for _ in range(STARTS_LIMIT if starts else 1):
        record = ensure(settings, tell) if starts else place(settings).record()
        try:
            return wire.send(Path(record.get("socket", os.devnull)), request, headers, timeout, sign, opened)
        except wire.NotConnected:
            continue  # it ended in this moment: nothing was sent
        except wire.Interrupted as exc:
            raise ServiceUnreachable(
                "the local service ended before it answered, so it may have carried the request out: "
                "send it again, a store with the same idempotency_key",
                reason=str(exc),
            ) from exc
    ends = "the local service ends as soon as it is ready: `graphmem logs` says why"
    raise ServiceUnreachable(ends if starts else "the local service does not answer")


def signing(settings: Settings) -> wire.Sign | None:
    """Return what signs requests with the key of an agent that the settings name; None: no agent."""
    if settings.agent_key is None:
        return None
    from graphmem.client.agent_signing import AgentSigner

    agent = AgentSigner.configured(settings)
    return agent and agent.headers


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment in which the service reads these settings, whatever options set them."""
    names = {variable(name): name for name in type(settings).model_fields}
    kept = {name: value for name, value in os.environ.items() if name.upper() not in names}
    # The paths do not depend on the working directory.
    # The address of another service, and the key of an agent, are those of the caller alone.
    # What nobody set is the default of the service too.
    chosen = settings.model_fields_set - {"base_url", "agent_key", "agent_token", "agent_subject"}
    values = {name: getattr(settings, field) for name, field in names.items() if field in chosen}
    values |= {variable("data_dir"): settings.data_path}
    values |= {variable("cache_dir"): settings.cache_path} if settings.cache_dir else {}
    for name, value in values.items():
        if value is not None:
            text = value.get_secret_value() if isinstance(value, SecretStr) else value
            kept[name] = ",".join(text) if isinstance(text, tuple) else str(text)
    return kept


@contextlib.contextmanager
def telling(doing: str, tell: Tell | None) -> Iterator[None]:
    """Tell every few seconds what a call waits for: Neo4j plans the first statements for long."""
    if tell is None:
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def tell_again() -> None:
        while not ended.wait(TELL_SECONDS):
            tell(f"{doing} … {time.monotonic() - begin:.0f} s")

    thread = threading.Thread(target=tell_again, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class _Wait:
    """Waits in short turns and tells at least every 5 s what the wait is for."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._begin = time.monotonic()
        self._told = self._begin - TELL_SECONDS + 1.0

    def turn(self, doing: str) -> None:
        """Wait one turn. The first line comes after a second."""
        now = time.monotonic()
        if self._tell and now - self._told >= TELL_SECONDS:
            self._told = now
            self._tell(f"{doing} … {now - self._begin:.0f} s")
        time.sleep(POLL_SECONDS)


def _check_settings(settings: Settings, answer: Greeting) -> None:
    different = greeting.differences(settings, answer)
    if not different:
        return
    who, way = (
        "the local service",
        ("Use the same settings, run `graphmem server stop` so that the next command starts it with its own"),
    )
    if answer.get("serves"):
        who, way = "`graphmem serve`", "Use its settings"
    raise ConfigurationInvalid(
        f"{who} (process {answer['pid']}) has other settings, and nothing was done: {'; '.join(different)}. "
        f"{way}, or use --offline",
        differences=different,
    )


def _start_stopped_database(settings: Settings) -> None:
    """Start the embedded Neo4j that `graphmem db stop` stopped: `graphmem serve` does not start it again."""
    if settings.neo4j_uri is not None or not settings.stop_file.exists():
        return
    from graphmem.observability import logs
    from graphmem.runtime import connection

    # The log of a caller that has opened none would go to stdout, which belongs to the answer.
    with logs.silenced():
        asyncio.run(connection(settings))


def _replace(where: Place, answer: Greeting, replaced: set[int]) -> None:
    """Ask a service of another version to stop, once. ``replaced``: the process ids of those asked before."""
    if answer.get("serves"):
        raise ConfigurationInvalid(
            f"`graphmem serve` (process {answer['pid']}) at {answer['serves']} is graphmem "
            f"{answer['version']}, and this program is graphmem {__version__}: start `graphmem serve` again, "
            "or use --offline"
        )
    if answer["pid"] in replaced:
        return
    if replaced:
        raise ConfigurationInvalid(
            f"this program is graphmem {__version__}, and {answer['version']} is installed: start this "
            "program again"
        )
    replaced.add(answer["pid"])
    _ask_to_stop(where)


def _check_starts(starts: int, where: Place) -> None:
    if starts < STARTS_LIMIT:
        return
    lines = where.console.read_text("utf-8", errors="replace").splitlines()[-20:]
    raise ServiceUnreachable(
        f"the service ends while it starts; the last lines of {where.console} follow", log=lines
    )


def _ask_to_stop(where: Place) -> None:
    path = where.record().get("socket")
    if path:
        with contextlib.suppress(wire.NotConnected, wire.Interrupted):
            wire.send(Path(path), wire.Request("POST", greeting.STOP_PATH), timeout=GREETING_TIMEOUT_SECONDS)


def _wait_for_end(where: Place, seconds: float) -> bool:
    """Wait until the service has ended; False if it still lives after ``seconds``."""
    deadline = time.monotonic() + seconds
    while is_locked(where):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
