"""The vectors of RFC 9421, RFC 9530 and RFC 8037; the pure parts of signing."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from graphmem.auth.agent_keys import AgentKey, PrivateAgentKey, encoded
from graphmem.auth.message_signatures import SignedMessage, sign, signed_digests
from graphmem.errors import AgentSignatureInvalid
from tests.support.agents import digest_of

ED25519 = {
    "kty": "OKP",
    "crv": "Ed25519",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
    "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
}
"""The key of RFC 9421, B.1.4."""
P256 = b"""-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lf
w0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==
-----END PUBLIC KEY-----
"""
"""The key of RFC 9421, B.1.3."""
REQUEST = SignedMessage(
    "POST",
    "https",
    "example.com",
    "/foo",
    "param=Value&Pet=dog",
    [
        ("host", "example.com"),
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("content-type", "application/json"),
        (
            "content-digest",
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
        ),
        ("content-length", "18"),
    ],
    has_body=True,
)
"""The request of RFC 9421, B.2."""


def p256_key() -> AgentKey:
    public = load_pem_public_key(P256)
    assert isinstance(public, ec.EllipticCurvePublicKey)
    numbers = public.public_numbers()
    x, y = (encoded(number.to_bytes(32)) for number in (numbers.x, numbers.y))
    return AgentKey.of({"kty": "EC", "crv": "P-256", "x": x, "y": y})


def test_the_vector_b_2_6_verifies_and_is_made_again() -> None:
    names = ["date", "@method", "@path", "@authority", "content-type", "content-length"]
    listed = " ".join(f'"{name}"' for name in names)
    base = REQUEST.base(names, f'({listed});created=1618884473;keyid="test-key-ed25519"')
    signature = base64.b64decode(
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    )
    key = PrivateAgentKey.of(ED25519)
    assert key.public.has_signed(signature, base)
    assert key.sign(base) == signature
    assert not key.public.has_signed(signature, base + b" ")


def test_the_vector_b_2_4_verifies() -> None:
    # It is of an answer, so the lines stand here.
    base = b"""\
"@status": 200
"content-type": application/json
"content-digest": sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq\
4l5aGgfLQ==:
"content-length": 23
"@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473\
;keyid="test-key-ecc-p256\""""
    signature = base64.b64decode(
        "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw=="
    )
    assert p256_key().has_signed(signature, base)
    assert not p256_key().has_signed(signature, base.replace(b"200", b"201"))


def test_the_digest_of_the_vectors_is_that_of_their_body() -> None:
    body = b'{"hello": "world"}'
    assert f"sha-512=:{base64.b64encode(signed_digests(REQUEST)['sha512']).decode()}:" == digest_of(
        body, "sha-512"
    )


def test_the_thumbprint_is_that_of_rfc_8037() -> None:
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    assert AgentKey.of(jwk).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_texts_of_one_point_have_one_thumbprint() -> None:
    # The last character of 43 has two bits that mean nothing.
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp"}
    assert AgentKey.of(jwk).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@pytest.mark.parametrize("algorithm", ["Ed25519", "ES256"])
def test_a_private_key_is_read_as_it_was_written(algorithm) -> None:
    key = PrivateAgentKey.generated(algorithm)
    again = PrivateAgentKey.of(key.jwk)
    assert again.public.thumbprint == key.public.thumbprint
    assert key.public.has_signed(again.sign(b"text"), b"text")
    assert key.jwk["d"] not in repr(key)
    other = PrivateAgentKey.generated(algorithm)
    with pytest.raises(ValueError, match="another key"):
        PrivateAgentKey.of({**key.jwk, "d": other.jwk["d"]})


def test_two_equal_requests_are_signed_apart() -> None:
    key = PrivateAgentKey.of(ED25519)
    first, second = (sign(key, REQUEST, b"{}", "hwk", 1618884473)[0] for _ in range(2))
    assert first["Signature-Input"] != second["Signature-Input"]
    assert first["Signature"] != second["Signature"]


def test_a_line_break_in_a_header_adds_no_line_to_what_is_signed() -> None:
    request = SignedMessage("GET", "https", "x", "/", "", [("a", 'b\n"@method": POST')])
    with pytest.raises(AgentSignatureInvalid, match="line break"):
        request.base(["a"], "()")
