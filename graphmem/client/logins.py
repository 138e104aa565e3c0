"""Logins: the credentials of services that `graphmem auth login` keeps for the commands of one user.

<the user's data directory>/credentials/     mode 0700
  <hash of the address>.json    one login: address, account, scopes and endpoints in clear (mode 0600)
  .<hash of the address>.json.lock    held while the login is changed, so that a refresh token is used once

The secrets are in the platform's keyring where there is one that can be used, else in the same file; never in
both. Nothing here sends a request.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import httpx
import platformdirs

from graphmem.errors import CredentialsRefused

if TYPE_CHECKING:
    from graphmem.sealing.platform_keyring import PlatformKeyring


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a login sends: an access token with its refresh token, or an API key; its ``repr`` is empty."""

    token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Login:
    address: str  # the address of the service, as :func:`canonical_address` returns it
    # How it was made: by OAuth or with an API key; "agent" is the key of an agent, which opens no service.
    kind: Literal["oauth", "key", "agent"]
    secrets: Secrets
    account: str | None = None
    kept_in: Literal["keyring", "file"] = "file"  # where its secrets are
    scopes: tuple[str, ...] = ()  # what the service allowed
    # When the access token expires, in seconds since 1970; None if the service did not say.
    expires_at: int | None = None
    issuer: str | None = None
    client_id: str | None = None  # the id under which this command line is registered at the service
    resource: str | None = None  # what the tokens are for (RFC 8707)
    token_endpoint: str | None = None
    revocation_endpoint: str | None = None

    @property
    def can_renew(self) -> bool:
        return self.secrets.refresh_token is not None and self.token_endpoint is not None


def canonical_address(base_url: str) -> str:
    """Return an address in one spelling: no default port, no last slash. httpx.InvalidURL: it is none."""
    return str(httpx.URL(base_url).copy_with(query=None, fragment=None, userinfo=b"")).rstrip("/")


class Logins:
    """The logins of the user who runs this process.

    Every method raises:
    Raises CredentialsRefused: a file is open to others, damaged, or cannot be read or written; the keyring
    does not open; or another process holds the lock of a login for a minute.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: where the files are. Default: in the user's data directory."""
        self.folder = folder or platformdirs.user_data_path("graphmem", appauthor=False) / "credentials"

    def get(self, address: str) -> Login | None:
        return self._read(self._path(address))

    def all(self) -> list[Login]:
        logins = (self._read(path) for path in self.folder.glob("*.json"))
        services = (login for login in logins if login is not None and login.kind != "agent")
        return sorted(services, key=lambda login: login.address)

    def save(self, login: Login) -> Login:
        """Keep a login in place of the one of the same address. Returns it with ``kept_in``."""
        secrets = asdict(login.secrets)
        in_keyring = _keyring().put(login.address, json.dumps(secrets))
        kept = replace(login, kept_in="keyring" if in_keyring else "file")
        clear = {name: value for name, value in asdict(kept).items() if name != "secrets"}
        record = clear if in_keyring else {**clear, "secrets": secrets}
        from graphmem.neo4j_local.private_files import write_private

        with self._written():
            write_private(self._path(login.address), json.dumps(record))
        if not in_keyring:
            _keyring().remove(login.address)
        return kept

    def forget(self, address: str) -> None:
        """Forget a login. To forget it again changes nothing."""
        _keyring().remove(address)
        with self._written():
            self._path(address).unlink(missing_ok=True)

    @contextlib.contextmanager
    def changing(self, address: str) -> Iterator[None]:
        """Hold the lock of a login: one process at a time changes it, and others read what it wrote."""
        from graphmem.neo4j_local.private_files import changing

        with contextlib.ExitStack() as lock:
            with self._written():
                lock.enter_context(changing(self._path(address), CredentialsRefused))
            yield

    def _path(self, address: str) -> Path:
        return self.folder / f"{hashlib.sha256(address.encode()).hexdigest()[:24]}.json"

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """Have the folder, and report errors of the file system."""
        from graphmem.neo4j_local.private_files import cause, private_directory

        try:
            private_directory(self.folder)
            yield
        except OSError as exc:
            where = cause(exc, exc.filename or self.folder)
            raise CredentialsRefused(f"the login cannot be written: {where}") from exc

    def _read(self, path: Path) -> Login | None:
        try:
            with path.open("rb") as file:
                check_private(
                    path, os.fstat(file.fileno()), "run `graphmem auth logout` too, and log in again"
                )
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise CredentialsRefused(f"the login in {path} cannot be read: {exc.strerror}") from exc
        try:
            record: dict[str, Any] = json.loads(content)
            in_file = record.pop("secrets", None)
            address, kept_in = record["address"], record["kept_in"]
            secrets = _of_keyring(address) if kept_in == "keyring" else Secrets(**in_file)
            if secrets is None:
                return None
            return Login(**{**record, "scopes": tuple(record["scopes"]), "secrets": secrets})
        except (ValueError, TypeError, KeyError) as exc:
            raise CredentialsRefused(
                f"the login in {path} is damaged: remove the file and run `graphmem auth login` again"
            ) from exc


@cache
def _keyring() -> PlatformKeyring:
    # Its package loads what seals, which few commands need.
    from graphmem.sealing.platform_keyring import PlatformKeyring

    return PlatformKeyring("graphmem")


def _of_keyring(address: str) -> Secrets | None:
    from graphmem.sealing.platform_keyring import KeyringLocked

    try:
        text = _keyring().get(address)
    except KeyringLocked as exc:
        raise CredentialsRefused(
            f"the keyring does not give out the login at {address} ({exc}): unlock it, or run `graphmem auth "
            "login` again"
        ) from exc
    return None if text is None else Secrets(**json.loads(text))


def check_private(path: Path | str, info: os.stat_result, remedy: str) -> None:
    """Refuse a file that others may read or write, as its secrets may be known to them."""
    from graphmem.neo4j_local.private_files import is_private

    mode = stat.S_IMODE(info.st_mode)
    if not is_private(info):
        raise CredentialsRefused(
            f"{path} is open to other users of this machine (mode {mode:04o}): run `chmod 600 {path}`. If "
            f"others may have read it, {remedy}"
        )
