"""Neo4j over TLS with certificates of its own, and by the routing protocol, which one server answers too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from graphmem.errors import GraphmemError
from graphmem.neo4j_local import config
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.support.database import database
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.tls_server import Authority

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
ADVERTISED = re.compile("(server.bolt.advertised_address=).*")
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*", re.DOTALL)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def encrypted(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings that reach a Neo4j whose address is that of a certificate."""
    authority.server_context("localhost")
    both = (authority.file.parent / "localhost.pem").read_text()
    folder = tmp_path_factory.mktemp("certificates")
    (match,) = CERTIFICATE.findall(both)
    (folder / "private.key").write_text(both.replace(match, ""))
    (folder / "public.crt").write_text(match)
    neo4j_conf = config.neo4j_conf

    def with_tls(settings: Settings, bolt_port: int, http_port: int) -> str:
        policy = "dbms.ssl.policy.bolt"
        lines = (
            ADVERTISED.sub(rf"\1localhost:{bolt_port}", neo4j_conf(settings, bolt_port, http_port)),
            "server.bolt.tls_level=OPTIONAL", f"{policy}.enabled=true",
            f"{policy}.client_auth=NONE", f"{policy}.base_directory={folder}",
            f"{policy}.private_key=private.key", f"{policy}.public_certificate=public.crt", "",
        )  # fmt: skip
        return "\n".join(lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "neo4j_conf", with_tls)
        with database(tmp_path_factory.mktemp("encrypted"), shared=False) as reached:
            yield reached


def at(settings: Settings, scheme: str) -> Settings:
    port = str(settings.neo4j_uri).rpartition(":")[2]
    return settings.model_copy(update={"neo4j_uri": f"{scheme}://localhost:{port}"})


@pytest.mark.parametrize("scheme", ["neo4j", "neo4j+ssc", "neo4j+s", "bolt+ssc", "bolt+s"])
def test_what_is_stored_is_read_by_each_kind_of_address(
    encrypted: Settings, authority: Authority, loop: Loop, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the operating system does not trust the authority, the driver takes its file from here.
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    opening = open_services(at(encrypted, scheme))
    services = loop.run(opening.__aenter__())
    try:
        run = by_runner(loop, services, f"owner-{scheme}")
        stored = run("store", entities=[ADA])["entities"][0]["entity_id"]
        (found,) = run("entities.find", identifier="ada@example.org")["entities"]
        assert found["entity_id"] == stored
        run("entities.correct", entity_id=stored, field="born", value=1815)
        assert run("entities.snapshot", entity_id=stored)["snapshot"]["born"] == 1815
        assert run("server.check_snapshots")["healthy"]
    finally:
        loop.run(opening.__aexit__(None, None, None))


@pytest.mark.parametrize("scheme", ["neo4j+s", "bolt+s"])
def test_a_certificate_that_nobody_vouches_for_is_refused(
    encrypted: Settings, loop: Loop, scheme: str
) -> None:
    opening = open_services(at(encrypted, scheme), remote_seconds=1.0)
    with pytest.raises(GraphmemError):
        loop.run(opening.__aenter__())
