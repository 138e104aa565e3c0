"""The committed list of an engine's jars: what is fetched, how large it is and what its SHA-256 must be.

One file ``engine-<version>.lock.toml`` per supported Neo4j lies beside this module; ``relock.py`` makes them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphmem.errors import ConfigurationInvalid

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Jar:
    """One file of the class path; ``size`` in bytes, ``classifier`` empty for most."""

    group: str
    artifact: str
    version: str
    classifier: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """Return the file name, which is unique within a lock."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


@dataclass(frozen=True)
class Lock:
    """An engine: its exact release, the class that starts it, and its jars in class-path order."""

    release: str
    main: str
    jars: tuple[Jar, ...]


def versions() -> list[str]:
    """Return the Neo4j versions that this graphmem can fetch, e.g. ``["5.26"]``."""
    return sorted(path.name.removeprefix("engine-").removesuffix(".lock.toml") for path in _files())


@cache
def read(version: str) -> Lock:
    """Read the lock of a Neo4j version.

    Raises:
        ConfigurationInvalid: there is none for this version; the message names those that there are.
    """
    if version not in versions():
        raise ConfigurationInvalid(
            f"there is no embedded Neo4j {version}: set GRAPHMEM_NEO4J_VERSION to one of "
            f"{', '.join(versions())}, or NEO4J_URI to a server of your own",
            setting="GRAPHMEM_NEO4J_VERSION",
            allowed=versions(),
        )
    data = tomllib.loads((HERE / f"engine-{version}.lock.toml").read_text())
    jars = [_jar(coordinates, **facts) for coordinates, facts in data["jars"].items()]
    # By file name: Java uses its archive of classes only if a jar comes before those whose manifest names it.
    return Lock(data["engine"]["release"], data["engine"]["main"], tuple(sorted(jars, key=lambda j: j.name)))


def _files() -> list[Path]:
    return list(HERE.glob("engine-*.lock.toml"))


def _jar(coordinates: str, size: int, sha256: str) -> Jar:
    group, artifact, version, *classifier = coordinates.split(":")
    return Jar(group, artifact, version, "".join(classifier), size, sha256)
