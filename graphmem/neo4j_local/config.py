"""The server's configuration, written at every start: neo4j.conf, Java options, variables, first password."""

import hashlib
import os
import secrets
from pathlib import Path

from graphmem.settings import Settings

HASH_ROUNDS = 1024

# Java packages that Neo4j's own start scripts open as well. Without access to them Neo4j uses slower code.
OPENED_PACKAGES = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")

# With its first compiler alone, Java reserves 48 MB for compiled code. A Neo4j that runs many queries fills
# them, and then procedures fail. Reserved memory is taken only as it is used.
FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")

# Environment variables that the server inherits. It outlives the command that started it, so it must not keep
# the command's secrets.
INHERITED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def neo4j_conf(settings: Settings, bolt_port: int, http_port: int) -> str:
    template = Path(__file__).with_name("neo4j.conf").read_text("utf-8")
    return template.format(settings=settings, bolt_port=bolt_port, http_port=http_port)


def java_options(settings: Settings, home: Path, class_path: list[Path]) -> list[str]:
    """Return the options of the Java virtual machine. The serial collector takes 430 MB of resident memory
    when idle and G1 650 MB (5.26, heap 512m). It also starts faster."""
    return [
        f"-Xms{settings.neo4j_heap}",
        f"-Xmx{settings.neo4j_heap}",
        "-XX:+UseSerialGC",
        *(FAST_START if settings.neo4j_fast_start else []),
        "-XX:+ExitOnOutOfMemoryError",  # a restart is better than a server in a broken state
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:+DisableExplicitGC",
        "-XX:-UsePerfData",
        *module_options(),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "-Djava.awt.headless=true",
        "-Dfile.encoding=UTF-8",
        f"-Djava.io.tmpdir={home / 'run' / 'tmp'}",
        "-cp",
        os.pathsep.join(str(path) for path in class_path),
    ]


def module_options() -> list[str]:
    return [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES]


def argument_file(options: list[str]) -> str:
    """Return the text of a Java ``@file``. It keeps 30 kB of class path out of the process list."""
    quoted = (option.replace("\\", "\\\\").replace('"', '\\"') for option in options)
    return "".join(f'"{option}"\n' for option in quoted)


def environment() -> dict[str, str]:
    """Return the server's environment: no secrets, and no Java or Neo4j options of the caller."""
    return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}


def auth_ini(password: str) -> str:
    """Return the text of ``data/dbms/auth.ini`` for the first start: the salted hash of the password.

    ``neo4j-admin dbms set-initial-password`` writes the same file, but takes the password as an argument: for
    a second every user of the machine could read it in the process list.
    """
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(salt + password.encode()).digest()
    for _ in range(HASH_ROUNDS - 1):
        digest = hashlib.sha256(digest).digest()
    return f"neo4j:SHA-256,{digest.hex()},{salt.hex()},{HASH_ROUNDS}:"
