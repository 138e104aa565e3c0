"""Calls another copy over REST, with an API key of its account that has the scope ``copy``."""

import contextlib
import ipaddress
from types import TracebackType
from typing import Any, Final, Self

import httpx

from graphmem.dump.pages import Page
from graphmem.errors import CopyRefused, GraphmemError, InvalidInput, ServiceUnreachable
from graphmem.model import canonical

FACTS: Final = "/copies/facts"
TIMEOUT_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 5.0


def checked_url(url: str) -> str:
    """Return the address of a service to keep. Raises InvalidInput: it is neither https nor of loopback."""
    try:
        parsed = httpx.URL(url.strip().rstrip("/"))
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    is_loopback = parsed.host == "localhost"
    with contextlib.suppress(ValueError):
        is_loopback = is_loopback or ipaddress.ip_address(parsed.host).is_loopback
    if parsed.userinfo or not (parsed.scheme == "https" or (parsed.scheme == "http" and is_loopback)):
        message = "give an https:// address without a user, or an http:// address of this machine's loopback"
        raise InvalidInput.at("$.url", message)
    return str(parsed)


class RemoteCopy:
    """Another copy. Every method raises what the other service answers, or ServiceUnreachable."""

    problem, files = "", 0  # what an exchange waits for; the files that were taken with pages

    def __init__(self, url: str, key: str | None, id: str = "") -> None:
        self.url, self.id, self.noted = url, id, dict[str, Any]()  # ``noted``: with each page
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(
            base_url=url, headers={**headers, "X-Client-Name": "graphmem-copy"},
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS),
            verify=url.startswith("https://"),
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the answer of an operation of the other copy: an object."""
        is_read = method == "GET"
        request = self._http.build_request(
            method, path, headers={"Content-Type": "application/json"}, params=arguments if is_read else None,
            content=None if is_read else canonical.encode(arguments),
        )  # fmt: skip
        try:
            answer = await self._http.send(request)
        except httpx.HTTPError as exc:
            raise ServiceUnreachable(
                f"no service answers at {self.url}", base_url=self.url, reason=type(exc).__name__
            ) from exc
        try:
            body = canonical.decode(answer.content)
            error = None if answer.is_success else GraphmemError.of(body)
        except ValueError as exc:
            raise self._no_service(answer.status_code) from exc
        if error is not None:
            raise error
        if not isinstance(body, dict):
            raise self._no_service(answer.status_code)
        return body

    async def resume(self, pushed: int, node_key: str) -> tuple[int, str]:
        """Return the place from which on facts are to be given, and the copy whose facts are left out."""
        return pushed, self.id

    async def give(self, own_id: str, set_id: str, page: Page) -> Any:
        """Send a page of facts; return what ``copies.take`` answers."""
        return await self.ask("POST", FACTS, copy_id=own_id, data=page.data, sha256=page.sha256)

    def _no_service(self, status: int) -> GraphmemError:
        if status in (404, 405):
            reason = "it is no graphmem service, or an older one that knows no copies: update it"
            return CopyRefused(f"{self.url}: {reason}", reason=reason)
        return ServiceUnreachable(
            f"{self.url} answers {status}, but it is not a graphmem service", base_url=self.url
        )
