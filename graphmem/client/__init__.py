"""A client of a service: the operations over HTTP, with the same answers and errors as in process."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

import httpx

from graphmem.auth import HOOK_HEADER
from graphmem.client.logins import Login, Logins, canonical_address
from graphmem.errors import AuthInvalid, GraphmemError, ServiceUnreachable
from graphmem.model import canonical
from graphmem.service.wire import request_of

if TYPE_CHECKING:
    from graphmem.client.agent_signing import AgentSigner

TIMEOUT_SECONDS = 60.0
RENEWAL_SECONDS: Final = 30  # an access token that expires in fewer seconds is renewed before it is sent


class Client:
    def __init__(
        self, base_url: str, token: str | None, name: str = "client", *, login: Login | None = None,
        agent: AgentSigner | None = None, by_hook: bool = False,
    ) -> None:  # fmt: skip
        """Make the connection; nothing is sent yet.

        Without a token it sends that of ``login``, else of the login that `graphmem auth login` keeps for the
        address, and renews it. An ``agent`` signs each request, by default that of ``GRAPHMEM_AGENT_KEY``.
        ``by_hook``: a hook of an agent asks.

        Raises:
            ServiceUnreachable: the address does not begin with http:// or https://.
            CredentialsRefused: the login for the address, or the key of the agent, cannot be read.
        """
        if not re.match("https?://", base_url):
            host = base_url.rpartition("://")[2][:200]
            raise ServiceUnreachable(
                f"{base_url!r:.200} does not begin with http:// or https://: write --base-url http://{host}",
                base_url=base_url[:200],
            )
        sent = {"X-Client-Name": name} | ({"Authorization": f"Bearer {token}"} if token else {})
        sent |= {HOOK_HEADER: "1"} if by_hook else {}
        self._base = base_url.rstrip("/")
        self._login = None if token else login or _kept(base_url)
        auth = KeptBearer(Logins(), self._login) if self._login else None
        agent = agent or _configured_agent()
        self._http = httpx.Client(
            base_url=self._base, headers=sent, auth=auth, timeout=TIMEOUT_SECONDS,
            # To load the certificates of authorities takes some 30 ms: only where something is encrypted.
            verify=base_url.startswith("https://"),
            # A request that is sent again is signed again: the service takes each signature once.
            event_hooks={"request": [agent.sign_request]} if agent else {},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def call(self, route: tuple[str, str], raw: Mapping[str, Any]) -> bytes:
        """Return the answer of an operation as JSON. ``route``: its method and path.

        Raises:
            GraphmemError: the error that the service answered.
            ServiceUnreachable: no graphmem service answers.
            AuthInvalid: the login that is kept for the service has ended.
            CredentialsRefused: the login cannot be read or written.
        """
        method, url, body = request_of(route, raw)
        try:
            answer = self._http.request(
                method, url, content=body, headers={"Content-Type": "application/json"}
            )
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self._unreachable(exc) from exc
        if not answer.is_success:
            raise self._error(answer)
        return answer.content

    @contextlib.contextmanager
    def stream(
        self, method: str, url: str, body: Mapping[str, Any] | None = None,
        timeout: float | None = TIMEOUT_SECONDS,
    ) -> Iterator[tuple[httpx.Headers, Iterator[bytes]]]:  # fmt: skip
        """Yield the headers and the chunks of an answer, as the service sends them.

        Args:
            body: what is sent as JSON, if anything is.
            timeout: seconds for which the service may be silent; None: any time.

        Raises:
            GraphmemError: the error that the service answered.
            ServiceUnreachable: no graphmem service answers, or the connection broke before the last byte.
        """
        # The bytes are wanted as they are stored: no encoding.
        sent: dict[str, Any] = {"headers": {"Accept-Encoding": "identity"}, "json": body, "timeout": timeout}
        try:
            with self._http.stream(method, url, **sent) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._error(answer)
                yield answer.headers, answer.iter_raw()
        except (httpx.RemoteProtocolError, httpx.ReadError) as exc:
            raise ServiceUnreachable(
                f"the service at {self._base} broke the connection before the file was complete",
                base_url=self._base,
                reason=type(exc).__name__,
            ) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self._unreachable(exc) from exc

    def _unreachable(self, exc: Exception) -> ServiceUnreachable:
        return ServiceUnreachable(
            f"no service answers at {self._base}: start it with `graphmem serve`, or correct --base-url",
            base_url=self._base,
            reason=type(exc).__name__,
        )

    def _error(self, answer: httpx.Response) -> GraphmemError:
        try:
            return GraphmemError.of(canonical.decode(answer.content))
        except ValueError:
            return ServiceUnreachable(
                f"{self._base} answers {answer.status_code}, but it is not a graphmem service",
                base_url=self._base,
            )


class KeptBearer(httpx.Auth):
    """Adds the token of a login to each request, and renews the login once where that helps."""

    def __init__(self, logins: Logins, login: Login) -> None:
        self._logins = logins
        self.login = login

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the token, and again with a new token after 401.

        A request that was answered 401 has changed nothing, so it may be sent again.

        Raises:
            AuthInvalid: the login has ended, here or at the service; it is forgotten.
            ServiceUnreachable: the login must be renewed, and its server does not answer; it is kept.
        """
        expires_at = self.login.expires_at
        if self.login.can_renew and expires_at is not None and expires_at - time.time() < RENEWAL_SECONDS:
            self._renew()
        answer = yield self._with_token(request)
        if answer.status_code == 401 and "Signature-Error" not in answer.headers and self.login.can_renew:
            self._renew()
            yield self._with_token(request)

    def _with_token(self, request: httpx.Request) -> httpx.Request:
        request.headers["Authorization"] = f"Bearer {self.login.secrets.token}"
        return request

    def _renew(self) -> None:
        """Renew the login, one process at a time; another process may have done so. A refresh token is good
        once: a second use ends all tokens of the login at the service."""
        from graphmem.client import oauth_login

        address = self.login.address
        ended = AuthInvalid(
            f"the login at {address} has ended: run `graphmem auth login --base-url {address}`"
        )
        with self._logins.changing(address):
            current = self._logins.get(address)
            if current is None:
                raise ended
            if current.secrets.token == self.login.secrets.token:
                try:
                    with oauth_login.http_client() as http:
                        new = oauth_login.renew(http, current)
                except oauth_login.GrantEnded:
                    self._logins.forget(address)
                    raise ended from None
                current = self._logins.save(replace(current, **new))
            self.login = current


def _configured_agent() -> AgentSigner | None:
    """Return the agent of the environment. What signs is imported only where there is one."""
    if not os.environ.get("GRAPHMEM_AGENT_KEY"):
        return None
    from graphmem.client.agent_signing import AgentSigner

    return AgentSigner.configured()


def _kept(base_url: str) -> Login | None:
    try:
        return Logins().get(canonical_address(base_url))
    except httpx.InvalidURL:
        # The first call reports it.
        return None
