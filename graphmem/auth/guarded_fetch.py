"""The guarded fetch of a JSON document whose address a stranger chose, and the documents that are kept.

A client ID metadata document is fetched from a URL that an unauthenticated caller names, and a webhook is
sent to one that an account names. Neither may reach a host of the internal network, or cost more than a few
kilobytes and seconds:

- The URL is ``https``, has a host name with a dot, no user information, no fragment, and port 443; or it is
  of an origin that the settings allow by name, and then only what follows holds that is not of addresses.
- The name is resolved once. Every address of the answer must be public. The connection goes to one of these
  addresses, never to the name, so that a second answer of the resolver (DNS rebinding) changes nothing.
  SNI and the check of the certificate use the name.
- No redirect is followed, no proxy of the environment is used, no compression is accepted.
- A document has at most the bytes of the fetcher, by default :data:`DOCUMENT_BYTES_LIMIT`; what answers a
  webhook is not read. Everything takes at most its seconds, by default :data:`FETCH_SECONDS`.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

import httpx
import orjson
from cachetools import TLRUCache, TTLCache

from graphmem.auth.uris import read_uri
from graphmem.errors import OAuthRefused

T = TypeVar("T")

DOCUMENT_BYTES_LIMIT: Final = 5 * 1024
"""Largest body that is read, as the draft of client ID metadata documents recommends."""
FETCH_SECONDS: Final = 3.0  # time for resolving, connecting, TLS and the whole answer
CONNECT_SECONDS: Final = 1.0
"""Time for one address to accept a connection, or a third of the whole time; then the next is tried."""
HOST_CHARACTERS_LIMIT: Final = 253
ADDRESSES_TRIED_LIMIT: Final = 3
RESOLVER_THREADS: Final = 4
DOCUMENTS_LIMIT: Final = 256
FAILURES_LIMIT: Final = 1024
FAILURE_SECONDS: Final = 60.0  # how long a URL is not fetched again after a failure
CONCURRENT_FETCHES_LIMIT: Final = 32
KEPT_SECONDS_LIMIT: Final = 24 * 3600.0
KEPT_SECONDS_DEFAULT: Final = 300.0  # how long a document is kept whose answer has no ``Cache-Control``

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A host name: ASCII, at least one dot, the last label begins with a letter. No IP address fits."""
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "graphmem"}
_MEDIA_TYPE = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json", re.IGNORECASE)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SPECIAL: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments; ``is_global`` passes most of it
        "192.88.99.0/24",  # 6to4 relays
        "2001::/23",  # protocol assignments, Teredo
        "2002::/16",  # 6to4: holds an IPv4 address
        "3fff::/20",  # documentation
    )
)


class FetchRefused(Exception):
    """A URL, an address, a connection or an answer is refused: raised by all that reads or fetches one.

    ``reason`` is one word: url, address, connection, certificate, time, redirect, status, encoding,
    media_type, size, json, busy, or document where the caller's own rules refuse the content. The text is a
    sentence, and never holds what the server answered or an address that a name resolved to.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class FetchedDocument(NamedTuple):
    """A fetched JSON object. ``kept_seconds``: how long its server allows to keep it, 0 for not at all."""

    members: dict[str, Any]
    kept_seconds: float


class Target(NamedTuple):
    """A URL that may be fetched: its host in lower case, and path and query as they were sent. ``origin``:
    scheme, host and port, where the settings allow that origin whatever its address."""

    host: str
    path: str
    origin: str = ""

    def at(self, address: str) -> httpx.URL:
        """Return the URL at an address of its host."""
        base = httpx.URL(self.origin) if self.origin else httpx.URL(scheme="https", host=address)
        return base.copy_with(raw_path=self.path.encode("ascii"))


Resolve = Callable[[str], Awaitable[list[str]]]


def read_url(url: str, allowed: Collection[str] = ()) -> Target:
    """Return what of a URL may be fetched; nothing is resolved. Of ``allowed`` origins it may be any URL."""
    try:
        parts = read_uri(url)
    except ValueError as exc:
        raise FetchRefused("url", f"the URL {exc}") from exc
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    origin = f"{parts.scheme}://{parts.host}" + (f":{parts.port}" if parts.port else "")
    if origin in allowed:
        return Target(parts.host, path, origin)
    if parts.scheme != "https":
        raise FetchRefused("url", "the URL does not begin with https://")
    if parts.port not in ("", "443"):
        raise FetchRefused("url", "the URL has another port than 443")
    if len(parts.host) > HOST_CHARACTERS_LIMIT or not _HOST.fullmatch(parts.host):
        raise FetchRefused("url", "the URL has no host name with a dot, or has an IP address")
    return Target(parts.host, path)


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public internet. ``ipaddress.is_global`` passes multicast,
    NAT64 and 6to4 addresses; an IPv4 address in an IPv6 address is judged itself."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id is not None:
            return False
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _GLOBAL_UNICAST:
            return False
    if any(ip in network for network in _SPECIAL if network.version == ip.version):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not ip.is_unspecified


@cache
def _resolver_threads() -> ThreadPoolExecutor:
    # Threads of their own: slow name servers must not take the threads that hash passwords.
    return ThreadPoolExecutor(RESOLVER_THREADS, thread_name_prefix="resolve")


async def resolve(host: str) -> list[str]:
    """Return the addresses of a host, as the system's resolver orders them. Raises OSError: it does not
    resolve."""
    look_up = partial(socket.getaddrinfo, host, 443, type=socket.SOCK_STREAM)
    entries = await asyncio.get_running_loop().run_in_executor(_resolver_threads(), look_up)
    return [str(entry[4][0]) for entry in entries]


@cache
def default_tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()


def connections(tls: ssl.SSLContext | None = None) -> httpx.AsyncBaseTransport:
    """Return a transport for one fetch. ``tls`` is :func:`default_tls`; a test trusts another authority. It
    pools connections by address, and the next fetch may want another host at that address."""
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=tls or default_tls(), trust_env=False, limits=limits)


class Fetcher:
    """Fetches documents. ``resolve`` answers the addresses of a host, ``connections`` makes the transport."""

    def __init__(
        self, *, resolve: Resolve = resolve,
        connections: Callable[[], httpx.AsyncBaseTransport] = connections,
        seconds: float = FETCH_SECONDS, bytes_limit: int = DOCUMENT_BYTES_LIMIT,
    ) -> None:  # fmt: skip
        self._resolve, self._connections = resolve, connections
        self._seconds, self._bytes_limit = seconds, bytes_limit

    async def fetch_json(self, url: str) -> FetchedDocument:
        return await self._exchange(read_url(url), partial(_read, bytes_limit=self._bytes_limit))

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], allowed: Collection[str] = ()
    ) -> None:
        """Send a JSON body to a URL. Its answer must have a status from 200 to 299; the rest is not read."""
        await self._exchange(read_url(url, allowed), _accepted, "POST", body, headers)

    async def _exchange(
        self, target: Target, read: Callable[[str, httpx.Response], Awaitable[T]], method: str = "GET",
        body: bytes | None = None, headers: Mapping[str, str] = _HEADERS,
    ) -> T:  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                addresses = [target.host] if target.origin else await self._public_addresses(target.host)
                host = target.origin.partition("//")[2] or target.host
                request = {"headers": {"Host": host, **_HEADERS, **headers}, "content": body}
                return await self._send(target, read, addresses, method=method, **request)
        except (TimeoutError, httpx.TimeoutException) as exc:
            raise FetchRefused("time", f"{target.host} did not answer within {self._seconds:g} s") from exc
        except (httpx.HTTPError, OSError) as exc:
            raise FetchRefused("connection", f"{target.host} broke the connection") from exc

    async def _send(
        self, target: Target, read: Callable[[str, httpx.Response], Awaitable[T]], addresses: list[str],
        **request: Any,
    ) -> T:  # fmt: skip
        async with httpx.AsyncClient(
            transport=self._connections(),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(self._seconds, connect=max(CONNECT_SECONDS, self._seconds / 3)),
        ) as client:
            for address in addresses[:ADDRESSES_TRIED_LIMIT]:
                # SNI and certificate are those of the host, whatever its address.
                sni = {"sni_hostname": target.host}
                try:
                    sent = client.build_request(url=target.at(address), extensions=sni, **request)
                    response = await client.send(sent, stream=True)
                except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
                    if _is_tls(exc):
                        text = f"{target.host} does not speak TLS with a valid certificate"
                        raise FetchRefused("certificate", text) from exc
                    continue
                try:
                    return await read(target.host, response)
                finally:
                    await response.aclose()
        raise FetchRefused("connection", f"{target.host} cannot be reached")

    async def _public_addresses(self, host: str) -> list[str]:
        try:
            addresses = await self._resolve(host)
        except (OSError, UnicodeError) as exc:
            raise FetchRefused("address", f"{host} does not resolve") from exc
        if not addresses or not all(is_public(address) for address in addresses):
            raise FetchRefused("address", f"{host} does not resolve to public addresses only")
        return list(dict.fromkeys(addresses))


def _is_tls(error: BaseException | None) -> bool:
    """Return whether TLS failed, and not the network: then no other address is tried."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


async def _accepted(host: str, response: httpx.Response, statuses: range = range(200, 300)) -> None:
    if response.is_redirect or 300 <= response.status_code < 400:
        raise FetchRefused("redirect", f"{host} answered a redirect, and redirects are not followed")
    if response.status_code not in statuses:
        raise FetchRefused("status", f"{host} answered status {response.status_code}")


async def _read(host: str, response: httpx.Response, bytes_limit: int) -> FetchedDocument:
    await _accepted(host, response, range(200, 201))
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise FetchRefused("encoding", f"{host} answered a compressed body")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise FetchRefused("media_type", f"{host} answered no application/json")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > bytes_limit:
            raise FetchRefused("size", f"the document of {host} is larger than {bytes_limit} bytes")
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise FetchRefused("json", f"the document of {host} is not JSON") from exc
    if not isinstance(members, dict):
        raise FetchRefused("json", f"the document of {host} is not a JSON object")
    return FetchedDocument(members, kept_seconds(response.headers))


def kept_seconds(headers: httpx.Headers) -> float:
    """Return how long an answer may be kept, at most :data:`KEPT_SECONDS_LIMIT`."""
    control = headers.get("Cache-Control")
    if control is None:
        return KEPT_SECONDS_DEFAULT
    directives: dict[str, str] = {}
    for directive in control.lower().split(","):
        name, _, value = directive.partition("=")
        directives.setdefault(name.strip(), value.strip().strip('"'))
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    seconds = _whole_seconds(directives["max-age"]) if "max-age" in directives else KEPT_SECONDS_DEFAULT
    return min(max(seconds - _whole_seconds(headers.get("Age", "0")), 0.0), KEPT_SECONDS_LIMIT)


def _whole_seconds(text: str) -> float:
    # A number that cannot be read counts as 0. ``str.isdigit`` passes digits of other scripts.
    return float(text[:10]) if re.fullmatch(r"[0-9]+", text) else 0.0


class DocumentCache(Generic[T]):
    """Documents of one kind, by URL, in the memory of the process.

    ``parse(url, members)`` makes what is kept of a document; all callers share it, so it must be immutable.
    It raises ``ValueError`` or ``OAuthRefused`` for a document that breaks its rules.
    """

    def __init__(
        self, parse: Callable[[str, dict[str, Any]], T], fetcher: Fetcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._parse, self._fetcher = parse, fetcher or Fetcher()
        self._documents: TLRUCache[str, tuple[T, float]] = TLRUCache(
            DOCUMENTS_LIMIT, lambda url, kept, now: now + kept[1], clock
        )
        self._failures: TTLCache[str, FetchRefused] = TTLCache(FAILURES_LIMIT, FAILURE_SECONDS, clock)
        self._fetches: dict[str, asyncio.Task[T]] = {}

    async def get(self, url: str) -> T:
        """Return the document at a URL, fetched if it is not kept; callers at the same time share a fetch."""
        read_url(url)
        kept = self._documents.get(url)
        if kept is not None:
            return kept[0]
        failure = self._failures.get(url)
        if failure is not None:
            raise FetchRefused(failure.reason, str(failure))
        fetch = self._fetches.get(url)
        if fetch is None:
            if len(self._fetches) >= CONCURRENT_FETCHES_LIMIT:
                raise FetchRefused("busy", "too many documents are fetched at the moment: try again")
            fetch = asyncio.create_task(self._load(url))
            self._fetches[url] = fetch
            fetch.add_done_callback(lambda task: self._ended(url, task))
        # Shielded: a caller that goes away does not end the fetch of the others.
        return await asyncio.shield(fetch)

    def _ended(self, url: str, task: asyncio.Task[T]) -> None:
        del self._fetches[url]
        if not task.cancelled():
            task.exception()  # Reading it keeps asyncio from logging it when every caller has gone.

    async def _load(self, url: str) -> T:
        try:
            document = await self._fetcher.fetch_json(url)
            try:
                value = self._parse(url, document.members)
            except (ValueError, OAuthRefused) as exc:
                raise FetchRefused("document", str(exc)) from exc
        except FetchRefused as refused:
            self._documents.pop(url, None)
            self._failures[url] = refused
            raise
        self._failures.pop(url, None)
        if document.kept_seconds > 0:
            self._documents[url] = value, document.kept_seconds
        return value
