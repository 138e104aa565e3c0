"""A team's instance: the lines of docs/team.md, run on containers without an engine."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx

from tests.support.composition import DOCKER, Composition
from tests.support.containers import Container, Specification
from tests.support.images import PATH, REPOSITORY, Image

DOMAIN = "memory.localhost"
"""Stands for memory.example.org: for a name below localhost, Caddy signs the certificate itself."""
COMPOSE = ["docker", "compose", "-f", "docker/compose.yaml"]
ACCESS_KEY = "graphmem-tests"
SEEN = (REPOSITORY, str(REPOSITORY), False)
"""The checkout as a volume: it may be below /tmp, where a container has a directory of its own."""


READY_SECONDS = 240.0
ASSIGNMENT = re.compile(r"[A-Z_]+=.*")
SECRET = r"\bgm_\w\w_[\w-]{20,}"
"""How a key looks."""


def matched(pattern: str, text: str) -> str:
    """Return what a pattern matches in a text, where it must be."""
    match = re.search(pattern, text)
    assert match, text
    return match[0]


def _authority(data: Path) -> Path:
    """Return the certificate of the authority that Caddy keeps in its data directory."""
    return data / "caddy" / "pki" / "authorities" / "local" / "root.crt"


class ToProxy(httpx.HTTPTransport):
    """Sends what is for the domain to the proxy's address, as a name server would have it.

    ``local_address`` is the address of the caller, one of this machine's.
    """

    def __init__(self, address: str, **options: Any) -> None:
        super().__init__(**options)
        self._address = address

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions["sni_hostname"] = request.url.host
        request.url = request.url.copy_with(host=self._address)
        return super().handle_request(request)


class Team:
    """What the lines make: a composition, and a client of it for each credential.

    Attributes:
        printed: what each line printed.
    """

    def __init__(self, image: Image, folder: Path) -> None:
        self._image, self.folder = image, folder
        self.variables: dict[str, str] = {}
        self.composition: Composition | None = None
        self.printed: dict[str, str] = {}
        self._clients: list[httpx.Client] = []
        self._programs: list[subprocess.Popen[str]] = []
        self.own_proxy: Container | None = None

    @property
    def services(self) -> Composition:
        assert self.composition is not None, "nothing was started"
        return self.composition

    def run(self, lines: Sequence[str]) -> None:
        """Run lines of a shell as far as the page needs one; what nobody has thought of is a mistake."""
        for line in lines:
            self.printed[line] = self._run(shlex.split(line.replace("memory.example.org", DOMAIN)))

    def _run(self, words: list[str]) -> str:
        assigned = list(takewhile(ASSIGNMENT.fullmatch, words))
        variables = dict(each.split("=", 1) for each in assigned)
        match words[len(assigned) :]:
            case ["cp", "docker/env.example", "docker/.env"]:
                self._fill_in()
            case ["chmod", mode, "docker/.env"]:
                (self.folder / ".env").chmod(int(mode, 8))
            case ["curl", "-s", url]:
                return self.client("").get(url).text
            case ["caddy", "run", "--config", file]:
                self._run_caddy(file, variables)
            case ["graphmem", "serve", *more]:
                self._programs.append(self._start(["graphmem", "serve", *more], variables))
            case ["graphmem", "--base-url", *_] as command:
                return self._from_elsewhere(command)
            case ["graphmem", *_] as command:
                process = self._start(command, variables)
                printed, _ = process.communicate()
                assert process.returncode == 0, f"{command}: {printed}"
                return printed
            case command if command[: len(COMPOSE)] == COMPOSE:
                return self._compose(command[len(COMPOSE) :])
            case _:
                raise AssertionError(f"nobody has tried this line: {shlex.join(words)}")
        return ""

    def _start(self, command: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
        """Start graphmem on this machine, with a data directory in the folder."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GRAPHMEM_", "NEO4J_"))
        }
        ours = {
            "GRAPHMEM_DATA_DIR": str(self.folder / "of-the-machine"),
            "GRAPHMEM_NEO4J_HEAP": "256m", "GRAPHMEM_NEO4J_PAGE_CACHE": "64m",
            "GRAPHMEM_NEO4J_FAST_START": "true",
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-P", "-m", *command],
            env=kept | ours | variables, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def _from_elsewhere(self, command: list[str]) -> str:
        """Run graphmem with the token as on another machine, which knows the host and its certificate."""
        self.elsewhere.mkdir(exist_ok=True)
        shutil.copyfile(_authority(self.services.volume("caddy")), self.elsewhere / "root.crt")
        machine = Container("another-machine", self.folder, Specification(
            below=Path("/"),
            command=[sys.executable, "-m", *command],
            environment={
                "PATH": PATH, "PYTHONPATH": str(REPOSITORY), "HOME": "/data", "GRAPHMEM_DATA_DIR": "/data",
                "SERVICE_BEARER_TOKEN": self.token, "SSL_CERT_FILE": "/data/root.crt",
            },
            directory="/data",
            volumes=[(self.elsewhere, "/data", True), SEEN],
            tmpfs=["/tmp"],
            hosts={DOMAIN: self.services.addresses["caddy"]["front"]},
        ))  # fmt: skip
        machine.start()
        assert machine.wait(READY_SECONDS) == 0, machine.output
        return machine.output

    @property
    def elsewhere(self) -> Path:
        """The directory of a machine that calls the service."""
        return self.folder / "elsewhere"

    def _run_caddy(self, file: str, variables: dict[str, str]) -> None:
        """Run Caddy on this machine, whose root it sees and cannot change."""
        assert self.own_proxy is None
        data = self.folder / "own-proxy"
        data.mkdir(exist_ok=True)
        program = shutil.which("caddy")
        assert program
        self.own_proxy = Container("caddy-of-the-machine", self.folder, Specification(
            below=Path("/"),
            command=[program, "run", "--config", file],
            environment={
                "PATH": PATH, "HOME": "/data", "XDG_CONFIG_HOME": "/data", "XDG_DATA_HOME": "/data",
                **variables,
            },
            directory=str(REPOSITORY),
            volumes=[(data, "/data", True), SEEN],
            tmpfs=["/tmp"],
            capabilities=range(64),
        ))  # fmt: skip
        self.own_proxy.start()
        self.until(lambda: self.own_client("").get("/health/ready").is_success)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. What cannot be reached yet does not."""
        end = time.monotonic() + READY_SECONDS
        while True:
            with contextlib.suppress(OSError, httpx.TransportError):
                if condition():
                    return
            own = self.own_proxy
            assert time.monotonic() < end, own.output if own else "what was waited for did not come"
            time.sleep(0.2)

    def stop_on_the_machine(self) -> Iterator[tuple[int, str]]:
        """Stop what lines started on this machine; yield the exit code and the output of each program."""
        if self.own_proxy is not None:
            self.own_proxy.kill()
            self.own_proxy = None
        while self._programs:
            process = self._programs.pop()
            process.terminate()
            printed, _ = process.communicate()
            yield process.returncode, printed

    def _fill_in(self) -> None:
        """Copy env.example, and set in it what docs/team.md and docs/containers.md have set."""
        text = (DOCKER / "env.example").read_text()
        for name, value in {
            "SERVICE_BEARER_TOKEN": f"token-of-the-tests-{secrets.token_hex(16)}",
            "NEO4J_PASSWORD": secrets.token_urlsafe(16),
            "PUBLIC_URL": f"https://{DOMAIN}", "DOMAIN": DOMAIN,
            "OBJECTS_BUCKET": "graphmem", "OBJECTS_ENDPOINT": "http://objects:7070",
            "S3_ACCESS_KEY": ACCESS_KEY, "S3_SECRET_KEY": secrets.token_urlsafe(16),
            "UPSTREAMS": "graphmem:3080 second:3080",
            "NEO4J_HEAP": "512m", "NEO4J_PAGE_CACHE": "128m",
        }.items():  # fmt: skip
            text, places = re.subn(rf"^(# )?{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
            assert places == 1, name
        (self.folder / ".env").write_text(text)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.variables = dict(line.split("=", 1) for line in lines)

    def _compose(self, words: list[str]) -> str:
        profiles = {"two"}
        while words[0] == "--profile":
            profiles.add(words[1])
            words = words[2:]
        if words[0] == "up":
            assert words[1:] == ["--detach", "--wait"]
            self.up(*profiles)
        elif words[0] == "exec":
            service, *command = [word for word in words[1:] if word != "-T"]
            stdin = Path(os.devnull)
            if "<" in command:
                stdin, command = self.folder / command[-1], command[:-2]
            return self.execute(service, *command, stdin=stdin)
        elif words[0] == "cp":
            (_, _, source), target = words[1].partition(":"), self.folder / words[2]
            shutil.copytree(self.services.volume("graphmem") / source.removeprefix("/data/"), target)
        else:
            raise AssertionError(f"nobody has tried this line: {shlex.join(words)}")
        return ""

    def up(self, *profiles: str) -> None:
        """Start it all, with the volumes that are there."""
        self.composition = Composition(self.folder, self._image, self.variables, *profiles)
        self.composition.up()

    def execute(self, service: str, *command: str, stdin: Path = Path(os.devnull)) -> str:
        """Run a command in a container; return what it printed."""
        done = self.services.containers[service].execute(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def key(self, name: str) -> str:
        """Return the key of a name that the last line of ``auth keys create`` printed which made one."""
        (line,) = (line for line in self.printed if line.endswith(f"auth keys create {name}"))
        return matched(SECRET, self.printed[line])

    def client(self, token: str, service: str | None = None, address: str | None = None) -> httpx.Client:
        """Return a client with a credential: by TLS of the proxy, or at the address of a service.

        ``address`` is that of the caller. By default it is the one of this machine in the network.
        """
        if service:
            url = f"http://{self.services.addresses[service]['front']}:3080"
            return self._kept(token, url, httpx.HTTPTransport(local_address=address))
        proxy = self.services.addresses["caddy"]["front"]
        return self._kept(
            token, f"https://{DOMAIN}", self._by_tls(proxy, self.services.volume("caddy"), address)
        )

    def own_client(self, token: str, address: str | None = None) -> httpx.Client:
        """Return a client of the proxy that a line started on this machine."""
        transport = self._by_tls("127.0.0.1", self.folder / "own-proxy", address)
        return self._kept(token, f"https://{DOMAIN}", transport)

    @staticmethod
    def _by_tls(proxy: str, data: Path, address: str | None) -> ToProxy:
        trusted = ssl.create_default_context(cafile=_authority(data))
        return ToProxy(proxy, verify=trusted, local_address=address)

    def _kept(self, token: str, url: str, transport: httpx.HTTPTransport) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = httpx.Client(base_url=url, transport=transport, headers=headers, timeout=70.0)
        self._clients.append(client)
        return client

    @property
    def token(self) -> str:
        return self.variables["SERVICE_BEARER_TOKEN"]

    def close(self) -> None:
        """Kill all that runs."""
        for client in self._clients:
            client.close()
        for _ in self.stop_on_the_machine():
            pass
        if self.composition is not None:
            self.composition.kill()
