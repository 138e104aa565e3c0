"""Keys of agents: Ed25519 and ECDSA P-256 as JSON Web Keys, their thumbprints, and what they sign."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from graphmem.errors import AgentSignatureInvalid
from graphmem.model import canonical

Algorithm = Literal["Ed25519", "ES256"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = ("Ed25519", "ES256")
COORDINATE_BYTES: Final = 32
"""Bytes of each coordinate of a point, and of each half of a signature, on both curves."""
_CURVES: Final[Mapping[str, tuple[str, str]]] = {"Ed25519": ("OKP", "Ed25519"), "ES256": ("EC", "P-256")}
_PRIME: Final = 2**255 - 19
_ORDER_8_Y: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER_Y: Final = frozenset({0, 1, _PRIME - 1, _ORDER_8_Y, _PRIME - _ORDER_8_Y})
"""The y of the eight points of small order of edwards25519: a signature of such a key fits many messages."""
_PRIVATE_MEMBERS: Final = frozenset({"d", "k", "p", "q", "dp", "dq", "qi", "oth"})

PublicKey = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey
PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def refused(reason: str, message: str, **details: Any) -> AgentSignatureInvalid:
    """Return the error of a signature. ``reason``: a code of the draft HTTP Signature Keys."""
    return AgentSignatureInvalid(
        f"the signature of the agent is refused: {message}", reason=reason, **details
    )


def encoded(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: Any) -> bytes:
    """Return the bytes of a text in base64url without padding; raises ValueError: it is no such text."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("no base64url")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as exc:
        raise ValueError("no base64url") from exc


@dataclass(frozen=True, slots=True)
class AgentKey:
    """The public key of an agent. ``thumbprint`` is that of RFC 7638, with SHA-256 in base64url."""

    algorithm: Algorithm
    thumbprint: str
    jwk: Mapping[str, str] = field(repr=False)
    _public: PublicKey = field(repr=False)

    @classmethod
    def of(cls, jwk: Mapping[str, Any], *, is_strict: bool = False) -> AgentKey:
        """Return the key of a JSON Web Key.

        A key without ``alg``, or with ``EdDSA``, is for the algorithm of its curve: older signers send them.
        If ``is_strict``, it is refused.

        Raises:
            AgentSignatureInvalid: it has another algorithm, a private member, or a point that is
                not of its curve, or of small order.
        """
        if _PRIVATE_MEMBERS & jwk.keys():
            raise refused("invalid_key", "the key has private or symmetric members")
        curve = (jwk.get("kty"), jwk.get("crv"))
        algorithm = jwk.get("alg")
        if algorithm in (None, "EdDSA") and not is_strict:
            algorithm = next((each for each in ALGORITHMS if _CURVES[each] == curve), None)
        if algorithm not in ALGORITHMS:
            raise refused("unsupported_algorithm", f"keys are for {' or '.join(ALGORITHMS)}")
        if _CURVES[algorithm] != curve:
            raise refused("invalid_key", f"its curve does not fit its algorithm, {algorithm}")
        try:
            return cls._of_public(algorithm, _public_key(algorithm, jwk))
        except (ValueError, TypeError) as exc:
            raise refused("invalid_key", "the key is no point of its curve") from exc

    @classmethod
    def _of_public(cls, algorithm: Algorithm, public: PublicKey) -> AgentKey:
        # Made of the point itself: base64url has several texts for the same bytes.
        kty, crv = _CURVES[algorithm]
        if isinstance(public, ed25519.Ed25519PublicKey):
            point = {"x": encoded(public.public_bytes_raw())}
        else:
            numbers = public.public_numbers()
            point = {"x": encoded(_coordinate(numbers.x)), "y": encoded(_coordinate(numbers.y))}
        members = {"kty": kty, "crv": crv, **point}
        digest = hashlib.sha256(canonical.encode(members).encode()).digest()
        return cls(algorithm, encoded(digest), {**members, "alg": algorithm}, public)

    def has_signed(self, signature: bytes, message: bytes) -> bool:
        try:
            if isinstance(self._public, ed25519.Ed25519PublicKey):
                self._public.verify(signature, message)
            elif len(signature) == 2 * COORDINATE_BYTES:
                halves = signature[:COORDINATE_BYTES], signature[COORDINATE_BYTES:]
                pair = encode_dss_signature(*(int.from_bytes(half) for half in halves))
                self._public.verify(pair, message, ec.ECDSA(hashes.SHA256()))
            else:
                return False
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateAgentKey:
    """The private key of an agent; its ``repr`` has the public one alone."""

    public: AgentKey
    _private: PrivateKey = field(repr=False)

    @classmethod
    def generated(cls, algorithm: Algorithm) -> PrivateAgentKey:
        if algorithm == "Ed25519":
            return cls._of_private(ed25519.Ed25519PrivateKey.generate())
        return cls._of_private(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def of(cls, jwk: Mapping[str, Any]) -> PrivateAgentKey:
        """Return the key of a private JSON Web Key; raises ValueError: it is none of Ed25519 or P-256."""
        public = AgentKey.of({name: value for name, value in jwk.items() if name != "d"})
        secret = decoded(jwk.get("d"))
        if public.algorithm == "Ed25519":
            key = cls._of_private(ed25519.Ed25519PrivateKey.from_private_bytes(secret))
        else:
            key = cls._of_private(ec.derive_private_key(int.from_bytes(secret), ec.SECP256R1()))
        if key.public.thumbprint != public.thumbprint:
            raise ValueError("its private part is of another key")
        return key

    @classmethod
    def _of_private(cls, private: PrivateKey) -> PrivateAgentKey:
        algorithm: Algorithm = "Ed25519" if isinstance(private, ed25519.Ed25519PrivateKey) else "ES256"
        return cls(AgentKey._of_public(algorithm, private.public_key()), private)

    @property
    def jwk(self) -> dict[str, str]:
        """The private JSON Web Key: a secret."""
        if isinstance(self._private, ed25519.Ed25519PrivateKey):
            secret = self._private.private_bytes_raw()
        else:
            secret = _coordinate(self._private.private_numbers().private_value)
        return {**self.public.jwk, "d": encoded(secret)}

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message, as RFC 9421 and JWS write it."""
        if isinstance(self._private, ed25519.Ed25519PrivateKey):
            return self._private.sign(message)
        halves = decode_dss_signature(self._private.sign(message, ec.ECDSA(hashes.SHA256())))
        return b"".join(map(_coordinate, halves))


def _public_key(algorithm: Algorithm, jwk: Mapping[str, Any]) -> PublicKey:
    """Return the public key of a JWK; raises ValueError: its point is too short, off the curve, or weak."""
    x = decoded(jwk.get("x"))
    if algorithm == "Ed25519":
        y = int.from_bytes(x, "little") & (2**255 - 1)
        if y in _SMALL_ORDER_Y or y >= _PRIME:
            raise ValueError("the point is of small order, or not in the form of RFC 8032, section 5.1.2")
        return ed25519.Ed25519PublicKey.from_public_bytes(x)
    y = decoded(jwk.get("y"))
    if len(x) != COORDINATE_BYTES or len(y) != COORDINATE_BYTES:
        raise ValueError("a coordinate has the wrong length")
    return ec.EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), ec.SECP256R1()).public_key()


def _coordinate(number: int) -> bytes:
    return number.to_bytes(COORDINATE_BYTES)
