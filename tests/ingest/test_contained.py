"""file_path: what a caller names is read only below the chosen directories, whatever stands there."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem.errors import FileIsDirectory, FilePathRefused, FileUnreadable, GraphmemError
from graphmem.storing.received_files import open_contained
from tests.support.walks import walk_over

SECRET = b"SECRET"
RACE_SECONDS = 2.0


@pytest.fixture
def world(tmp_path: Path) -> tuple[Path, Path]:
    """A root with all that an attacker can put there, and a directory outside with a secret."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "in/deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    (root / "in/a.txt").write_bytes(b"ok")
    (root / "in/deep/b").write_bytes(b"ok2")
    (root / "in/ä b.txt").write_bytes(b"ok3")
    (root / "in/link").symlink_to(outside / "secret")
    (root / "in/near").symlink_to("a.txt")
    (root / "in/dlink").symlink_to(outside)
    (root / "in/dnear").symlink_to("deep")
    (root / "env").symlink_to("/proc/self/environ")
    os.mkfifo(root / "in/fifo")
    os.link(outside / "secret", root / "in/hard")
    evil = tmp_path / "root-evil"
    evil.mkdir()
    (evil / "x").write_bytes(SECRET)
    return root, outside


def outcome(path: str, *roots: Path) -> Any:
    """Return what a path reads, or the class of the error."""
    try:
        with open_contained(path, list(map(str, roots))) as file:
            return file.read(100)
    except GraphmemError as exc:
        return type(exc)


ALLOWED = {"in/a.txt": b"ok", "in/deep/b": b"ok2", "in/ä b.txt": b"ok3"}
REFUSED = [
    "../outside/secret", "/etc/passwd", "in/link", "in/near", "in/dlink/secret", "in/dnear/b", "env",
    "in/hard", "in/fifo", "in//a.txt", "in/./a.txt", "in/../in/a.txt", "in/a.txt/", "in/a.txt\0.png",
    "/proc/self/environ", "~/x", "file:///etc/passwd", "../root-evil/x", "in/missing", "in/a.txt/x", "", ".",
    "..", "/", "x" * 5_000, "in/" + "y" * 300, "\ud800",
]  # fmt: skip


@walk_over("path", REFUSED)
def test_what_is_not_plainly_a_file_below_the_root_is_refused_alike(
    world: tuple[Path, Path], path: str
) -> None:
    root, _ = world
    assert outcome(path, root) is FilePathRefused
    if path and not path.startswith("/"):
        assert outcome(f"{root}/{path}", root) is FilePathRefused


def test_a_file_below_a_root_is_read_by_both_kinds_of_paths(world: tuple[Path, Path]) -> None:
    root, outside = world
    for path, data in ALLOWED.items():
        assert outcome(path, root) == outcome(f"{root}/{path}", root) == data
        assert outcome(path, outside, root) == data
        assert outcome(path) is FilePathRefused
    for path in (f"{outside}/secret", f"{root}-evil/x"):
        assert outcome(path, root) is FilePathRefused


def test_a_refusal_says_nothing_about_the_path(world: tuple[Path, Path]) -> None:
    root, _ = world
    refusals: set[tuple[str, str]] = set()
    for path in REFUSED:
        with pytest.raises(FilePathRefused) as refused:
            open_contained(path, [str(root)])
        refusals.add((str(refused.value), str(refused.value.details)))
    assert len(refusals) == 1


def test_a_directory_and_an_unreadable_file_below_a_root_have_codes_of_their_own(
    world: tuple[Path, Path],
) -> None:
    root, _ = world
    assert outcome("in", root) is outcome("in/deep", root) is FileIsDirectory
    (root / "in/a.txt").chmod(0)
    (root / "in/deep").chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    assert outcome("in/a.txt", root) is FileUnreadable
    assert outcome("in/deep/b", root) is FilePathRefused


def test_devices_and_sockets_are_refused_at_once(world: tuple[Path, Path]) -> None:
    root, _ = world
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(root):
        listener.bind("socket")
        begin = time.monotonic()
        assert outcome("socket", root) is outcome("in/fifo", root) is FilePathRefused
        assert outcome("/dev/null", Path("/dev")) is outcome("null", Path("/dev")) is FilePathRefused
        # Whoever opens the pipe waits for ever.
        assert time.monotonic() - begin < 30


@contextlib.contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """Swap a file and a directory with links that lead outside, as fast as possible."""
    stop = threading.Event()
    (root / "d/real").mkdir(parents=True)
    (root / "d/real/secret").write_bytes(b"ok")
    (root / "d/f").write_bytes(b"ok")

    def swap() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                (root / "d/t").symlink_to(outside / "secret")
                (root / "d/t").rename(root / "d/f")
                (root / "d/u").write_bytes(b"ok")
                (root / "d/u").rename(root / "d/f")
                (root / "d/real").rename(root / "d/way")
                (root / "d/way").rename(root / "d/real")
                (root / "d/real").rename(root / "d/aside")
                (root / "d/real").symlink_to(outside)
                (root / "d/real").unlink()
                (root / "d/aside").rename(root / "d/real")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_race_of_links_never_leads_outside(world: tuple[Path, Path]) -> None:
    root, outside = world
    seen: dict[Any, int] = {}
    with swapping(root, outside):
        end = time.monotonic() + RACE_SECONDS
        while time.monotonic() < end:
            for path in ("d/f", "d/real/secret"):
                result = outcome(path, root)
                seen[result] = seen.get(result, 0) + 1
    assert set(seen) <= {b"ok", FilePathRefused}
    assert min(seen[b"ok"], seen[FilePathRefused]) > 10, seen
