"""The lock of an engine: the committed list of its jars with their sizes and SHA-256.

Each supported Neo4j has a file ``engine-<version>.lock.toml`` beside this module, which
``tests/support/relock.py`` makes.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from graphmem.errors import ConfigurationInvalid

LOCK_DIRECTORY = Path(__file__).parent


class Jar(NamedTuple):
    """A file of the class path; ``size`` in bytes. Most jars have an empty ``classifier``."""

    group: str
    artifact: str
    version: str
    classifier: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


class Lock(NamedTuple):
    """An engine: its exact release, its main class, and its jars in class-path order."""

    release: str
    main: str
    jars: tuple[Jar, ...]


def versions() -> list[str]:
    """Return the Neo4j versions that this graphmem can fetch, e.g. ``["5.26"]``."""
    files = LOCK_DIRECTORY.glob("engine-*.lock.toml")
    return sorted(path.name.removeprefix("engine-").removesuffix(".lock.toml") for path in files)


@cache
def read(version: str) -> Lock:
    """Read the lock of a Neo4j version; ConfigurationInvalid names the versions that have one."""
    if version not in versions():
        raise ConfigurationInvalid(
            f"there is no embedded Neo4j {version}: set GRAPHMEM_NEO4J_VERSION to one of "
            f"{', '.join(versions())}, or NEO4J_URI to a server of your own",
            setting="GRAPHMEM_NEO4J_VERSION",
            allowed=versions(),
        )
    data = tomllib.loads((LOCK_DIRECTORY / f"engine-{version}.lock.toml").read_text())
    jars = []
    for coordinates, facts in data["jars"].items():
        group, artifact, number, *classifier = coordinates.split(":")
        jars.append(Jar(group, artifact, number, "".join(classifier), **facts))
    # By file name: Java uses its class archive only if a jar precedes every jar whose manifest names it.
    return Lock(
        data["engine"]["release"], data["engine"]["main"], tuple(sorted(jars, key=lambda jar: jar.name))
    )
