"""``graphmem auth keygen`` and ``graphmem auth sign-example``: the key of an agent, and how it signs."""

from __future__ import annotations

import json
from typing import Any, Literal

from graphmem.cli.auth import address_of
from graphmem.cli.session import Draw, Session

AlgorithmName = Literal["Ed25519", "ES256"]
EXAMPLE_BODY = b'{"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}'


def keygen(session: Session, name: str = "default", algorithm: AlgorithmName = "Ed25519") -> dict[str, Any]:
    from graphmem.auth.agent_keys import PrivateAgentKey
    from graphmem.client.agent_signing import keep_key

    key = PrivateAgentKey.generated(algorithm)
    return {
        "key": name,
        "thumbprint": key.public.thumbprint,
        "algorithm": algorithm,
        "public_key": json.dumps({**key.public.jwk}),
        "kept_in": keep_key(name, key),
        "next": f"export GRAPHMEM_AGENT_KEY={name}",
    }


def sign_example(session: Session, base_url: str | None = None) -> tuple[dict[str, Any], Draw]:
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
