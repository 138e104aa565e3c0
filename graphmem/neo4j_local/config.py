"""What the server is told: neo4j.conf, the Java options, its environment, its first password.

All of it is written anew at every start, so that a changed setting holds from the next start on.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from graphmem.settings import Settings

HASH_ROUNDS = 1024

# Small new parts of a full-text or vector index are kept on the heap in blocks that no vector fits into: they
# are read byte by byte, and a search by meaning takes five times as long as from a file. Up to 5 MB, the
# default, is thousands of vectors; with nothing at all a store of one entity would write a dozen files.
INDEX_FILES = {
    "org.neo4j.kernel.api.impl.index.storage.DirectoryFactory.max_cached_mb": 16,
    "org.neo4j.kernel.api.impl.index.storage.DirectoryFactory.max_merge_size_mb": 1,
}

# Neo4j's own start scripts open these packages to it; without them it falls back to slower code.
OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")

# The server lives on after the command that started it, so it must not keep that command's secrets.
ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def neo4j_conf(settings: Settings, bolt_port: int, http_port: int) -> str:
    """Return the text of neo4j.conf: loopback only, bounded memory, nothing that speaks to strangers."""
    lines = {
        "server.default_listen_address": "127.0.0.1",
        "server.default_advertised_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{bolt_port}",
        "server.bolt.advertised_address": f"127.0.0.1:{bolt_port}",
        "server.http.listen_address": f"127.0.0.1:{http_port}",
        "server.http.advertised_address": f"127.0.0.1:{http_port}",
        "server.http_enabled_modules": "BROWSER",  # neither the query interface nor extensions
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",  # LOAD CSV fetches nothing either
        "dbms.usage_report.enabled": "false",
        "db.logs.query.enabled": "OFF",  # it would hold what people store
        "server.memory.pagecache.size": settings.neo4j_page_cache,
        "db.memory.transaction.max": "128m",  # else two greedy queries fail everybody's reads
        "db.transaction.timeout": "30s",
        "db.lock.acquisition.timeout": "10s",
        "db.tx_log.rotation.retention_policy": "1 days 256M",
        # Every commit adds a part to a full-text or vector index, and a search asks all parts. Merged by twos
        # and fifties, as they else are, words are copied too often and vectors lie in too many parts.
        "internal.dbms.index.lucene.merge_factor": "4",
        "internal.dbms.index.vector.standard_merge_factor": "8",
        # Else a stop waits twice 5 s for connections that were closed already.
        "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def java_options(settings: Settings, home: Path, class_path: list[Path]) -> list[str]:
    """Return the options of the Java virtual machine.

    The serial collector: 430 MB resident when idle where G1 takes 650 (5.26, heap 512m), and faster to start.
    """
    return [
        f"-Xms{settings.neo4j_heap}",
        f"-Xmx{settings.neo4j_heap}",
        "-XX:+UseSerialGC",
        *(["-XX:TieredStopAtLevel=1"] if settings.neo4j_fast_start else []),
        "-XX:+ExitOnOutOfMemoryError",  # down and started again is better than half alive
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:+DisableExplicitGC",
        "-XX:-UsePerfData",
        *module_options(),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "-Djava.awt.headless=true",
        "-Dfile.encoding=UTF-8",
        *(f"-D{name}={value}" for name, value in INDEX_FILES.items()),
        f"-Djava.io.tmpdir={home / 'run' / 'tmp'}",
        "-cp",
        os.pathsep.join(str(path) for path in class_path),
    ]


def module_options() -> list[str]:
    """Return the options that open packages of Java to Neo4j."""
    return [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]


def argument_file(options: list[str]) -> str:
    """Return options as a Java ``@file``, which keeps 30 kB of class path out of the process list."""
    quoted = (option.replace("\\", "\\\\").replace('"', '\\"') for option in options)
    return "".join(f'"{option}"\n' for option in quoted)


def environment() -> dict[str, str]:
    """Return the few variables that the server inherits: no secret, and nobody's Java or Neo4j options."""
    return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}


def auth_ini(password: str) -> str:
    """Return what ``data/dbms/auth.ini`` holds before the first start: the salted hash of the password.

    It is what ``neo4j-admin dbms set-initial-password`` writes; that program takes the password as an
    argument, where every user of the machine can read it for a second.
    """
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(salt + password.encode()).digest()
    for _ in range(HASH_ROUNDS - 1):
        digest = hashlib.sha256(digest).digest()
    return f"neo4j:SHA-256,{digest.hex()},{salt.hex()},{HASH_ROUNDS}:"
