"""A maintainer's tool: resolve the dependencies of a Neo4j release and write its lock.

    python -m tests.support.relock 5.26.30

writes ``engine-5.26.lock.toml`` into ``graphmem/neo4j_local/``. Every jar is downloaded once into a temporary
directory. Review the diff and run the tests afterwards.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from jgo.maven import Artifact, MavenContext

from graphmem.neo4j_local.jar_list import LOCK_DIRECTORY

ROOTS = ("org.neo4j:neo4j:{0}", "org.neo4j.app:neo4j-server:{0}", "org.neo4j.client:neo4j-browser:RELEASE")
OLD_MAIN_CLASSES = {"5": "org.neo4j.server.CommunityEntryPoint"}
"""The main class of older servers, by their major version. Later servers have ``MAIN_CLASS``."""
MAIN_CLASS = "org.neo4j.server.Neo4jCommunity"


def relock(release: str) -> Path:
    """Write the lock of a release such as ``5.26.30`` and return its path. It needs the network."""
    with tempfile.TemporaryDirectory() as scratch:
        context = MavenContext(repo_cache=Path(scratch), timeout=60)
        roots = [context.create_dependency(root.format(release)) for root in ROOTS]
        inputs, transitive = context.resolver.resolve(roots)
        needed = [
            *inputs,
            *(dependency for dependency in transitive if dependency.scope in ("compile", "runtime")),
        ]
        lines = {_line(dependency.artifact) for dependency in needed}
    path = LOCK_DIRECTORY / f"engine-{'.'.join(release.split('.')[:2])}.lock.toml"
    main = OLD_MAIN_CLASSES.get(release.partition(".")[0], MAIN_CLASS)
    head = (
        f"# Neo4j Community {release}: made by relock.py, not by hand. Sizes in bytes.\n\n"
        f'[engine]\nrelease = "{release}"\nmain = "{main}"\n\n[jars]\n'
    )
    path.write_text(head + "".join(sorted(lines)))
    return path


def _line(artifact: Artifact) -> str:
    content = artifact.resolve().read_bytes()
    group, name, version, classifier, _ = artifact.key
    coordinates = ":".join(filter(None, (group, name, version, classifier)))
    return (
        f'"{coordinates}" = {{ size = {len(content)}, sha256 = "{hashlib.sha256(content).hexdigest()}" }}\n'
    )


if __name__ == "__main__":
    sys.stdout.write(f"{relock(sys.argv[1])}\n")
