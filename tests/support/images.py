"""The image of the service, as ``make image`` builds it with buildah, over a base of Debian's packages."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import containers

REPOSITORY = Path(__file__).parents[2]
BASE = "localhost/graphmem-base"
PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates,passwd"
OWN_FILES = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""With which pip of this machine reaches its index."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its root, its configuration as Docker writes it, and how long it took."""

    root: Path
    configuration: dict[str, Any]
    seconds: float
    log: str

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.configuration["Env"])

    @property
    def command(self) -> list[str]:
        return [*self.configuration["Entrypoint"], *self.configuration["Cmd"]]

    @property
    def health_check(self) -> list[str]:
        word, *command = self.configuration["Healthcheck"]["Test"]
        assert word == "CMD"
        return command


def lacking() -> str | None:
    """Return why no image can be built and run here, ``None`` where it can."""
    missing = [tool for tool in ("buildah", "debootstrap", "make") if shutil.which(tool) is None]
    if missing:
        return f"there is no {', '.join(missing)} here: apt-get install {' '.join(missing)}"
    return containers.lacking()


class _Store:
    """A store of images in a folder, apart from that of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        settings = folder / "storage.conf"
        settings.write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder / "store"}"\nrunroot = "{folder / "run"}"\n'
        )
        # Without namespaces, which a build inside of a container may not make.
        self.environment = {"CONTAINERS_STORAGE_CONF": str(settings), "BUILDAH_ISOLATION": "chroot"}

    def run(self, *words: str) -> str:
        """Run a command on the store, and return what it prints."""
        environment = os.environ | self.environment
        done = subprocess.run(words, env=environment, cwd=REPOSITORY, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
        return f"{done.stdout}{done.stderr}" if words[0] == "make" else done.stdout.strip()


@contextlib.contextmanager
def built(folder: Path) -> Iterator[Image]:
    """Build the image in a folder, which is emptied at the end."""
    store = _Store(folder)
    container = ""
    try:
        _make_base(store)
        begun = time.monotonic()
        options = f"IMAGE_OPTIONS=--build-arg BASE={BASE}"
        log = store.run("make", "--no-print-directory", "image", "ENGINE=buildah", options)
        seconds = time.monotonic() - begun
        inspected = json.loads(store.run("buildah", "inspect", "--type", "image", "localhost/graphmem"))
        container = store.run("buildah", "from", "localhost/graphmem")
        root = Path(store.run("buildah", "mount", container))
        yield Image(root, inspected["Docker"]["config"], seconds, log)
    finally:
        store.run("buildah", "rm", "--all")
        store.run("buildah", "rmi", "--all", "--force")
        with contextlib.suppress(AssertionError):
            store.run("umount", str(folder / "store" / "overlay"))
        shutil.rmtree(folder)


def _make_base(store: _Store) -> None:
    """Make the image that stands for Python's: of Debian's packages, as this machine gets them."""
    container = store.run("buildah", "from", "scratch")
    root = Path(store.run("buildah", "mount", container))
    suite = _of_this_machine("VERSION_CODENAME")
    store.run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(root))
    for name in OWN_FILES:
        if Path(name).exists():
            shutil.copyfile(name, root / name[1:])
    store.run("buildah", "config", "--env", f"PATH={PATH}", container)
    store.run("buildah", "commit", "--rm", container, BASE)


def _of_this_machine(name: str) -> str:
    lines = Path("/etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)[name].strip('"')
