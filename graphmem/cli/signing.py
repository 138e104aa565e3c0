"""``graphmem auth keygen`` and ``graphmem auth sign-example``: the key of an agent, and how it signs."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from graphmem.cli.auth import BaseUrl, address_of, app
from graphmem.cli.session import Draw, Session, command

AlgorithmName = Literal["Ed25519", "ES256"]
EXAMPLE_BODY = b'{"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}'


@command(app)
def keygen(
    session: Session,
    name: Annotated[
        str,
        typer.Argument(help="Name under which the key is kept, or the path of a file, such as ./key.json."),
    ] = "default",
    algorithm: Annotated[AlgorithmName, typer.Option(help="Ed25519, or ES256 (ECDSA P-256).")] = "Ed25519",
) -> dict[str, Any]:
    """Make a key with which an agent signs what it sends.

    It is kept in the keyring of the platform, where there is none in a file that only you can read. A program
    signs with it where GRAPHMEM_AGENT_KEY has the name or the path.

    \b
    Examples:
      graphmem auth keygen
      graphmem auth keygen ./planner.json --algorithm ES256
    """
    from graphmem.auth.agent_keys import PrivateAgentKey
    from graphmem.client.agent_signing import keep_key

    key = PrivateAgentKey.generated(algorithm)
    kept_in = keep_key(name, key)
    return {
        "key": name,
        "thumbprint": key.public.thumbprint,
        "algorithm": algorithm,
        "public_key": json.dumps({**key.public.jwk}),
        "kept_in": kept_in,
        "next": f"export GRAPHMEM_AGENT_KEY={name}",
    }


@command(app)
def sign_example(session: Session, base_url: BaseUrl = None) -> tuple[dict[str, Any], Draw]:
    """Print a store and all that signs it: a worked example for who writes a signer.

    It signs with the key of GRAPHMEM_AGENT_KEY, else with a new one. Nothing is sent.

    \b
    Example:
      graphmem auth sign-example --base-url https://memory.example.org
    """
    from graphmem.auth.agent_keys import PrivateAgentKey
    from graphmem.client.agent_signing import AgentSigner

    chosen = session.settings()
    signer = AgentSigner.configured(chosen) or AgentSigner(PrivateAgentKey.generated("Ed25519"))
    url = f"{address_of(session, base_url) or chosen.advertised_url()}/store"
    headers, base = signer.signed("POST", url, EXAMPLE_BODY)
    headers = {"Content-Type": "application/json", **headers}
    answer = {
        "method": "POST",
        "url": url,
        "body": EXAMPLE_BODY.decode(),
        "headers": headers,
        "signature_base": base.decode(),
        "thumbprint": signer.key.public.thumbprint,
    }
    lines = ["The request:", "", f"POST {url}", *(f"{name}: {value}" for name, value in headers.items())]
    lines += ["", EXAMPLE_BODY.decode(), "", "What is signed:", "", base.decode(), ""]
    lines += [f"The key signs these bytes: its thumbprint is {answer['thumbprint']}."]
    return answer, lambda: print("\n".join(lines))
