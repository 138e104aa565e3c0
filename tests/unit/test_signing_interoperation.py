"""Agents of another maker: the library ``@hellocoop/httpsig`` signs for graphmem, and verifies what it signs.

It is installed into a temporary folder. Where there is no node, or no package, nothing is tested.
Its ``@query`` lacks the question mark of RFC 9421 (2.2.7), so that it covers a query by ``@target-uri``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graphmem.auth import Actor
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.client.agent_signing import AgentSigner
from tests.support.agents import Request, Service

PACKAGE = "@hellocoop/httpsig@2.2.0"
ADDRESS = "https://mem.example"
BODY = '{"a": 1}'
INSTALL_SECONDS = 60

SIGN = """
import { fetch } from '@hellocoop/httpsig';
const { url, method, body, signingKey, signatureKey } = JSON.parse(process.argv[2]);
const { headers } = await fetch(url, {
  method, ...(body ? { body } : {}), headers: { 'content-type': 'application/json' },
  signingKey, signatureKey, components: signatureKey.components, dryRun: true,
});
console.log(JSON.stringify([...headers]));
"""
VERIFY = """
import { verify } from '@hellocoop/httpsig';
const result = await verify(JSON.parse(process.argv[2]), { requireContentDigest: true });
console.log(JSON.stringify(result));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the library is installed."""
    folder = tmp_path_factory.mktemp("node")
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no node")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
    (folder / "package.json").write_text("{}")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("the library cannot be installed in time")
    if done.returncode:
        pytest.skip("the library cannot be installed")
    (folder / "sign.mjs").write_text(SIGN)
    (folder / "verify.mjs").write_text(VERIFY)
    return folder


def run(folder: Path, script: str, argument: dict[str, Any]) -> Any:
    command = ["node", script, json.dumps(argument)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("algorithm", ["Ed25519", "ES256"])
@pytest.mark.parametrize("scheme", ["hwk", "jwt"])
def test_what_the_library_signs_is_taken(folder: Path, algorithm: Any, scheme: str) -> None:
    service, key = Service(ADDRESS), PrivateAgentKey.generated(algorithm)
    token = {"jwt": service.issuer.token(key, service.now)} if scheme == "jwt" else {}
    for method, body, query in (("POST", BODY, ""), ("GET", "", ""), ("GET", "", "n=1&text=a%20b")):
        covered = ["@method", "@authority", "@target-uri", "signature-key"] if query else None
        headers = run(folder, "sign.mjs", {
            "url": f"{ADDRESS}/store{'?' if query else ''}{query}", "method": method, "body": body,
            "signingKey": key.jwk, "signatureKey": {"type": scheme, "components": covered, **token},
        })  # fmt: skip
        request = Request(method, "/store", query, body.encode(), [(n, v) for n, v in headers])
        actor = asyncio.run(service.actor(request))
        assert isinstance(actor, Actor)
        assert actor.agent == key.public.thumbprint
        assert actor.tier == ("operator_attested" if scheme == "jwt" else "software")


@pytest.mark.parametrize("algorithm", ["Ed25519", "ES256"])
@pytest.mark.parametrize("subject", [None, "aauth:planner@example.org"])
def test_the_library_takes_what_is_signed_here(folder: Path, algorithm: Any, subject: str | None) -> None:
    agent = AgentSigner(PrivateAgentKey.generated(algorithm), subject=subject)
    for method, body in (("POST", BODY), ("GET", "")):
        headers = agent.headers(method, f"{ADDRESS}/store", body.encode())
        result = run(folder, "verify.mjs", {
            "method": method, "authority": "mem.example", "path": "/store", "headers": headers,
            **({"body": body} if body else {}),
        })  # fmt: skip
        assert result["verified"], result
        assert result["thumbprint"] == agent.key.public.thumbprint
