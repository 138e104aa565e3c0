"""Reading the JSON body of a request, within limits of size and time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from graphmem.auth.agent_keys import refused
from graphmem.errors import AgentSignatureInvalid, InvalidJson, PayloadTooLarge, UnsupportedMediaType
from graphmem.model import canonical
from graphmem.settings import Settings
from graphmem.storing.received_files import decoded_size, too_large

DRAINED_BYTES_LIMIT = 256_000_000
"""Bytes of a refused body that are read and dropped. A sender reads the answer only after it has sent all."""
DRAIN_SECONDS = 60.0  # seconds for which the rest of a refused body is read
MEMBERS_LIMIT: Final = 1_000  # members named ``file_content`` of a body among which the file is looked for
_MEMBER: Final = re.compile(rb'"file_content"[ \t\r\n]*+:[ \t\r\n]*+"')
PART_BYTES: Final = 65_536  # bytes of one part of an inflated body
_WINDOWS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The codings of bodies that are inflated, with the ``wbits`` of :mod:`zlib`."""
_UNREAD = "body_is_unread"


async def read_json(request: Request, settings: Settings) -> dict[str, Any]:
    """Return the JSON object in the body of a request; an empty body is an empty object.

    Raises:
        PayloadTooLarge: the body is larger than ``Settings.max_body_bytes``.
        UnsupportedMediaType: the body is not declared as JSON.
        InvalidJson: the body is malformed, not an object, or has NaN, a lone surrogate or too deep nesting.
    """
    return object_of(await read_bytes(request, settings), request.headers.get("content-type", ""))


def object_of(body: bytes, content_type: str) -> dict[str, Any]:
    """Return the JSON object of a body; an empty body is an empty object.

    Raises UnsupportedMediaType, InvalidJson: as :func:`read_json`.
    """
    if not body:
        return {}
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].strip().strip('"')
    if kind.strip() != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise UnsupportedMediaType(content_type=content_type[:100])
    try:
        value = canonical.decode(body)
    except ValueError as exc:
        raise InvalidJson(reason=str(exc)[:200]) from None
    if not isinstance(value, dict):
        raise InvalidJson(reason=f"the body must be an object, not {_NAMES.get(type(value), 'this')}")
    return value


async def read_bytes(request: Request, settings: Settings, *, holds_file: bool = False) -> bytes:
    """Return the body of a request.

    ``holds_file``: a body that is too large because of its file is read to its end, and refused as a file.

    Raises PayloadTooLarge: the body is larger than ``Settings.max_body_bytes``. Raises InvalidJson: as
    :func:`parts_of`.
    """
    size, most = announced_size(request), settings.max_body_bytes
    if size > (DRAINED_BYTES_LIMIT if holds_file else most):
        if size <= DRAINED_BYTES_LIMIT:
            # :class:`Drained` reads it after the answer. A sender of very many bytes is cut off.
            request.scope.setdefault("state", {})[_UNREAD] = True
        raise PayloadTooLarge(size=size, max_size=most)
    body, parts = bytearray(), parts_of(request, settings)
    async for part in parts:
        body += part
        if len(body) > most:
            raise await refusal(body, parts, settings)
    return bytes(body)


async def parts_of(request: Request, settings: Settings) -> AsyncIterator[bytes]:
    """Yield the parts of a body, within ``Settings.body_timeout`` for every ``max_body_bytes`` of it.

    Raises InvalidJson: the body did not arrive completely in time.
    """
    seconds, most = settings.body_timeout, settings.max_body_bytes
    loop = asyncio.get_running_loop()
    spent, size = 0.0, 0
    parts = request.stream()
    while True:
        begin = loop.time()
        try:
            async with asyncio.timeout(seconds * (1 + size / most) - spent):
                part = await anext(parts, None)
        except TimeoutError:
            raise InvalidJson(f"the body took longer than {seconds:g} seconds to arrive") from None
        except ClientDisconnect:
            raise InvalidJson("the connection was closed before the body was complete") from None
        if part is None:
            return
        # Only the time of the sender counts, not that in which the parts are written.
        spent += loop.time() - begin
        size += len(part)
        yield part


def announced_size(request: Request) -> int:
    """Return the length that a request announces for its body, in bytes; 0 if it announces none."""
    declared = request.headers.get("content-length", "")
    return int(declared[:18]) if declared.isascii() and declared.isdigit() else 0


def inflated(scope: Scope, receive: Receive, coding: str) -> Receive:
    """Return what receives the body of a request as it was before it was compressed (RFC 9110, 8.4).

    ``coding``: its Content-Encoding, which ``scope`` has no longer. Raises UnsupportedMediaType: another one.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return receive
    if coding not in _WINDOWS:
        message = f"the body is sent as {coding[:100]}: send it as gzip, or as it is"
        raise UnsupportedMediaType(message, content_encoding=coding[:100])
    left_out = (b"content-encoding", b"content-length")
    scope["headers"] = [each for each in scope["headers"] if each[0] not in left_out]
    parts = _inflated_parts(receive, zlib.decompressobj(_WINDOWS[coding]))

    async def next_part() -> Message:
        return await anext(parts, None) or await receive()

    return next_part


async def _inflated_parts(receive: Receive, inflater: Any) -> AsyncIterator[Message]:
    """Yield the messages of a compressed body, each of at most :data:`PART_BYTES`.

    Raises InvalidJson: the body is damaged, ends too early, or goes on after its end.
    """
    more, is_begun = True, False
    while more:
        message = await receive()
        if message["type"] != "http.request":
            yield message
            return
        rest, more = message.get("body", b""), message.get("more_body", False)
        is_begun = is_begun or bool(rest)
        is_full = bool(rest)
        while rest or is_full:
            try:
                part = inflater.decompress(rest, PART_BYTES)
            except zlib.error:
                raise InvalidJson("the body is not compressed as its Content-Encoding says") from None
            rest, is_full = inflater.unconsumed_tail, len(part) == PART_BYTES
            yield {"type": "http.request", "body": part, "more_body": True}
            # The next part is inflated at once: others have their turn before it.
            await asyncio.sleep(0)
        if inflater.unused_data or (is_begun and not (more or inflater.eof)):
            raise InvalidJson("the compressed body ends before or after its last byte")
    yield {"type": "http.request", "body": b"", "more_body": False}


class Drained:
    """The answer to a request whose body was refused before its end: answered at once, and then read.

    A sender may read the answer only after it has sent all.
    """

    def __init__(self, answer: Response) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_open(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if is_body else message)

        await self._answer(scope, receive, send_open)
        # A body that is refused anyway may also differ from its digest.
        with contextlib.suppress(TimeoutError, AgentSignatureInvalid):
            async with asyncio.timeout(DRAIN_SECONDS):
                left = DRAINED_BYTES_LIMIT
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body"):
                        break
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def drained(answer: Response, scope: Scope) -> Response | Drained:
    """Return the answer to a request; one whose body is not read yet is read after it."""
    return Drained(answer) if scope.get("state", {}).pop(_UNREAD, False) else answer


@dataclass(slots=True)
class Replayed:
    """The body of a request. It may be read before the application runs, and is then replayed to it."""

    _scope: Scope
    _receive: Receive
    _settings: Settings
    holds_file: bool = False
    _is_large: bool = False
    _expected: list[tuple[Any, bytes]] = field(default_factory=list[tuple[Any, bytes]])
    _body: bytes | None = None
    _is_replayed: bool = False

    async def read(self) -> bytes:
        """Return the body, within the limits of every body.

        Raises PayloadTooLarge, InvalidJson: as :func:`read_bytes`.
        """
        if self._body is None:
            request = Request(self._scope, self._receive)
            self._body = await read_bytes(request, self._settings, holds_file=self.holds_file)
        return self._body

    async def is_empty(self) -> bool:
        """Return whether there is no body; raises PayloadTooLarge, InvalidJson: as :func:`read_bytes`."""
        self._is_large = announced_size(Request(self._scope)) > self._settings.max_body_bytes
        return not self._is_large and not await self.read()

    async def expect(self, digests: Mapping[str, bytes]) -> None:
        """Compare the body with its digests by algorithms of :mod:`hashlib`.

        A large body, as one with a file, is not held for that. It is compared while the application reads it,
        and its last part is not handed on if it differs.

        Raises AgentSignatureInvalid: it differs. Raises PayloadTooLarge, InvalidJson: as :func:`read_bytes`.
        """
        self._expected = [(hashlib.new(name), digest) for name, digest in digests.items()]
        if not self._is_large:
            self._take(await self.read(), is_last=True)

    def _take(self, part: bytes, is_last: bool) -> None:
        for digest, expected in self._expected:
            digest.update(part)
            if is_last and not hmac.compare_digest(digest.digest(), expected):
                raise refused("invalid_signature", "the body is not that of Content-Digest")

    async def receive(self) -> Message:
        """Return the next message of the request: the whole body if it was read, then what follows."""
        if self._body is not None and not self._is_replayed:
            self._is_replayed = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        message = await self._receive()
        if self._is_large and message["type"] == "http.request":
            self._take(message.get("body", b""), is_last=not message.get("more_body"))
        return message


async def refusal(data: bytearray, rest: AsyncIterator[bytes], settings: Settings) -> PayloadTooLarge:
    """Return the error of a JSON body that is too large: it is of its file if that alone is too large.

    Args:
        data: what was read of the body. The ``rest`` is read to its end and dropped, to count the file.
        settings: with the limits of a body without its file, and of a file.
    """
    start, end = longest_content(data)
    size, is_open = len(data), start < end == len(data)
    characters, ending = end - start - data.count(b"\\", start, end), bytes(data[max(start, end - 2) : end])
    async for part in rest:
        size += len(part)
        if is_open:
            content, quote, _ = part.partition(b'"')
            characters += len(content) - content.count(b"\\")
            ending, is_open = (ending + content[-2:])[-2:], not quote
        if size > DRAINED_BYTES_LIMIT:
            break
    file_size = decoded_size(characters, ending)
    if file_size > settings.max_file_bytes:
        return too_large(file_size, settings.max_file_bytes)
    return PayloadTooLarge(size=size, max_size=settings.max_body_bytes)


def longest_content(body: bytearray) -> tuple[int, int]:
    """Return where the longest text of a member ``file_content`` begins and ends; equal if there is none.

    A text without an end ends with the body.
    """
    longest = 0, 0
    place = 0
    for _ in range(MEMBERS_LIMIT):
        member = _MEMBER.search(body, place)
        if member is None:
            break
        place = body.find(b'"', member.end())
        if place < 0:
            place = len(body)
        longest = max(longest, (member.end(), place), key=lambda each: each[1] - each[0])
    return longest


_NAMES = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
