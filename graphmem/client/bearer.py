"""What a client sends of a kept login: its token, renewed before it expires and when it is refused."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Final

import httpx

from graphmem.client.logins import Login, Logins
from graphmem.errors import AuthInvalid

RENEWAL_SECONDS: Final = 30
"""An access token that expires in fewer seconds is renewed before it is sent."""


class KeptBearer(httpx.Auth):
    """Adds the token of a login to each request, and renews the login once where that helps."""

    def __init__(self, logins: Logins, login: Login) -> None:
        self._logins = logins
        self.login = login

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the token, and again with a new token after 401.

        A request that was answered 401 has changed nothing, so it may be sent again.

        Raises:
            AuthInvalid: the login has ended at the service.
            ServiceUnreachable: the login must be renewed, and its server does not answer.
        """
        if self._expires_soon():
            self._renew()
        answer = yield self._with_token(request)
        if answer.status_code == 401 and self.login.can_renew:
            self._renew()
            yield self._with_token(request)

    def _with_token(self, request: httpx.Request) -> httpx.Request:
        request.headers["Authorization"] = f"Bearer {self.login.secrets.token}"
        return request

    def _expires_soon(self) -> bool:
        expires_at = self.login.expires_at
        return self.login.can_renew and expires_at is not None and expires_at - time.time() < RENEWAL_SECONDS

    def _renew(self) -> None:
        self.login = renewed(self._logins, self.login)


def renewed(logins: Logins, login: Login) -> Login:
    """Renew a login, one process at a time. Returns the new login, which may be that of another process.

    A refresh token is good once: a second use ends all tokens of the login at the service.

    Raises:
        AuthInvalid: the login has ended, here or at the service; it is forgotten.
        ServiceUnreachable: the authorization server does not answer; the login is kept.
    """
    from graphmem.client import oauth_login

    with logins.changing(login.address):
        current = logins.get(login.address)
        if current is None:
            raise _ended(login)
        if current.secrets.token != login.secrets.token:
            return current
        try:
            with oauth_login.http_client() as http:
                tokens = oauth_login.renew(http, current)
        except oauth_login.GrantEnded:
            logins.forget(login.address)
            raise _ended(login) from None
        new = replace(current, secrets=tokens.secrets, scopes=tokens.scopes, expires_at=tokens.expires_at)
        return logins.save(new)


def _ended(login: Login) -> AuthInvalid:
    return AuthInvalid(
        f"the login at {login.address} has ended: run `graphmem auth login --base-url {login.address}`"
    )
