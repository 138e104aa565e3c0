"""What settings may be: types of values, with what to write in place of a value that is refused."""

import json
import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

TierName = Literal["anonymous", "unverified_client", "software", "operator_attested"]
"""How well the writer of a request is known, from the least on."""

ToolsetName = Literal["core", "full", "readonly", "memory"]
"""The toolsets of MCP; ``graphmem/mcp/toolsets.py`` says what each of them has."""

UNITS_SECONDS: Final = {
    "second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "month": 2_592_000, "year": 31_104_000,
}  # fmt: skip
_RATE_LIMIT: Final = re.compile(rf"(\d+)\s*(?:/|per)\s*(\d*)\s*({'|'.join(UNITS_SECONDS)})s?", re.IGNORECASE)


class RateLimit(NamedTuple):
    """At most ``requests`` in ``multiple`` times the unit, such as 10 in 5 minutes."""

    requests: int
    multiple: int
    unit: str

    @property
    def seconds(self) -> int:
        return self.multiple * UNITS_SECONDS[self.unit]

    def __str__(self) -> str:
        return f"{self.requests} per {self.multiple} {self.unit}"


def parsed_limits(text: str) -> tuple[RateLimit, ...]:
    """Return the limits in a setting, none for an empty text and ``off``. Raises ValueError: it is no
    limit."""
    limits: list[RateLimit] = []
    for part in re.split("[,;|]", text) if text not in ("", "off") else ():
        match = _RATE_LIMIT.fullmatch(part.strip())
        requests, multiple = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
        if match is None or requests < 1 or multiple < 1:
            raise ValueError(
                f"{text[:100]!r} is no limit: write for example 600/minute, 10/second;600/minute or off"
            )
        limits.append(RateLimit(requests, multiple, match[3].lower()))
    return tuple(limits)


def _split(value: Any) -> Any:
    """Return the parts of a text that commas separate."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def _check_limits(text: str) -> str:
    parsed_limits(text)
    return text


def _matching(pattern: str, advice: str) -> AfterValidator:
    """Return what refuses texts that do not match a pattern. ``advice``: what to write in their place."""

    def check(texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if not re.fullmatch(pattern, text):
                raise ValueError(f"{text[:100]!r} is {advice}")
        return texts

    return AfterValidator(check)


def _check_issuers(value: str) -> str:
    """Return the JSON of the issuers, read if it is in a file."""
    text = value.strip()
    if not text:
        return ""
    try:
        issuers = json.loads(text if text.startswith("{") else Path(text).read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise ValueError(f"this is neither a JSON object nor a file that has one: {exc}") from None
    if not isinstance(issuers, dict):
        raise ValueError("write an object: the JWKS, or null, by the address of each issuer")
    for issuer, keys in issuers.items():
        if not re.fullmatch(r"https://[a-z0-9.-]+", issuer):
            raise ValueError(f"{issuer[:100]!r} is no issuer: write https:// and a host name in lower case")
        if keys is not None and not (isinstance(keys, dict) and isinstance(keys.get("keys"), list)):
            raise ValueError(f"{issuer} has no JWKS: write an object with the list keys, or null")
    return json.dumps(issuers)


def _check_endpoint(address: str) -> str:
    if "@" in urlsplit(address).netloc:
        raise ValueError(
            "credentials do not stand in the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return address


def _check_prefix(folder: str) -> str:
    odd_names = {".", ".."} & set(folder.split("/"))
    if folder.startswith("/") or not folder.isprintable() or odd_names:
        raise ValueError(f"{folder[:100]!r} is no folder of a bucket: write for example graphmem/")
    return f"{folder.rstrip('/')}/" if folder else ""


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError) as exc:
        raise ValueError(f"{name[:100]!r} is no time zone: write for example Europe/Berlin") from exc
    return name


def _check_roots(roots: tuple[str, ...]) -> tuple[str, ...]:
    for root in roots:
        if not os.path.isabs(root) or os.path.normpath(root) != root.rstrip("/"):
            raise ValueError(f"{root[:100]!r} is no directory below /: write its absolute path")
    return roots


def _check_proxies(proxies: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(str(ip_address(text)) for text in proxies)
    except ValueError as exc:
        raise ValueError(f"{exc}: name each proxy by its IP address") from None


def _check_port(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("tcp://"):
        raise ValueError(
            "Kubernetes sets this variable for a service named graphmem: set enableServiceLinks: false in "
            "the pod, or set GRAPHMEM_PORT to a number"
        )
    return value


def _check_neo4j(address: str) -> str:
    if not re.match(r"(bolt|neo4j)(\+s|\+ssc)?://[^/]", address):
        raise ValueError(
            "the address must look like bolt://host:7687 or neo4j://host:7687, with +s for TLS (neo4j+s://host)"
        )
    if "@" in urlsplit(address).netloc:
        raise ValueError(
            "user and password do not stand in the address: set NEO4J_USERNAME and NEO4J_PASSWORD"
        )
    return address


Count = Annotated[int, Field(ge=1)]
FileBytes = Annotated[int, Field(ge=1024, le=52_428_800)]
Port = Annotated[int, Field(ge=0, le=65535), BeforeValidator(_check_port)]
Seconds = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
AgentSubject = Annotated[str, Field(pattern=r"^[a-zA-Z0-9:._+-]{1,200}@[a-z0-9.-]{1,200}$")]
Bucket = Annotated[str, Field(min_length=1, max_length=255)]
TimeZone = Annotated[str, AfterValidator(_check_zone)]
Country = Annotated[str, Field(pattern="^[A-Z]{2}$")]
LocalModel = Annotated[str, Field(pattern="^fastembed:.", max_length=500)]
Url = Annotated[str, Field(pattern="^https?://")]
StoreUrl = Annotated[Url, AfterValidator(_check_endpoint)]
Neo4jUrl = Annotated[str, AfterValidator(_check_neo4j)]
RateLimits = Annotated[str, AfterValidator(_check_limits)]
Issuers = Annotated[str, AfterValidator(_check_issuers)]
BucketFolder = Annotated[str, Field(max_length=500), AfterValidator(_check_prefix)]
Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Origins = Annotated[Texts, _matching(
    r"[a-z][a-z0-9+.-]*://[a-z0-9.\[\]_:-]+",
    "no origin: write scheme, host and port as a browser sends them in lower case, such as "
    "https://app.example.org, without a path; * and null are refused",
)]  # fmt: skip
MergeRules = Annotated[Texts, _matching(
    r"[a-z][a-z0-9_]{0,63}:[^:]+", "no alternative: write type:fields, such as person:name"
)]  # fmt: skip
Directories = Annotated[Texts, AfterValidator(_check_roots)]
Proxies = Annotated[Texts, AfterValidator(_check_proxies)]
