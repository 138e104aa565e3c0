"""``graphmem auth``: one-time codes, the credentials of services that commands call, and keys of agents."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import webbrowser
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import typer

from graphmem.cli.account import on_accounts
from graphmem.cli.session import Draw, Session, show, tell
from graphmem.errors import AuthInvalid, GraphmemError, InvalidInput, LoginFailed, NotFound
from graphmem.model import times

if TYPE_CHECKING:
    import httpx

    from graphmem.auth.accounts import Accounts
    from graphmem.client import Client
    from graphmem.client.logins import Login
    from graphmem.client.oauth_login import Authorization, Server
    from graphmem.settings import Settings

DEFAULT_SCOPES = ("read", "write")
AlgorithmName = Literal["Ed25519", "ES256"]
EXAMPLE_BODY = b'{"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}'


def code(session: Session) -> dict[str, Any]:
    async def work(accounts: Accounts, chosen: Settings) -> dict[str, Any]:
        from graphmem.auth import LOCAL_NAME
        from graphmem.auth.accounts import being_erased

        account = await accounts.by_name(session.account or LOCAL_NAME)
        if account.is_erased:
            raise being_erased(account.name)
        text, expires_at = await accounts.create_code(account.id)
        return {"code": text, "account": account.name, "expires_at": times.render(expires_at)}

    return on_accounts(session, work, reads=False)


def mcp_token(session: Session, rotate: bool = False) -> tuple[dict[str, Any], Draw]:
    from graphmem.cli.encryption import keys_here

    keys = keys_here(session.settings_here())
    token = keys.next_token() if rotate else keys.token()
    return {"token": token, "epoch": keys.record().token_epoch}, lambda: print(token)


def login(
    session: Session, base_url: str | None = None, scope: list[str] | None = None, code: bool = False,
    key: bool = False,
) -> dict[str, Any]:  # fmt: skip
    address = address_of(session, base_url) or address_of(session, session.settings().advertised_url())
    assert address is not None
    return _row(_login_by_key(address) if key else _login_by_oauth(address, scope or DEFAULT_SCOPES, code))


def status(session: Session, base_url: str | None = None) -> tuple[dict[str, Any], Draw]:
    from graphmem.client.logins import Logins

    address = address_of(session, base_url)
    logins = [login for login in Logins().all() if address in (None, login.address)]
    rows = [_checked_row(login) for login in logins]
    token_set = session.settings().bearer_token is not None

    def draw() -> None:
        for row in rows:
            show(row, as_json=False)
        if not rows:
            tell("no login is kept: `graphmem auth login --base-url` makes one")
        if token_set:
            tell("SERVICE_BEARER_TOKEN is set: commands send it in place of a login")

    return {"logins": rows, "service_bearer_token": token_set}, draw


def logout(session: Session, base_url: str | None = None) -> dict[str, Any]:
    from graphmem.client.logins import Logins

    logins, address = Logins(), address_of(session, base_url)
    if address is None:
        kept = logins.all()
        if len(kept) != 1:
            names = ", ".join(login.address for login in kept)
            raise NotFound(f"name one with --base-url: {names}" if kept else "no login is kept")
        address = kept[0].address
    login = logins.get(address)
    if login is None:
        raise NotFound(f"no login is kept for {address}: `graphmem auth status` lists them")
    # Another process may renew it just now: the newest refresh token is revoked.
    with logins.changing(login.address):
        login = logins.get(login.address) or login
        message = _revoked(login)
        logins.forget(login.address)
    return {"base_url": login.address, "revoked": message is None, "message": message or "logged out"}


def address_of(session: Session, base_url: str | None) -> str | None:
    """Return the address of the option, else of the settings, in one spelling; None if neither has any."""
    import httpx

    from graphmem.client.logins import canonical_address

    text = base_url or session.settings().base_url
    if text is None:
        return None
    try:
        address = canonical_address(text)
    except httpx.InvalidURL:
        address = ""
    if not address.startswith(("http://", "https://")):
        raise InvalidInput(f"--base-url {text!r:.200} does not begin with http:// or https://")
    return address


def _login_by_key(address: str) -> Login:
    from graphmem.auth.tokens import KEY_PREFIX
    from graphmem.client.logins import Login, Secrets

    secret = (
        typer.prompt("API key", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    )
    secret = secret.strip()
    if not re.fullmatch(rf"{KEY_PREFIX}[A-Za-z0-9_-]+", secret):
        raise InvalidInput(
            f"this is no API key: it begins with {KEY_PREFIX}, and `auth keys create` makes it"
        )
    return _kept(Login(address, "key", Secrets(secret)))


def _login_by_oauth(address: str, scopes: Any, by_code: bool) -> Login:
    from graphmem.client import oauth_login
    from graphmem.client.logins import Login, Logins

    before = Logins().get(address)
    with oauth_login.http_client() as http:
        server = oauth_login.discover(http, address)
        client_id = before.client_id if before is not None and before.issuer == server.issuer else None
        client_id = client_id or oauth_login.register(http, server)
        authorization, code = _authorized(server, client_id, tuple(scopes), by_code)
        new = Login(
            address, "oauth", **oauth_login.redeem(http, server, authorization, code),
            issuer=server.issuer, client_id=client_id, resource=server.resource,
            token_endpoint=server.token_endpoint, revocation_endpoint=server.revocation_endpoint,
        )  # fmt: skip
        try:
            kept = _kept(new)
        except GraphmemError:
            _end(http, new)
            raise
        if before is not None and before.kind == "oauth":
            _end(http, before)
        return kept


def _authorized(
    server: Server, client_id: str, scopes: tuple[str, ...], by_code: bool
) -> tuple[Authorization, str]:
    from graphmem.client import oauth_login, redirects

    with redirects.Receiver() as receiver:
        authorization = oauth_login.begin(server, client_id, receiver.port, scopes)
        receiver.is_answer = partial(oauth_login.is_answer_to, authorization)
        if not by_code and redirects.has_browser():
            tell(f"allow the login in the browser; if none opens, open this address:\n{authorization.url}")
            if webbrowser.open(authorization.url):
                return authorization, oauth_login.code_of(server, authorization, receiver.wait())
    tell(f"open this address in any browser, and allow the login there:\n{authorization.url}")
    tell("the browser then ends at an address that may not open: paste that address, or its code, here")
    answer = redirects.pasted(typer.prompt("Address or code", err=True))
    code = answer if isinstance(answer, str) else oauth_login.code_of(server, authorization, answer)
    return authorization, code


def _kept(login: Login) -> Login:
    from graphmem.client import Client
    from graphmem.client.logins import Logins

    # Its own token is sent: a login that was kept before must not answer in its place.
    with Client(login.address, login.secrets.token, "cli") as client:
        me = _me(client)
    account = me.get("account")
    # A key has no answer of OAuth that says what it may do.
    scopes = login.scopes or tuple(map(str, me.get("scopes") or ()))
    known = replace(login, account=account if isinstance(account, str) else None, scopes=scopes)
    logins = Logins()
    with logins.changing(login.address):
        return logins.save(known)


def _me(client: Client) -> dict[str, Any]:
    try:
        answer = json.loads(client.call(("GET", "/me"), {}))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise LoginFailed("the service does not say who the caller is: correct --base-url")
    return answer


def _checked_row(login: Login) -> dict[str, Any]:
    from graphmem.client import Client
    from graphmem.client.logins import Logins

    try:
        with Client(login.address, None, "cli", login=login) as client:
            me, state = _me(client), "accepted"
    except AuthInvalid as exc:
        me, state = {}, f"refused: {exc}"
    except GraphmemError as exc:
        me, state = {}, f"unknown: {exc}"
    # The question may have renewed it, or have ended it.
    row = _row(Logins().get(login.address) or login)
    known = {name: me[name] for name in ("account", "scopes") if name in me}
    return {**row, **known, "state": state}


def _row(login: Login) -> dict[str, Any]:
    """Return what people may see of a login: everything but its secrets."""
    expires = None if login.expires_at is None else datetime.fromtimestamp(login.expires_at, UTC)
    return {
        "base_url": login.address,
        "account": login.account,
        "by": "API key" if login.kind == "key" else "OAuth",
        "scopes": list(login.scopes),
        "token_expires_at": expires.isoformat().replace("+00:00", "Z") if expires else None,
        "renewed_by_itself": login.can_renew,
        "kept_in": login.kept_in,
    }


def _revoked(login: Login) -> str | None:
    """Revoke the tokens of a login. Returns why that was not done, None if it was."""
    from graphmem.client import oauth_login

    if login.kind == "key":
        return "the API key is forgotten here and stays valid: `graphmem auth keys revoke` revokes it"
    reason = "the service does not revoke it"
    try:
        with oauth_login.http_client() as http:
            if oauth_login.revoke(http, login):
                return None
    except GraphmemError as exc:
        reason = str(exc)
    return f"the tokens are forgotten here, but they are not revoked at the service: {reason}"


def _end(http: httpx.Client, login: Login) -> None:
    """Revoke the tokens of a login that nobody will use, as far as its service can be reached."""

    from graphmem.client import oauth_login

    with contextlib.suppress(GraphmemError):
        oauth_login.revoke(http, login)


def keygen(session: Session, name: str = "default", algorithm: AlgorithmName = "Ed25519") -> dict[str, Any]:
    from graphmem.auth.agent_keys import PrivateAgentKey
    from graphmem.client.agent_signing import keep_key

    key = PrivateAgentKey.generated(algorithm)
    return {
        "key": name,
        "thumbprint": key.public.thumbprint,
        "algorithm": algorithm,
        "public_key": json.dumps({**key.public.jwk}),
        "kept_in": keep_key(name, key),
        "next": f"export GRAPHMEM_AGENT_KEY={name}",
    }


def sign_example(session: Session, base_url: str | None = None) -> tuple[dict[str, Any], Draw]:
    from graphmem.auth.agent_keys import PrivateAgentKey
    from graphmem.client.agent_signing import AgentSigner

    chosen = session.settings()
    signer = AgentSigner.configured(chosen) or AgentSigner(PrivateAgentKey.generated("Ed25519"))
    url = f"{address_of(session, base_url) or chosen.advertised_url()}/store"
    headers, base = signer.signed("POST", url, EXAMPLE_BODY)
    headers = {"Content-Type": "application/json", **headers}
    answer = {
        "method": "POST",
        "url": url,
        "body": EXAMPLE_BODY.decode(),
        "headers": headers,
        "signature_base": base.decode(),
        "thumbprint": signer.key.public.thumbprint,
    }
    lines = ["The request:", "", f"POST {url}", *(f"{name}: {value}" for name, value in headers.items())]
    lines += ["", EXAMPLE_BODY.decode(), "", "What is signed:", "", base.decode(), ""]
    lines += [f"The key signs these bytes: its thumbprint is {answer['thumbprint']}."]
    return answer, lambda: print("\n".join(lines))
