"""What signs on this machine: the client, the wire to the local service, the commands that make keys."""

from __future__ import annotations

import asyncio
import json
import socketserver
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends import fail
from typer.testing import CliRunner

from graphmem.auth import Actor
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.cli.main import app
from graphmem.client import Client
from graphmem.client.agent_signing import AgentSigner, keep_key, read_key
from graphmem.client.logins import Login, Logins, Secrets
from graphmem.errors import AgentSignatureInvalid, CredentialsRefused, ServiceUnreachable
from graphmem.service import wire
from graphmem.settings import load
from tests.support.agents import ISSUER, Request, Service


class Recorder:
    """A server of HTTP that keeps the requests that it gets, and answers ``{}`` or what ``statuses`` say."""

    def __init__(self, server: type[socketserver.TCPServer], address: Any) -> None:
        recorder = self
        self.requests: list[Request] = []
        self.statuses: list[int] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                path, _, query = self.path.partition("?")
                fields = [(name.lower(), value) for name, value in self.headers.items()]
                recorder.requests.append(Request(self.command, path, query, body, fields))
                status = recorder.statuses.pop(0) if recorder.statuses else 200
                self.send_response(status)
                self.send_header("Content-Length", "2")
                if status == 401:
                    self.send_header("Signature-Error", "error=invalid_signature")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def address_string(self) -> str:
                return "socket"

        self.server = server(address, Handler)
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    @property
    def port(self) -> int:
        address: Any = self.server.server_address
        return address[1]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder(socketserver.TCPServer, ("127.0.0.1", 0))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    for name in ("KEY", "TOKEN", "SUBJECT"):
        monkeypatch.delenv(f"GRAPHMEM_AGENT_{name}", raising=False)
    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PrivateAgentKey:
    """The key that the environment names."""
    key = PrivateAgentKey.generated("Ed25519")
    keep_key(str(tmp_path / "key.json"), key)
    monkeypatch.setenv("GRAPHMEM_AGENT_KEY", str(tmp_path / "key.json"))
    return key


def signer_of(request: Request, address: str, service: Service | None = None) -> Actor:
    return asyncio.run((service or Service(address)).actor(request))


def test_the_client_signs_each_request(recorder: Recorder, key: PrivateAgentKey) -> None:
    address = f"http://127.0.0.1:{recorder.port}"
    with Client(address, None) as client:
        client.call(("POST", "/store"), {"entities": []})
        client.call(("GET", "/entities/{entity_id}"), {"entity_id": "a b/ü", "at": "x y", "n": 1})
        client.call(("POST", "/store"), {"entities": []})
    service = Service(address)
    for request in recorder.requests:
        assert signer_of(request, address, service).agent == key.public.thumbprint
    assert len({request.get("signature") for request in recorder.requests}) == 3


def test_nothing_is_signed_without_a_key(recorder: Recorder) -> None:
    with Client(f"http://127.0.0.1:{recorder.port}", None) as client:
        client.call(("POST", "/store"), {})
    assert not [name for name, _ in recorder.requests[0].headers if name.startswith("signature")]


def test_an_agent_sends_its_token_or_its_name(
    recorder: Recorder, key: PrivateAgentKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{recorder.port}"
    service = Service(address)
    monkeypatch.setenv("GRAPHMEM_AGENT_SUBJECT", "aauth:planner@example.org")
    with Client(address, None) as client:
        client.call(("POST", "/store"), {})
    named = signer_of(recorder.requests[0], address, service).signer
    assert named is not None
    assert (named.claimed_issuer, named.claimed_subject) == (
        "https://example.org",
        "aauth:planner@example.org",
    )
    token = tmp_path / "token"
    token.write_text(service.issuer.token(key, service.now) + "\n")
    monkeypatch.setenv("GRAPHMEM_AGENT_TOKEN", str(token))
    with Client(address, None) as client:
        client.call(("POST", "/store"), {})
    issued = signer_of(recorder.requests[1], address, service).signer
    assert issued is not None
    assert (issued.tier, issued.issuer) == ("operator_attested", ISSUER)


def test_requests_over_the_socket_are_signed_for_it(tmp_path: Path, key: PrivateAgentKey) -> None:
    made = Recorder(socketserver.UnixStreamServer, str(tmp_path / "s"))
    agent = AgentSigner.configured(load())
    assert agent is not None
    wire.send(tmp_path / "s", wire.request_of(("POST", "/mcp/core"), {"name": "\ud800"}), sign=agent.headers)
    wire.send(tmp_path / "s", wire.request_of(("GET", "/stats"), {}), sign=agent.headers)
    made.close()
    for request in made.requests:
        assert signer_of(request, wire.SOCKET_URL).agent == key.public.thumbprint
    with pytest.raises(AgentSignatureInvalid):
        signer_of(made.requests[0], "http://127.0.0.1:3080")


@pytest.mark.parametrize("algorithm", ["Ed25519", "ES256"])
@pytest.mark.parametrize("name", ["planner", "file"])
def test_keygen_keeps_a_key_that_only_its_user_may_read(tmp_path: Path, algorithm: str, name: str) -> None:
    name = str(tmp_path / "key.json") if name == "file" else name
    made = CliRunner().invoke(app, ["auth", "keygen", name, "--algorithm", algorithm, "--json"])
    assert made.exit_code == 0, made.output
    answer = json.loads(made.stdout)
    key = read_key(name)
    assert (answer["thumbprint"], answer["algorithm"]) == (key.public.thumbprint, algorithm)
    assert key.jwk["d"] not in made.output
    files = [tmp_path / "key.json"] if name != "planner" else [*Logins().folder.glob("*.json")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600]
    assert Logins().all() == []
    again = CliRunner().invoke(app, ["auth", "keygen", name])
    assert again.exit_code != 0
    assert "already" in again.output
    assert read_key(name).public.thumbprint == key.public.thumbprint


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kty": "oct", "k": "AA"}'])
def test_a_file_that_is_no_key_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(CredentialsRefused, match="no private JSON Web Key"):
        read_key(str(path))


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    keep_key(str(path), PrivateAgentKey.generated("ES256"))
    path.chmod(0o640)
    with pytest.raises(CredentialsRefused, match="chmod 600"):
        read_key(str(path))
    with pytest.raises(CredentialsRefused, match="cannot be read"):
        read_key(str(tmp_path / "absent.json"))
    with pytest.raises(CredentialsRefused, match="keygen"):
        read_key("absent")


def test_a_refused_signature_does_not_renew_a_login(recorder: Recorder, key: PrivateAgentKey) -> None:
    address = f"http://127.0.0.1:{recorder.port}"
    login = Login(address, "oauth", Secrets("token", "refresh"), token_endpoint=f"{address}/token")
    recorder.statuses = [401]
    with Client(address, None, login=login) as client, pytest.raises(ServiceUnreachable):
        client.call(("POST", "/store"), {})
    assert [request.path for request in recorder.requests] == ["/store"]


def test_the_example_is_signed_rightly(key: PrivateAgentKey) -> None:
    words = ["auth", "sign-example", "--base-url", "https://mem.example"]
    shown = CliRunner().invoke(app, words)
    assert '"@method": POST' in shown.stdout
    assert key.jwk["d"] not in shown.output
    example = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    headers = [(name.lower(), value) for name, value in example["headers"].items()]
    request = Request(example["method"], "/store", body=example["body"].encode(), headers=headers)
    assert signer_of(request, "https://mem.example").agent == key.public.thumbprint
