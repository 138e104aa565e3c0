"""Signatures of HTTP requests: RFC 9421 with the header ``Signature-Key``, as agents sign.

The signature of an agent has the label of ``Signature-Key`` in ``Signature-Input`` and ``Signature``; a proxy
may add its own. What it covers becomes its *base*, a text. Nothing here looks up a key or reads a clock.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from graphmem.auth.agent_keys import PrivateAgentKey, refused

HEADERS: Final = ("signature-key", "signature-input", "signature")
"""The headers of a signature, in lower case."""
WINDOW_SECONDS: Final = 60  # how far the time of a signature may be from that of the service
DIGESTS: Final = {"sha-256": "sha256", "sha-512": "sha512"}
"""The algorithms of ``Content-Digest`` that are compared, with their names in :mod:`hashlib`."""
_PARTS: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])+')  # the members of a header, parted by commas
_PARAMETERS: Final = frozenset({"created", "expires", "nonce", "tag", "keyid", "alg"})


@dataclass(slots=True)
class SignedMessage:
    """A request as its signature covers it.

    ``scheme`` and ``authority`` are those of the service's configured address. ``path`` and ``query`` are as
    they were sent, still percent-encoded. ``fields`` are the headers in order, with names in lower case.
    """

    method: str
    scheme: str
    authority: str
    path: str
    query: str
    fields: Sequence[tuple[str, str]]
    has_body: bool = False

    def field(self, name: str) -> str | None:
        """Return the value of a header, joined if it was sent several times; None if it was not sent."""
        values = [value.strip(" \t") for each, value in self.fields if each == name]
        return ", ".join(values) if values else None

    def base(self, components: Sequence[str], parameters: str) -> bytes:
        """Return what a signature signs: a line for each component, then its parameters as they were sent.
        Raises AgentSignatureInvalid: a component is not supported, or the request has no such header."""
        query = f"?{self.query}" if self.query else ""
        derived = {
            "@method": self.method,
            "@authority": self.authority,
            "@scheme": self.scheme,
            "@path": self.path,
            "@query": f"?{self.query}",
            "@request-target": f"{self.path}{query}",
            "@target-uri": f"{self.scheme}://{self.authority}{self.path}{query}",
        }
        lines: list[str] = []
        for name in components:
            value = derived.get(name) if name.startswith("@") else self.field(name)
            if value is None:
                raise refused("invalid_input", f"the request has no {name[:100]}")
            lines.append(f'"{name}": {value}')
        lines.append(f'"@signature-params": {parameters}')
        if any("\n" in line for line in lines):
            raise refused("invalid_request", "a line of what is signed has a line break")
        return "\n".join(lines).encode("latin-1")


class MessageSignature(NamedTuple):
    """The signature of a request. ``scheme`` says how ``key_members`` name its key. ``parameters`` is the
    text of its components and parameters as it was sent."""

    scheme: str
    key_members: Mapping[str, Any]
    components: tuple[str, ...]
    created: int
    parameters: str
    signature: bytes

    @classmethod
    def of(cls, message: SignedMessage, now: float) -> MessageSignature:
        """Return the signature of a request, which covers all that it must and is of this time.

        Raises AgentSignatureInvalid: it is missing or damaged, covers too little, or is of another time.
        """
        label, _, (scheme, members) = _member(message, "signature-key")
        _, text, (components, parameters) = _member(message, "signature-input", label)
        _, written, (signature, _) = _member(message, "signature", label)
        if not isinstance(components, list) or not isinstance(signature, bytes):
            raise refused("invalid_request", "Signature-Input has no list, or Signature has no bytes")
        if written != _rendered(label, signature):
            # Base64 has several texts for the same bytes: one alone is taken.
            raise refused("invalid_request", "Signature is not written as RFC 9651 does")
        if any(not isinstance(name, str) or parameters for name, parameters in components):
            raise refused("invalid_input", "components have no parameters here")
        names = tuple(name for name, _ in components)
        if len({*names}) != len(names):
            raise refused("invalid_input", "a component is covered twice")
        has_uri = "@target-uri" in names
        needed = ["@method", "@authority", "@target-uri" if has_uri else "@path", "signature-key"]
        needed += ["@query"] if message.query and not has_uri else []
        needed += ["content-digest"] if message.has_body else []
        if missing := [name for name in needed if name not in names]:
            raise refused("invalid_input", f"it does not cover {', '.join(missing)}", required_input=needed)
        created = _check_times(parameters, now)
        # A scheme is a token of RFC 9651, which is no text.
        scheme = "" if isinstance(scheme, str) else str(scheme)
        return cls(scheme, members, names, created, text[len(label) + 1 :], signature)


def signed_digests(message: SignedMessage) -> dict[str, bytes]:
    """Return the digests in ``Content-Digest`` that can be compared, by algorithm of :mod:`hashlib`."""
    digests: dict[str, bytes] = {}
    for name, (value, _) in _members("content-digest", message.field("content-digest")).items():
        if name in DIGESTS and isinstance(value, bytes):
            digests[DIGESTS[name]] = value
    if not digests:
        raise refused("invalid_input", f"Content-Digest has none of {', '.join(DIGESTS)}")
    return digests


def sign(
    key: PrivateAgentKey, message: SignedMessage, body: bytes, key_header: str, created: int
) -> tuple[dict[str, str], bytes]:
    """Return the headers that sign a request, with a nonce of its own, and the base that was signed.
    ``key_header`` is what ``Signature-Key`` says of the key, without the label."""
    headers = {"Signature-Key": f"sig={key_header}"}
    components = ["@method", "@authority", "@path", "signature-key"]
    if message.query:
        components.append("@query")
    if body:
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        headers["Content-Digest"] = f"sha-256=:{digest}:"
        components.append("content-digest")
    listed = " ".join(f'"{name}"' for name in components)
    # Without a nonce, of two equal requests of one second the second would count as sent again.
    parameters = f'({listed});created={created};nonce="{secrets.token_urlsafe(16)}"'
    fields = [(name.lower(), value) for name, value in headers.items()]
    signed = SignedMessage(
        message.method, message.scheme, message.authority, message.path, message.query, fields, bool(body)
    )
    base = signed.base(components, parameters)
    headers["Signature-Input"] = f"sig={parameters}"
    headers["Signature"] = _rendered("sig", key.sign(base))
    return headers, base


def _rendered(label: str, signature: bytes) -> str:
    return f"{label}=:{base64.b64encode(signature).decode()}:"


def _check_times(parameters: Mapping[str, Any], now: float) -> int:
    """Return when a signature was made; raises AgentSignatureInvalid: that, or a parameter, is refused."""
    if unknown := sorted(parameters.keys() - _PARAMETERS):
        raise refused("invalid_input", f"Signature-Input has the unknown parameter {unknown[0][:100]}")
    created, expires = parameters.get("created"), parameters.get("expires")
    if type(created) is not int:
        raise refused("invalid_input", "created is missing")
    if abs(now - created) > WINDOW_SECONDS:
        raise refused(
            "invalid_signature", f"created is more than {WINDOW_SECONDS} s from the time of the service"
        )
    if expires is not None and (type(expires) is not int or expires <= now or expires < created):
        raise refused("invalid_signature", "it has expired")
    return created


def _member(
    message: SignedMessage, header: str, label: str | None = None
) -> tuple[str, str, tuple[Any, Any]]:
    """Return the label, the text and the value of a member of a header.

    Args:
        label: the label of the member; a proxy may have added its own. None: there is one member alone.
    """
    members = _members(header, message.field(header))
    if label is None and len(members) == 1:
        label = next(iter(members))
    if label not in members:
        raise refused("invalid_request", f"{header} must have one member, with the label of Signature-Key")
    parts = (part.strip(" \t") for part in _PARTS.findall(message.field(header) or ""))
    text = next((part for part in parts if part.startswith(f"{label}=")), "")
    # What is signed is the text: it must say what the header says.
    if _members(header, text) != {label: members[label]}:
        raise refused("invalid_request", f"{header} cannot be parted")
    return label, text, members[label]


def _members(header: str, text: str | None) -> dict[str, tuple[Any, Any]]:
    # Few requests are signed, and commands start without it.
    import http_sf

    if text is None:
        raise refused("invalid_request", f"the header {header} is missing")

    def refuse_second(name: str, _: str) -> None:
        raise refused("invalid_request", f"{header} has {name[:100]} twice")

    try:
        members = http_sf.parse(text.encode("latin-1"), tltype="dictionary", on_duplicate_key=refuse_second)
    except ValueError as exc:
        raise refused("invalid_request", f"{header} is no dictionary of RFC 9651") from exc
    return cast("dict[str, tuple[Any, Any]]", members)
