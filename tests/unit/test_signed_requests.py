"""Who signed a request: what is accepted, and each way to be refused. Nothing is sent, nothing is stored."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from graphmem.auth import Actor, signed_requests
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.auth.agent_tokens import own_token
from graphmem.errors import AgentSignatureInvalid, GraphmemError, ServiceBusy
from graphmem.settings import Settings, load
from tests.support.agents import ISSUER, SUBJECT, Issuer, Request, Service, digest_of, hwk, signed
from tests.support.examples import LONG
from tests.support.walks import walk_over

AGENT, OTHER = PrivateAgentKey.generated("Ed25519"), PrivateAgentKey.generated("Ed25519")
P256 = PrivateAgentKey.generated("ES256")
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the group of P-256."""
NOW = int(time.time())
SERVICE = Service(now=NOW)
BASE = ("@method", "@authority", "@path", "signature-key")
ALTERATIONS = 10_000 if LONG else 2_000


def outcome(request: Request, service: Service | None = None) -> Actor | str:
    """Return the actor of a request, or the reason for which it is refused.

    Without ``service`` it is the first request that a service gets.
    """
    if service is None:
        SERVICE.requests._seen.clear()
    try:
        return asyncio.run((service or SERVICE).actor(request))
    except AgentSignatureInvalid as refused:
        return refused.details["reason"]


def jwt(agent: PrivateAgentKey = AGENT, by: PrivateAgentKey | None = None, **claims: Any) -> str:
    """Return ``Signature-Key`` with a token. ``by``: the key that signs it in place of the issuer's."""
    issuer = SERVICE.issuer if by is None else Issuer(by)
    header = claims.pop("header", None)
    return f'jwt;jwt="{issuer.token(agent, NOW, header, **claims)}"'


def proxied(request: Request, signed_input: str, *, before: bool = False) -> None:
    """Add the signature of a proxy, under its own label."""
    for name, added in (("signature-input", signed_input), ("signature", "proxy=:AAAA:")):
        own = request.get(name)
        request.set(name, f"{added}, {own}" if before else f"{own}, {added}")


def made(key: PrivateAgentKey = AGENT, key_header: str | None = None, **more: Any) -> Request:
    """Return a signed request; what is no argument of ``signed`` is of the request."""
    own = {name: more.pop(name) for name in ("method", "path", "query", "body") if name in more}
    more.setdefault("created", NOW)
    return signed(key, Request(**own), key_header, **more)


def changed(change: Callable[[Request], Any], **more: Any) -> Request:
    """Return a request that was changed after it had been signed."""
    request = made(key_header=jwt(), query="a=1", **more)
    change(request)
    return request


# What is accepted


def test_a_request_without_a_signature_is_of_nobody() -> None:
    actor = outcome(Request())
    assert isinstance(actor, Actor)
    assert (actor.signer, actor.agent) == (None, "anonymous")


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: made(key_header=jwt()),
        lambda: made(key_header=jwt(), query="x=%20a"),
        lambda: made(key_header=jwt(), method="GET", body=b""),
        lambda: made(P256, jwt(P256)),
        lambda: made(key_header=jwt(header={"alg": "EdDSA"})),
        lambda: made(key_header=jwt(jti=None, dwk=None)),
        lambda: made(key_header=jwt(), created=NOW - 60, parameters=f";expires={NOW + 9}"),
        lambda: made(key_header=jwt(), created=NOW + 60, parameters=';tag="x";alg="ed25519";keyid="k"'),
        lambda: made(key_header=jwt(), query="a=1", components=[
            "@method", "@authority", "@target-uri", "signature-key", "content-digest", "@scheme",
            "@request-target",
        ]),
        lambda: changed(lambda r: r.set("host", "evil.example")),
        lambda: changed(lambda r: proxied(r, 'proxy=("@method");created=1;nonce="a, sig=b\\"c"')),
        lambda: changed(lambda r: proxied(r, 'proxy=("x-y";sf);keyid="k"', before=True)),
    ],
)  # fmt: skip
def test_an_agent_of_a_trusted_issuer_is_attested(request_of: Callable[[], Request]) -> None:
    actor = outcome(request_of())
    assert isinstance(actor, Actor), actor
    signer = actor.signer
    assert signer is not None
    assert actor.agent == signer.thumbprint
    assert signer.thumbprint in (AGENT.public.thumbprint, P256.public.thumbprint)
    assert (signer.tier, signer.issuer, signer.subject) == ("operator_attested", ISSUER, SUBJECT)
    assert (signer.claimed_issuer, signer.claimed_subject) == (None, None)


def test_a_strict_service_takes_only_keys_and_tokens_that_name_their_algorithm() -> None:
    strict, own = Service(now=NOW, aauth_strict=True), {"by": AGENT, "iss": "https://me.example"}
    for reason, key_header in (
        ("unsupported_algorithm", hwk(AGENT, alg=None)),
        ("unsupported_algorithm", hwk(AGENT, alg="EdDSA")),
        ("unsupported_algorithm", jwt(cnf={"jwk": {**AGENT.public.jwk, "alg": "EdDSA"}})),
        ("invalid_jwt", jwt(header={"alg": "EdDSA"}, **own)),
    ):
        assert outcome(made(key_header=key_header), strict) == reason
        assert isinstance(outcome(made(key_header=key_header)), Actor)
    for request in (made(), made(P256), made(key_header=jwt(**own))):
        assert isinstance(outcome(request, strict), Actor)


@pytest.mark.parametrize(
    ("request_of", "claimed"),
    [
        (lambda: made(key_header=hwk(AGENT)), None),
        (lambda: made(key_header=hwk(AGENT, alg=None)), None),
        (lambda: made(key_header=hwk(AGENT, alg="EdDSA")), None),
        (lambda: made(P256), None),
        (lambda: made(key_header=f'jwt;jwt="{own_token(AGENT, "https://me.example", "me", NOW)}"'), "me"),
        (lambda: made(key_header=jwt(by=AGENT, iss="https://me.example", sub="ceo")), "ceo"),
    ],
)  # fmt: skip
def test_what_an_agent_says_of_itself_is_a_claim(
    request_of: Callable[[], Request], claimed: str | None
) -> None:
    actor = outcome(request_of())
    assert isinstance(actor, Actor), actor
    signer = actor.signer
    assert signer is not None
    assert (signer.tier, signer.issuer, signer.subject) == ("software", None, None)
    assert signer.claimed_subject == claimed


def test_the_names_of_this_machine_are_all_signed_for_and_no_other() -> None:
    service = Service("http://127.0.0.1:3080", now=NOW)
    for authority in ("127.0.0.1:3080", "localhost:3080", "[::1]:3080"):
        request = made(authority=authority, scheme="http")
        request.set("host", authority)
        assert isinstance(outcome(request, service), Actor)
    request = made(authority="evil.example:3080", scheme="http")
    request.set("host", "evil.example:3080")
    assert outcome(request, service) == "invalid_signature"


def test_the_path_of_the_public_address_is_signed() -> None:
    service = Service("https://mem.example/graphmem/", now=NOW)
    request = made(path="/graphmem/store")
    request.path = "/store"  # a proxy took its beginning away
    assert isinstance(outcome(request, service), Actor)
    assert outcome(made(path="/store"), service) == "invalid_signature"


# What is refused: the token and the key


@walk_over("reason, request_of", [
        ("invalid_jwt", lambda: made(OTHER, jwt(OTHER, by=OTHER))),
        ("invalid_jwt", lambda: made(OTHER, jwt(OTHER, iss="https://x.example"))),
        ("invalid_signature", lambda: made(OTHER, jwt())),
        ("invalid_jwt", lambda: made(key_header=jwt(by=AGENT))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"typ": "at+jwt"}))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"typ": None}))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"crit": ["b64"]}))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"alg": "none"}))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"alg": "HS256"}))),
        ("invalid_jwt", lambda: made(key_header=jwt(header={"alg": "ES256"}))),
        ("unknown_key", lambda: made(key_header=jwt(header={"kid": "zz"}))),
        ("unknown_key", lambda: made(key_header=jwt(header={"kid": "pq"}))),
        ("unknown_key", lambda: made(key_header=jwt(header={"kid": None}))),
        ("invalid_jwt", lambda: made(key_header=jwt(exp=None))),
        ("invalid_jwt", lambda: made(key_header=jwt(iat=None))),
        ("invalid_jwt", lambda: made(key_header=jwt(exp=str(NOW + 9)))),
        ("invalid_jwt", lambda: made(key_header=jwt(cnf=None))),
        ("invalid_jwt", lambda: made(key_header=jwt(cnf="x"))),
        ("invalid_jwt", lambda: made(key_header=jwt(sub=None))),
        ("invalid_jwt", lambda: made(key_header=jwt(sub=["a"]))),
        ("invalid_jwt", lambda: made(key_header=jwt(iss="a\nb"))),
        ("invalid_jwt", lambda: made(key_header=jwt(dwk="other.json"))),
        ("expired_jwt", lambda: made(key_header=jwt(iat=NOW - 700, exp=NOW))),
        ("invalid_jwt", lambda: made(key_header=jwt(iat=NOW + 300, exp=NOW + 900))),
        ("invalid_jwt", lambda: made(key_header=jwt(nbf=NOW + 300))),
        ("invalid_jwt", lambda: made(key_header=jwt(exp=NOW + 172_800))),
        ("invalid_key", lambda: made(key_header=jwt(cnf={"jwk": AGENT.jwk}))),
        ("invalid_key", lambda: made(key_header=hwk(AGENT, d="AA"))),
        ("invalid_key", lambda: made(key_header=hwk(AGENT, x="AAAA"))),
        ("invalid_key", lambda: made(key_header=hwk(AGENT, x="+" * 43))),
        ("invalid_key", lambda: made(key_header=hwk(AGENT, alg="ES256"))),
        ("invalid_key", lambda: made(P256, hwk(P256, x="A" * 43))),
        ("invalid_key", lambda: made(P256, hwk(P256, y=P256.public.jwk["x"]))),
        ("invalid_key", lambda: made(P256, hwk(P256, y=None))),
        ("unsupported_algorithm", lambda: made(key_header='hwk;kty="oct";alg="HS256"')),
        ("unsupported_algorithm", lambda: made(key_header='hwk;kty="EC";crv="P-384"')),
        ("unsupported_algorithm", lambda: made(key_header=hwk(AGENT, kty=None, crv=None, alg=None))),
        ("unsupported_scheme", lambda: made(key_header='jwks_uri;id="http://169.254.169.254";kid="k"')),
        ("unsupported_scheme", lambda: made(key_header='"hwk"')),
        ("invalid_jwt", lambda: made(key_header='jwt;jwt="a.b.c"')),
        ("invalid_jwt", lambda: made(key_header=f'jwt;jwt="{"a" * 9000}.b.c"')),
        ("invalid_jwt", lambda: made(key_header="jwt")),
    ])  # fmt: skip
def test_a_token_or_a_key_that_proves_nothing_is_refused(
    reason: str, request_of: Callable[[], Request]
) -> None:
    assert outcome(request_of()) == reason


# What is refused: coverage, times and the form of the headers


@walk_over("reason, more", [
        ("invalid_signature", {"created": NOW - 62}),
        ("invalid_signature", {"created": NOW + 63}),
        ("invalid_signature", {"parameters": f";expires={NOW - 1}"}),
        ("invalid_signature", {"parameters": ';expires="never"'}),
        ("invalid_input", {"parameters": ";other=1"}),
        ("invalid_request", {"parameters": ";created=1"}),
        ("invalid_input", {"components": BASE}),
        ("invalid_input", {"components": ["@method", "@authority", "@path", "content-digest"]}),
        ("invalid_input", {"components": ["@authority", "@path", "content-digest", "signature-key"]}),
        ("invalid_input", {"components": ["@method", "@path", "content-digest", "signature-key"]}),
        ("invalid_input", {"components": ["@method", "@authority", "content-digest", "signature-key"]}),
        ("invalid_input", {"components": ["@method", "@target-uri", "content-digest", "signature-key"]}),
        ("invalid_input", {"components": ["signature-key"]}),
        ("invalid_input", {"components": []}),
        ("invalid_input", {"components": [*BASE, "content-digest"], "query": "a=1"}),
        ("invalid_input", {"components": ["@method", *BASE, "content-digest"]}),
        ("invalid_signature", {"authority": "evil.example"}),
        ("invalid_signature", {"scheme": "http", "components": [*BASE, "content-digest", "@scheme"]}),
    ])  # fmt: skip
def test_a_signature_of_too_little_or_of_another_time_is_refused(reason: str, more: dict[str, Any]) -> None:
    assert outcome(made(key_header=jwt(), **more)) == reason


def second(request: Request, name: str, value: str) -> None:
    request.headers.append((name, value))


def replaced(request: Request, name: str, old: str, new: str) -> None:
    value = request.get(name)
    assert old in value
    request.set(name, value.replace(old, new))


@walk_over("reason, change", [
        ("invalid_signature", lambda r: setattr(r, "body", b'{"a":2}')),
        ("invalid_signature", lambda r: setattr(r, "body", b"")),
        ("invalid_signature", lambda r: setattr(r, "method", "DELETE")),
        ("invalid_signature", lambda r: setattr(r, "path", "/delete_entity")),
        ("invalid_signature", lambda r: setattr(r, "path", "/%73tore")),
        ("invalid_signature", lambda r: setattr(r, "path", "/store/")),
        ("invalid_signature", lambda r: setattr(r, "query", "a=2")),
        ("invalid_signature", lambda r: setattr(r, "query", "")),
        ("invalid_signature", lambda r: setattr(r, "query", "a=%31")),
        ("invalid_request", lambda r: second(r, "signature-key", f"sig={hwk(OTHER)}")),
        ("invalid_request", lambda r: second(r, "signature-key", f"sig2={hwk(OTHER)}")),
        ("invalid_request", lambda r: second(r, "signature", "sig=:AAAA:")),
        ("invalid_request", lambda r: second(r, "signature-input", 'sig=("@method");created=1')),
        ("invalid_request", lambda r: r.drop("signature")),
        ("invalid_request", lambda r: r.drop("signature-input")),
        ("invalid_request", lambda r: r.drop("signature-key")),
        ("invalid_request", lambda r: replaced(r, "signature", "sig=", "other=")),
        ("invalid_request", lambda r: replaced(r, "signature-input", "sig=", "other=")),
        ("invalid_request", lambda r: replaced(r, "signature-key", "sig=", "other=")),
        ("invalid_request", lambda r: r.set("signature-input", "sig=((((")),
        ("invalid_request", lambda r: r.set("signature-input", "sig")),
        ("invalid_request", lambda r: r.set("signature-input", "")),
        ("invalid_request", lambda r: r.set("signature", "sig=1")),
        ("invalid_request", lambda r: second(r, "signature-key", "")),
        ("invalid_request", lambda r: replaced(r, "signature", "==:", "=:")),
        ("invalid_signature", lambda r: r.set("signature", f"sig=:{base64.b64encode(bytes(64)).decode()}:")),
        ("invalid_signature", lambda r: replaced(r, "signature-input", f"={NOW}", f"={NOW + 1}")),
        ("invalid_signature", lambda r: replaced(r, "signature-input", '"@method" "@', '"@method"  "@')),
        ("invalid_input", lambda r: replaced(r, "signature-input", '"@path"', '"@path";req')),
        ("invalid_input", lambda r: replaced(r, "signature-input", '"@path"', '"@path" "@status"')),
        ("invalid_input", lambda r: replaced(r, "signature-input", '"@path"', '"@path" "x-absent"')),
        ("invalid_request", lambda r: replaced(r, "signature-input", '("', '"(')),
        ("invalid_request", lambda r: replaced(r, "signature-input", '"@path"', '"@path" ("@path")')),
        ("invalid_input", lambda r: replaced(r, "signature-input", '"@path"', '"@path" path')),
        ("invalid_signature", lambda r: r.set("content-digest", "md5=:AAAA:")),
        ("invalid_signature", lambda r: second(r, "content-digest", digest_of(b"other", "sha-512"))),
        ("invalid_input", lambda r: r.drop("content-digest")),
    ])  # fmt: skip
def test_a_request_that_was_changed_is_refused(reason: str, change: Callable[[Request], Any]) -> None:
    assert outcome(changed(change)) == reason


def test_every_digest_that_is_signed_must_be_that_of_the_body() -> None:
    def request(*digests: str) -> Request:
        sent = Request(body=b"", headers=[("content-digest", digest) for digest in digests])
        signed(AGENT, sent, components=[*BASE, "content-digest"], created=NOW)
        sent.body = Request().body
        return sent

    right = digest_of(Request().body)
    assert isinstance(outcome(request(right)), Actor)
    assert isinstance(outcome(request(right, digest_of(Request().body, "sha-512"), "md5=:AAAA:")), Actor)
    assert outcome(request(right, digest_of(b"other", "sha-512"))) == "invalid_signature"
    assert outcome(request("md5=:AAAA:")) == "invalid_input"
    assert outcome(request("sha-256=?1")) == "invalid_input"


def test_the_answer_says_what_must_be_covered() -> None:
    with pytest.raises(AgentSignatureInvalid) as caught:
        asyncio.run(SERVICE.actor(made(components=BASE, query="a=1")))
    assert caught.value.answer_headers() == {
        "Signature-Error": 'error=invalid_input, required_input=("@method" "@authority" "@path" '
        '"signature-key" "@query" "content-digest")'
    }


# Requests that are sent again


def test_a_request_counts_once() -> None:
    service = Service(now=NOW)
    request = made()
    assert isinstance(outcome(request, service), Actor)
    assert outcome(request, service) == "invalid_signature"
    service.begin = NOW + 62.0  # the window is over, and so is the memory of it
    assert outcome(request, service) == "invalid_signature"
    assert not service.requests._seen


def test_reads_may_be_sent_again() -> None:
    request = made(method="GET", body=b"")
    assert isinstance(outcome(request, service := Service(now=NOW)), Actor)
    assert isinstance(outcome(request, service), Actor)


def test_the_second_signature_that_ecdsa_has_for_a_request_counts_as_the_same() -> None:
    service = Service(now=NOW)
    request = made(P256)
    assert isinstance(outcome(request, service), Actor)
    raw = base64.b64decode(request.get("signature")[5:-1])
    mirrored = raw[:32] + (ORDER - int.from_bytes(raw[32:])).to_bytes(32)
    assert P256.public.has_signed(mirrored, b"") is False
    request.set("signature", f"sig=:{base64.b64encode(mirrored).decode()}:")
    assert outcome(request, service) == "invalid_signature"
    assert isinstance(outcome(request, Service(now=NOW)), Actor)  # it is a signature of the same request


def test_what_was_signed_before_the_start_changes_nothing() -> None:
    service = Service(now=NOW)
    service.requests._begin = NOW - 5
    assert isinstance(outcome(made(created=NOW - 5), service), Actor)
    assert outcome(made(created=NOW - 6), service) == "invalid_signature"
    assert isinstance(outcome(made(created=NOW - 6, method="GET", body=b""), service), Actor)


def test_a_full_memory_refuses_and_forgets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_requests, "REMEMBERED_REQUESTS_LIMIT", 2)
    service = Service(now=NOW)
    first = made()
    for request in (first, made()):
        assert isinstance(outcome(request, service), Actor)
    with pytest.raises(ServiceBusy):
        outcome(made(), service)
    assert outcome(first, service) == "invalid_signature"


# Settings


def test_a_service_that_is_off_looks_at_no_signature() -> None:
    service = Service(now=NOW, aauth_mode="off")
    actor = outcome(changed(lambda r: r.drop("signature")), service)
    assert isinstance(actor, Actor)
    assert actor.signer is None


@pytest.mark.parametrize(
    ("client", "tier"), [("rest", "anonymous"), ("mcp", "anonymous"), ("bot", "unverified_client")]
)
def test_a_client_that_does_not_sign_is_known_by_its_name_alone(client: str, tier: str) -> None:
    actor = outcome(Request())
    assert isinstance(actor, Actor)
    assert actor.named(client).tier == tier
    signer = outcome(made())
    assert isinstance(signer, Actor)
    assert signer.named(client).tier == "software"


@pytest.mark.parametrize(
    "text",
    [
        "[1]", "{", "/nowhere/issuers.json", '{"http://a.example": null}', '{"https://a.example/x": null}',
        '{"https://a.example": []}', '{"https://a.example": {"keys": 1}}',
    ],
)  # fmt: skip
def test_issuers_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SERVICE_AAUTH_ISSUERS", text)
    with pytest.raises(GraphmemError, match="SERVICE_AAUTH_ISSUERS"):
        load()


def test_issuers_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    path = tmp_path / "issuers.json"
    path.write_text(json.dumps({ISSUER: None}))
    monkeypatch.setenv("SERVICE_AAUTH_ISSUERS", str(path))
    assert json.loads(load().aauth_issuers) == {ISSUER: None}
    assert Settings().min_tier == "anonymous"


# Many alterations


def test_no_request_that_was_altered_at_random_is_accepted() -> None:
    """What is accepted after an alteration must be, line for line, what was signed."""
    rng = random.Random(9421)
    originals = [
        made(key_header=jwt(), query="a=1&b=2"),
        made(P256, jwt(P256)),
        made(),
        made(P256, method="GET", body=b"", query="q=x"),
    ]
    for original in originals:
        assert isinstance(outcome(original), Actor)
    characters = [chr(code) for code in range(32, 127)] + ["\t", "\xe9", "\x00"]
    refused, loop = 0, asyncio.new_event_loop()
    for _ in range(ALTERATIONS):
        original = rng.choice(originals)
        request = Request(
            original.method, original.path, original.query, original.body, list(original.headers)
        )
        alter(request, rng, characters)
        if is_same(request, original):
            continue
        SERVICE.requests._seen.clear()
        try:
            actor = loop.run_until_complete(SERVICE.actor(request))
        except AgentSignatureInvalid:
            refused += 1
            continue
        raise AssertionError(f"accepted: {request} as {actor}")
    loop.close()
    assert refused > 0.95 * ALTERATIONS


def alter(request: Request, rng: random.Random, characters: list[str]) -> None:
    """Change one thing: some characters of a part, a header that is dropped, doubled or swapped."""
    kind = rng.random()
    if kind < 0.1:
        name, value = rng.choice(request.headers)
        if rng.random() < 0.5:
            request.drop(name)
        else:
            request.headers.append((name, value))
    elif kind < 0.15:
        first, other = rng.sample(range(len(request.headers)), 2)
        (name, value), (second_name, second_value) = request.headers[first], request.headers[other]
        request.headers[first], request.headers[other] = (name, second_value), (second_name, value)
    elif kind < 0.35:
        part = rng.choice(["method", "path", "query", "body"])
        text = getattr(request, part)
        text = text.decode("latin-1") if isinstance(text, bytes) else text
        new = mutated(text, rng, characters)
        setattr(request, part, new.encode("latin-1") if part == "body" else new)
    else:
        place = rng.randrange(len(request.headers))
        name, value = request.headers[place]
        request.headers[place] = (name, mutated(value, rng, characters))


def mutated(text: str, rng: random.Random, characters: list[str]) -> str:
    begin = rng.randrange(len(text) + 1)
    end = min(len(text), begin + rng.choice([0, 1, 1, 2, 6]))
    return text[:begin] + "".join(rng.choices(characters, k=rng.choice([0, 1, 1, 1, 2, 5]))) + text[end:]


def is_same(request: Request, original: Request) -> bool:
    """Return whether a request says the same: blanks around the value of a header mean nothing."""
    parts = [(r.method, r.path, r.query, r.body, sorted((n, v.strip(" \t")) for n, v in r.headers))
             for r in (request, original)]  # fmt: skip
    return parts[0] == parts[1]
