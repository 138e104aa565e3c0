"""A team's instance: the lines of docs/team.md, run on containers without an engine."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.support.composition import DOCKER, Composition
from tests.support.images import Image

DOMAIN = "memory.localhost"
"""Stands for memory.example.org: for a name below localhost, Caddy signs the certificate itself."""
COMPOSE = ["docker", "compose", "-f", "docker/compose.yaml"]
ACCESS_KEY = "graphmem-tests"


SECRET = r"\bgm_\w\w_[\w-]{20,}"
"""How a key looks."""


def matched(pattern: str, text: str) -> str:
    """Return what a pattern matches in a text, where it must be."""
    match = re.search(pattern, text)
    assert match, text
    return match[0]


class ToProxy(httpx.HTTPTransport):
    """Sends what is for the domain to the proxy's address, as a name server would have it."""

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
        printed: what each line of ``exec`` printed, by its words.
    """

    def __init__(self, image: Image, folder: Path) -> None:
        self._image, self.folder = image, folder
        self.variables: dict[str, str] = {}
        self.composition: Composition | None = None
        self.printed: dict[str, str] = {}
        self._clients: list[httpx.Client] = []

    @property
    def services(self) -> Composition:
        assert self.composition is not None, "nothing was started"
        return self.composition

    def run(self, lines: Sequence[str]) -> None:
        """Run lines of a shell that name docker, cp or curl; any other one is a mistake."""
        for line in lines:
            self._run(shlex.split(line.replace("memory.example.org", DOMAIN), comments=True))

    def _run(self, words: list[str]) -> None:
        if words == ["cp", "docker/env.example", "docker/.env"]:
            self._fill_in()
        elif words[0] == "chmod":
            (self.folder / ".env").chmod(int(words[1], 8))
        elif words[0] == "curl":
            assert self.client("").get(words[-1]).is_success
        elif words[: len(COMPOSE)] == COMPOSE:
            self._compose(words[len(COMPOSE) :])
        else:
            raise AssertionError(f"nobody has tried this line: {shlex.join(words)}")

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

    def _compose(self, words: list[str]) -> None:
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
            self.printed[shlex.join(command)] = self.execute(service, *command, stdin=stdin)
        elif words[0] == "cp":
            (_, _, source), target = words[1].partition(":"), self.folder / words[2]
            shutil.copytree(self.services.volume("graphmem") / source.removeprefix("/data/"), target)
        else:
            raise AssertionError(f"nobody has tried this line: {shlex.join(words)}")

    def up(self, *profiles: str) -> None:
        """Start it all, with the volumes that are there."""
        self.composition = Composition(self.folder, self._image, self.variables, *profiles)
        self.composition.up()

    def execute(self, service: str, *command: str, stdin: Path = Path(os.devnull)) -> str:
        """Run a command in a container; return what it printed."""
        done = self.services.containers[service].execute(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def key(self, line: str) -> str:
        """Return the key that a line of ``auth keys create`` printed."""
        return matched(SECRET, self.printed[line])

    def client(self, token: str, service: str | None = None) -> httpx.Client:
        """Return a client with a credential: by TLS of the proxy, or at the address of a service."""
        if service:
            url = f"http://{self.services.addresses[service]['front']}:3080"
            transport = httpx.HTTPTransport()
        else:
            url, proxy = f"https://{DOMAIN}", self.services.addresses["caddy"]["front"]
            root = self.services.volume("caddy") / "caddy" / "pki" / "authorities" / "local" / "root.crt"
            transport = ToProxy(proxy, verify=ssl.create_default_context(cafile=root))
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
        if self.composition is not None:
            self.composition.kill()
