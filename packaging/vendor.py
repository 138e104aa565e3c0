"""Fetch what the page takes from others, as ``graphmem/api/page/vendor/vendored.toml`` names it, by hash.

A file whose hash is another one is refused, and the one that is there stays. For another version, change the
version and the hash in the list.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LIST = ROOT / "graphmem/api/page/vendor/vendored.toml"


def files() -> list[dict[str, Any]]:
    """Return the files of the list."""
    return tomllib.loads(LIST.read_text("utf-8"))["file"]


def fetched(package: str, version: str, member: str) -> bytes:
    """Return a file of a package of npm, as npm fetches it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["npm", "pack", "--silent", "--pack-destination", folder, f"{package}@{version}"]
        name = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as archive:
            found = archive.extractfile(f"package/{member}")
            assert found is not None, member
            return found.read()


def main() -> int:
    """Fetch every file; 1 if one of them is not what the list says."""
    for file in files():
        content = fetched(file["package"], file["version"], file["member"])
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            sys.stderr.write(f"{file['path']}: {file['package']} {file['version']} has another hash\n")
            return 1
        (ROOT / file["path"]).write_bytes(content)
        sys.stdout.write(f"{file['path']}: {file['package']} {file['version']}, {file['license']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
