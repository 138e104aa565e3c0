"""The arguments of requests that may hold a file: as JSON with the file in base64, or as a form.

A large JSON body is in memory as a whole, so few are read at a time. The file of a form is on the disk, and
its memory is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from graphmem.api.body import (
    DRAINED_BYTES_LIMIT,
    announced_size,
    longest_content,
    object_of,
    parts_of,
    refusal,
)
from graphmem.arguments import Arguments, holding_json
from graphmem.auth import request_actor
from graphmem.database.admission import Admission
from graphmem.errors import InvalidInput, InvalidJson, PayloadTooLarge
from graphmem.model import canonical
from graphmem.settings import Settings
from graphmem.storing.received_files import Upload, decoded, too_large

MULTIPART: Final = "multipart/form-data"
ALLOWANCE_BYTES: Final = 1 << 20  # bytes that a body may have beside the largest file
LARGE_BODIES: Final = 2  # large JSON bodies that one process holds at a time
WAIT_SECONDS: Final = 20.0  # seconds that another one waits for its turn
FIELDS_LIMIT: Final = 50


class Intake:
    """Reads the bodies of requests that may hold a file, in one process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._places = Admission(LARGE_BODIES, WAIT_SECONDS, what="large JSON bodies are read")

    @contextlib.asynccontextmanager
    async def arguments(self, request: Request, model: type[Arguments]) -> AsyncIterator[dict[str, Any]]:
        """Yield the arguments of a request; a file is an :class:`Upload`, or its base64 as it came.

        Raises:
            FileTooLarge: the file is larger than the largest one may be.
            PayloadTooLarge: what is beside the file is larger than ``Settings.max_body_bytes``.
            ServiceBusy: other large bodies were held for too long.
            UnsupportedMediaType, InvalidJson, InvalidInput: the body is neither JSON nor a form, or damaged.
        """
        async with contextlib.AsyncExitStack() as stack:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            read = self._form(request, model, stack) if kind == MULTIPART else self._json(request, stack)
            yield await read

    async def _json(self, request: Request, stack: contextlib.AsyncExitStack) -> dict[str, Any]:
        most = self._settings.max_body_bytes
        # The file is in base64.
        limit = max(4 * -(-self._settings.max_file_bytes // 3) + ALLOWANCE_BYTES, most)
        size = announced_size(request)
        if size > DRAINED_BYTES_LIMIT:
            raise PayloadTooLarge(size=size, max_size=limit)
        place = self._places.place(request_actor(request.scope).owner)
        is_large = size > most
        if is_large:
            await stack.enter_async_context(place)
        body = bytearray()
        parts = parts_of(request, self._settings)
        async for part in parts:
            body += part
            if len(body) > limit:
                raise await refusal(body, parts, self._settings)
            if len(body) > most and not is_large:
                # Its length was not announced.
                is_large = True
                await stack.enter_async_context(place)
        content_type = request.headers.get("content-type", "")
        if len(body) <= most:
            return object_of(bytes(body), content_type)
        return await asyncio.to_thread(_large_object, body, content_type, self._settings)

    async def _form(
        self, request: Request, model: type[Arguments], stack: contextlib.AsyncExitStack
    ) -> dict[str, Any]:
        size = announced_size(request)
        if size > DRAINED_BYTES_LIMIT:
            raise self._too_large_form(size)
        try:
            parser = _FormParser(request.headers, self._form_parts(request), self._settings)
            form = await parser.parse()
        except MultiPartException as exc:
            raise InvalidInput.at("$", f"the form cannot be read: {exc.message}") from None
        stack.push_async_callback(form.close)
        if parser.file_size > self._settings.max_file_bytes:
            raise too_large(parser.file_size, self._settings.max_file_bytes)
        raw: dict[str, Any] = {}
        json_names = holding_json(model)
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                _take_file(raw, name, value)
            elif name == "arguments":
                if not isinstance(members := _value(name, value), dict):
                    raise InvalidJson(reason="the part arguments must be an object")
                for each, inner in members.items():
                    _put(raw, each, inner)
            else:
                _put(raw, name, _value(name, value) if name in json_names else value)
        return raw

    async def _form_parts(self, request: Request) -> AsyncIterator[bytes]:
        size = 0
        async for part in parts_of(request, self._settings):
            size += len(part)
            if size > DRAINED_BYTES_LIMIT:
                raise self._too_large_form(size)
            yield part

    def _too_large_form(self, size: int) -> PayloadTooLarge:
        return PayloadTooLarge(size=size, max_size=self._settings.max_file_bytes + ALLOWANCE_BYTES)


class _FormParser(MultiPartParser):
    """The parser of forms, with a limit on the texts together: they are kept in memory.

    A form without its closing boundary is refused: the library would drop its last part. A file that is too
    large is counted to its end (``file_size``, in bytes), and not kept.
    """

    def __init__(self, headers: Any, stream: Any, settings: Settings) -> None:
        self._most, self._most_of_file = settings.max_body_bytes, settings.max_file_bytes
        super().__init__(headers, stream, max_files=1, max_fields=FIELDS_LIMIT, max_part_size=self._most)
        self._texts = 0
        self.file_size = 0
        self._is_complete = False

    async def parse(self) -> FormData:
        form = await super().parse()
        if not self._is_complete:
            for file in self._files_to_close_on_error:
                file.close()
            raise MultiPartException("it ends before its closing boundary")
        return form

    def on_end(self) -> None:
        self._is_complete = True

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._current_part.file is None:
            self._texts += end - start
            if self._texts > self._most:
                raise PayloadTooLarge(size=self._texts, max_size=self._most)
        else:
            self.file_size += end - start
            if self.file_size > self._most_of_file:
                return
        super().on_part_data(data, start, end)


def _take_file(raw: dict[str, Any], name: str, file: UploadFile) -> None:
    """Add the file of a form to the arguments; a form without a choice has an empty one without a name."""
    if not file.filename and not file.size:
        return
    if name not in ("file", "file_content"):
        raise InvalidInput.at(f"$.{name[:200]}", "the part of the file is named file")
    _put(raw, "file_content", Upload(file.file))
    if file.filename and file.filename.strip():
        raw.setdefault("original_filename", file.filename)
    # Browsers and libraries send this one for every file that they do not know.
    if file.content_type and file.content_type != "application/octet-stream":
        raw.setdefault("mime_type", file.content_type)


def _put(raw: dict[str, Any], name: str, value: Any) -> None:
    if name in ("original_filename", "mime_type") and isinstance(raw.get("file_content"), Upload):
        # What the arguments say goes before what the part of the file says.
        raw[name] = value
    elif raw.setdefault(name, value) is not value and raw[name] != value:
        raise InvalidInput.at(f"$.{name[:200]}", f"{name[:200]} is given twice, with different values")


def _value(name: str, text: str) -> Any:
    try:
        return canonical.decode(text)
    except ValueError as exc:
        raise InvalidJson(f"the part {name[:200]} is not valid JSON: {exc}", reason=str(exc)[:200]) from None


def _large_object(body: bytearray, content_type: str, settings: Settings) -> dict[str, Any]:
    """Return the object of a body that is larger than one without a file may be.

    Its file is decoded without a copy as text. What is beside the file is decoded as any
    other body, within the limit of any other body.
    """
    most = settings.max_body_bytes
    start, end = longest_content(body)
    if end == len(body) or len(body) - (end - start) > most:
        raise PayloadTooLarge(size=len(body), max_size=most)
    placeholder = secrets.token_hex(16)
    with memoryview(body) as view:
        raw = object_of(b"".join((view[:start], placeholder.encode(), view[end:])), content_type)
        if raw.get("file_content") != placeholder:
            raise PayloadTooLarge(size=len(body), max_size=most)
        # Some libraries write a backslash before each slash.
        is_escaped = body.find(b"\\", start, end) >= 0
        with view[start:end] as content:
            plain = bytes(content).replace(b"\\/", b"/") if is_escaped else content
            file = decoded(plain, settings.max_file_bytes)
    return {**raw, "file_content": Upload(file)}
