"""Becomes the first process of a container, or one more of it: what a container engine does, in few lines.

``container_init.py SPEC`` makes namespaces and the first process in them, tells its id, and ends as that
does. The process lays out the root file system, waits for a line on stdin, which says that the network is
there, and becomes the command of the specification. ``container_init.py SPEC COMMAND`` runs in the namespaces
of such a process, and becomes another command. It imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
DIE_WITH_PARENT, DROP_FROM_BOUNDS, NO_NEW_PRIVILEGES = 1, 24, 38
"""Of prctl."""
MOUNTS, NAMES, MESSAGES, PROCESSES, NETWORK = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
"""The namespaces of unshare."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def main() -> None:
    """Run the command of the specification, or the one that follows it."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    if command := sys.argv[2:]:
        become(spec, command)
    LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    namespaces = MOUNTS | NAMES | MESSAGES | PROCESSES | (NETWORK if spec["own_network"] else 0)
    if LIBC.unshare(namespaces):
        raise OSError(ctypes.get_errno(), "unshare")
    if first := os.fork():
        os.write(int(spec["report"]), f"{first}\n".encode())
        os.close(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) % 256)
    LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    lay_out(spec)
    sys.stdin.readline()
    become(spec, spec["command"])


def lay_out(spec: dict[str, Any]) -> None:
    """Mount the root: what is below, with a layer in memory above, and the volumes."""
    layer, root = Path(spec["layer"]), Path(spec["root"])
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "tmpfs", layer)
    for folder in (layer / "upper", layer / "work", root):
        folder.mkdir(exist_ok=True)
    options = f"lowerdir={spec['below']},upperdir={layer / 'upper'},workdir={layer / 'work'}"
    mount("-t", "overlay", "overlay", "-o", options, root)
    (root / "etc" / "hosts").unlink(missing_ok=True)
    (root / "etc" / "hosts").write_text(spec["hosts"])
    for name in ("proc", "dev", *(target[1:] for target in spec["tmpfs"])):
        (root / name).mkdir(parents=True, exist_ok=True)
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "dev")
    for device in DEVICES:
        (root / "dev" / device).touch()
        mount("--bind", f"/dev/{device}", root / "dev" / device)
    os.symlink("/proc/self/fd", root / "dev" / "fd")
    (root / "dev" / "shm").mkdir()
    for target in (*spec["tmpfs"], "/dev/shm"):
        mount("-t", "tmpfs", "-o", "mode=1777,nosuid,nodev,noexec", "tmpfs", root / target[1:])
    for source, target, writable in spec["volumes"]:
        place = root / target[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if Path(source).is_dir() else place.touch()
        mount("--bind", source, place)
        if not writable:
            mount("-o", "remount,ro,bind", place)
    if spec["read_only"]:
        mount("-o", "remount,ro", root)
        mount("-o", "remount,ro", root / "dev")


def mount(*words: str | Path) -> None:
    """Run mount."""
    subprocess.run(["mount", *map(str, words)], check=True)


def become(spec: dict[str, Any], command: list[str]) -> None:
    """Go into the root, give up all that the specification does not grant, and become the command."""
    os.chroot(spec["root"])
    os.chdir(spec["directory"])
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        if capability not in spec["capabilities"]:
            LIBC.prctl(DROP_FROM_BOUNDS, capability, 0, 0, 0)
    LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    user, group = map(int, spec["user"].split(":"))
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    os.environ["PATH"] = spec["environment"].get("PATH", os.defpath)
    os.execvpe(command[0], command, spec["environment"])


if __name__ == "__main__":
    main()
