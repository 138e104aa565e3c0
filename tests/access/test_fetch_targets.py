"""URLs and addresses that the guarded fetch refuses before it connects (attack 17)."""

from __future__ import annotations

import asyncio
import json
import socket

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.auth.guarded_fetch import (
    Fetcher,
    FetchRefused,
    is_public,
    read_url,
    resolve,
)
from tests.support.fetches import Resolver, unused
from tests.support.walks import walk_over

HOST = "documents.example.org"
URL = f"https://{HOST}/client.json"
PUBLIC = "93.184.216.34"
DOCUMENT = {"client_id": URL}
BODY = json.dumps(DOCUMENT).encode()


@walk_over(
    "url",
    [
        "http://documents.example.org/client.json",
        "ftp://documents.example.org/client.json",
        "file:///etc/passwd",
        "//documents.example.org/client.json",
        "documents.example.org/client.json",
        "",
        "https://documents.example.org:8443/client.json",
        "https://documents.example.org:0443/client.json",
        "https://user@documents.example.org/client.json",
        "https://user:secret@documents.example.org/client.json",
        "https://documents.example.org@127.0.0.1/client.json",
        "https://127.0.0.1\\@documents.example.org/client.json",
        "https://documents.example.org/client.json#part",
        "https://documents.example.org/client.json#",
        "https://documents.example.org/cli ent.json",
        "https://documents.example.org/client.json\r\nHost: internal",
        "https://documents.example.org\t/client.json",
        "https://localhost/client.json",
        "https://intranet/client.json",
        "https://documents.example.org./client.json",
        "https://127.0.0.1/client.json",
        "https://8.8.8.8/client.json",
        "https://[::1]/client.json",
        "https://[::ffff:127.0.0.1]/client.json",
        "https://[::1].example.org/client.json",
        "https://2130706433/client.json",
        "https://0x7f000001/client.json",
        "https://0x7f.1/client.json",
        "https://0177.0.0.1/client.json",
        "https://127.1/client.json",
        "https://①②⑦.⓪.⓪.①/client.json",
        "https://127。0。0。1/client.json",
        "https://documents.examp%6Ce.org/client.json",
        "https://dokumenté.example.org/client.json",
        f"https://{'a' * 64}.example.org/client.json",
        f"https://{'a.' * 130}org/client.json",
        f"https://documents.example.org/{'a' * 2048}",
    ],
)
def test_a_url_of_another_form_is_refused_before_its_name_is_resolved(url: str) -> None:
    resolver = Resolver([PUBLIC])
    with pytest.raises(FetchRefused) as refused:
        asyncio.run(Fetcher(resolve=resolver, connections=unused).fetch_json(url))
    assert refused.value.reason == "url"
    assert resolver.hosts == []


@given(st.text(st.sampled_from("aX0.-_:/\\@#?&[]% \t\r\n①。é\u202e"), max_size=30))
def test_a_url_that_is_accepted_names_the_host_that_httpx_would_connect_to(text: str) -> None:
    for url in (text, f"https://{text}", f"https://{HOST}{text}", f"https://{text}@{HOST}/"):
        try:
            target = read_url(url)
        except FetchRefused:
            continue
        assert httpx.URL(url).host == target.host


NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:53aa:64c::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd7a:115c:a1e0::1",
    "fe80::1",
    "fe80::1%1",
    "2606:4700::1%1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "",
    "localhost",
    "2130706433",
]


@walk_over("address", NOT_PUBLIC)
def test_a_name_with_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)
    for answers in ([address], [PUBLIC, address], [address, PUBLIC]):
        with pytest.raises(FetchRefused) as refused:
            asyncio.run(Fetcher(resolve=Resolver(answers), connections=unused).fetch_json(URL))
        assert refused.value.reason == "address"
        assert not address or address not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "93.184.216.34",
        "172.32.0.1",
        "100.128.0.1",
        "198.20.0.1",
        "2606:4700::1",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ],
)
def test_a_public_address_is_accepted(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.1", "①②⑦.⓪.⓪.①"])
def test_other_spellings_of_loopback_resolve_to_what_the_guard_refuses(host: str) -> None:
    try:
        addresses = asyncio.run(resolve(host))
    except (OSError, UnicodeError):
        return
    assert addresses
    assert not any(is_public(address) for address in addresses)


def test_a_name_that_does_not_resolve_is_refused() -> None:
    async def unknown(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for resolver in (unknown, Resolver([])):
        with pytest.raises(FetchRefused) as refused:
            asyncio.run(Fetcher(resolve=resolver, connections=unused).fetch_json(URL))
        assert refused.value.reason == "address"


def test_the_next_address_is_tried_where_one_does_not_accept() -> None:
    tried: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        tried.append(request.url.host)
        if request.url.host != "8.8.8.8":
            raise httpx.ConnectError("refused")
        headers = {"Content-Type": "application/json"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(BODY))

    def fetcher(*addresses: str) -> Fetcher:
        return Fetcher(resolve=Resolver(list(addresses)), connections=lambda: httpx.MockTransport(reply))

    document = asyncio.run(fetcher("2606:4700::1", PUBLIC, "8.8.8.8", "8.8.4.4").fetch_json(URL))
    assert (document.members, tried) == (DOCUMENT, ["2606:4700::1", PUBLIC, "8.8.8.8"])
    for addresses, wanted in (
        ([PUBLIC, PUBLIC, PUBLIC], [PUBLIC]),
        (["8.8.4.1", "8.8.4.2", "8.8.4.3", "8.8.8.8"], ["8.8.4.1", "8.8.4.2", "8.8.4.3"]),
    ):
        tried.clear()
        with pytest.raises(FetchRefused) as refused:
            asyncio.run(fetcher(*addresses).fetch_json(URL))
        assert (refused.value.reason, tried) == ("connection", wanted)


def test_a_slow_name_server_is_given_up_when_the_time_is_over() -> None:
    async def slow(host: str) -> list[str]:
        await asyncio.sleep(60)
        return [PUBLIC]

    with pytest.raises(FetchRefused) as refused:
        asyncio.run(Fetcher(resolve=slow, connections=unused, seconds=0.05).fetch_json(URL))
    assert refused.value.reason == "time"
