"""A hook as one request to the local service, which does its work: most of a hook is the start of Python.

Only what Python has at its start, ``json`` and ``socket`` are imported, no types either. What needs more is
done in the process of the hook (:func:`graphmem.cli.agents.hook_events.run`). The data directory is looked
for as :mod:`graphmem.environment_file` does; a test compares the two.
"""

import json
import os
import socket
import sys
import time

PATH = "/service/hook"
FILE = ".graphmem.toml"  # what a folder says of hooks in it
FIRST_SECONDS = {"session-start": 0.05, "prompt": 1.0, "stop": 0.15}
"""Seconds in which a service that does not hang says that it has a hook."""
SECONDS = {"session-start": 2.0, "prompt": 1.0, "stop": 8.0}
"""Seconds after which a hook gives up and says nothing."""
START_SECONDS = 60.0  # seconds until a hook starts a service again that did not come up
COMMAND = (sys.executable, "-P", "-m", "graphmem")
_ELSEWHERE = ("GRAPHMEM_BASE_URL", "GRAPHMEM_AGENT_KEY")
"""Variables that name another service, or the key with which requests are signed."""


def call(kind: str, agent: str, options: "dict[str, str]", stdin: bytes) -> "tuple[str | None, bool]":
    """Return what the local service answers to a hook, and whether it is away: ended, starting, or hung.

    The answer is ``None`` where the process of the hook does the work. A service that ended is started again.

    Raises any error: the agent gave something odd, or a file of settings cannot be read.
    """
    folder = data_folder(options)
    if folder is None:
        return None, False
    hook = {"kind": kind, "agent": agent, "account": options.get("account"), "folder": os.getcwd()}
    body = json.dumps({**hook, "stdin": stdin.decode("utf-8", "replace")})
    try:
        status, text = _send(json.loads(_read(f"{folder}/service/{_place()}.lock"))["socket"], kind, body)
    except (FileNotFoundError, ConnectionRefusedError):
        _start(folder, options)
        status, text = 503, ""
    except (OSError, ValueError, LookupError, TypeError):  # it hangs, or somebody has stopped it
        status, text = 503, ""
    # A turn, and a prompt whose turn has an id, are kept; rules of the folder may name another service.
    is_kept = kind == "stop" or (kind == "prompt" and (b"turn_id" in stdin or b"generation_id" in stdin))
    if status == 503 and not is_kept and nearest(_folder(stdin)) is None:
        return "", True
    return (text if status == 200 else None), status == 503


def data_folder(options: "dict[str, str]") -> "str | None":
    """Return the data directory of the local service; ``None`` where another service may be meant."""
    named = options.get("data_dir") or os.environ.get("GRAPHMEM_DATA_DIR")
    is_elsewhere = any(value and name.upper() in _ELSEWHERE for name, value in os.environ.items())
    if is_elsewhere or "base_url" in options or not (named or sys.platform == "linux"):
        return None
    home = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    env = options.get("env") or os.environ.get("GRAPHMEM_ENV") or "development"
    folder = os.path.realpath(named or f"{home}/graphmem/{env}")
    seen = {folder}
    while os.path.exists(f"{folder}/data-at"):
        folder = os.path.realpath(_read(f"{folder}/data-at").strip())
        if folder in seen:
            return None
        seen.add(folder)
    if not os.path.exists(f"{folder}/graphmem.env"):
        return folder
    variables = _read(f"{folder}/graphmem.env").upper()
    is_elsewhere = any(name in variables for name in (*_ELSEWHERE, "NEO4J_URI", "NEO4J_DATABASE"))
    return None if is_elsewhere else folder


def _place() -> str:
    """Return the name of the service's files (:func:`graphmem.service.place.place`)."""
    uri = os.environ.get("NEO4J_URI")
    if not uri:
        return "embedded"
    import hashlib

    address = f"{uri}\n{os.environ.get('NEO4J_DATABASE') or 'neo4j'}"
    return f"external-{hashlib.sha256(address.encode()).hexdigest()[:12]}"


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _send(place: str, kind: str, body: str) -> "tuple[int, str]":
    """Send a hook to a socket; return status and text of the answer."""
    content = body.encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(content)}\r\n"
        f"X-Graphmem-Socket: {_read(os.path.splitext(place)[0] + '.secret')}\r\n\r\n"
    )
    end = time.monotonic() + SECONDS[kind]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(FIRST_SECONDS[kind])
        connection.connect(place)
        connection.sendall(head.encode() + content)
        answer = part = connection.recv(65_536)
        while part:
            connection.settimeout(max(0.001, end - time.monotonic()))
            part = connection.recv(65_536)
            answer += part
    head, _, rest = answer.decode().partition("\r\n\r\n")
    # The text is one chunk (RFC 9112, section 7.1), or there is none.
    return int(head.split()[1]), rest.partition("\r\n")[2].rpartition("\r\n0\r\n")[0]


def _folder(stdin: bytes) -> str:
    """Return the folder in which the agent works."""
    try:
        return str(json.loads(stdin)["cwd"] or ".")
    except (ValueError, KeyError, TypeError):
        return "."


def nearest(folder: str) -> "str | None":
    """Return the path of the rules that hold in a folder: its own, or those of the nearest one above it."""
    above, path = "", os.path.realpath(folder)
    while above != path:
        if os.path.isfile(file := os.path.join(path, FILE)):
            return file
        above, path = path, os.path.dirname(path)
    return None


def _start(folder: str, options: "dict[str, str]") -> None:
    """Start a service that was there and ended by itself, or was killed. Nothing waits for it."""
    tried = f"{folder}/service/started-by-hook"
    if os.path.exists(f"{folder}/stopped") or not os.path.isdir(f"{folder}/service"):
        return
    if os.path.exists(tried) and time.time() - os.path.getmtime(tried) < START_SECONDS:
        return
    with open(tried, "w"):
        pass
    words = [*COMMAND]
    for name in ("env", "data_dir"):
        words += [f"--{name.replace('_', '-')}", options[name]] if name in options else []
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.posix_spawn(words[0], [*words, "server", "start"], os.environ, file_actions=null, setsid=True)
