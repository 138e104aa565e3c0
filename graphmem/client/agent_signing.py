"""The key of an agent on this machine, and the requests that it signs.

``GRAPHMEM_AGENT_KEY`` names the key: the path of a private JSON Web Key that only its user may read, or a
name under which `graphmem auth keygen` keeps it as logins are kept.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx

from graphmem import settings as settings_of_process
from graphmem.auth import SignedAgent
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.auth.agent_tokens import own_token
from graphmem.auth.message_signatures import SignedMessage, sign
from graphmem.client.logins import Login, Logins, Secrets, check_private
from graphmem.errors import AgentSignatureInvalid, CredentialsRefused
from graphmem.settings import Settings


@dataclass
class AgentSigner:
    """Signs requests with the key of an agent.

    The header ``Signature-Key`` has the token in ``token_file``, which an issuer signed, else a token that
    the agent signs itself if it has a ``subject``, else the key alone.
    """

    key: PrivateAgentKey
    token_file: Path | None = None
    subject: str | None = None

    @classmethod
    def configured(cls, settings: Settings | None = None) -> AgentSigner | None:
        """Return the agent that the settings name, by default those of the environment; None: no agent.
        Raises CredentialsRefused: its key cannot be read, or others may read it."""
        if settings is None and not os.environ.get("GRAPHMEM_AGENT_KEY"):
            return None
        chosen = settings or settings_of_process.load()
        if chosen.agent_key is None:
            return None
        return cls(read_key(chosen.agent_key), token_file=chosen.agent_token, subject=chosen.agent_subject)

    @cached_property
    def agent(self) -> SignedAgent:
        """The agent, for what it does in its own process: it has the key, so it need not sign."""
        public = self.key.public
        return SignedAgent(public.thumbprint, public.algorithm, "software", claimed_subject=self.subject)

    def headers(self, method: str, url: str, body: bytes) -> dict[str, str]:
        """Return the headers that sign a request; raises CredentialsRefused: the token cannot be read."""
        return self.signed(method, url, body)[0]

    def signed(self, method: str, url: str, body: bytes) -> tuple[dict[str, str], bytes]:
        parts = httpx.URL(url)
        path, _, query = parts.raw_path.decode("ascii").partition("?")
        message = SignedMessage(method, parts.scheme, parts.netloc.decode("ascii"), path, query, ())
        now = int(time.time())
        return sign(self.key, message, body, self._key_header(now), now)

    def sign_request(self, request: httpx.Request) -> None:
        request.headers.update(self.headers(request.method, str(request.url), request.read()))

    def _key_header(self, now: int) -> str:
        if self.token_file is not None:
            try:
                token = self.token_file.read_text("ascii").strip()
            except (OSError, ValueError) as exc:
                raise CredentialsRefused(f"the token of the agent cannot be read: {exc}") from exc
        elif self.subject is not None:
            token = own_token(self.key, f"https://{self.subject.rpartition('@')[2]}", self.subject, now)
        else:
            return "".join(["hwk", *(f';{name}="{value}"' for name, value in self.key.public.jwk.items())])
        return f'jwt;jwt="{token}"'


def is_path(text: str) -> bool:
    """Return whether the name of a key is a path: a file of JSON, or a place in a folder."""
    return os.sep in text or text.endswith(".json")


def read_key(text: str) -> PrivateAgentKey:
    """Return the key that a name or a path names; raises CredentialsRefused: it cannot be used."""
    try:
        if is_path(text):
            with Path(text).expanduser().open("rb") as file:
                check_private(text, os.fstat(file.fileno()), "make another key with `graphmem auth keygen`")
                return PrivateAgentKey.of(json.load(file))
        login = Logins().get(_address(text))
        if login is None:
            raise CredentialsRefused(f"no key {text!r:.100} is kept: `graphmem auth keygen` makes one")
        return PrivateAgentKey.of(json.loads(login.secrets.token))
    except OSError as exc:
        raise CredentialsRefused(f"the key in {text} cannot be read: {exc.strerror}") from exc
    except (ValueError, TypeError, AttributeError, AgentSignatureInvalid) as exc:
        raise CredentialsRefused(
            f"{text:.200} has no private JSON Web Key of Ed25519 or P-256: `graphmem auth keygen` makes one"
        ) from exc


def keep_key(name: str, key: PrivateAgentKey) -> str:
    """Keep a key under a name, or write it to a file that only its user may read; return where it is. Raises
    CredentialsRefused: there is one already, or it cannot be written."""
    secret = json.dumps(key.jwk)
    if is_path(name):
        try:
            handle = os.open(Path(name).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise _name_refused(name) from None
        except OSError as exc:
            raise CredentialsRefused(f"{name} cannot be written: {exc.strerror}") from exc
        with os.fdopen(handle, "w") as file:
            file.write(secret)
        return "file"
    logins, address = Logins(), _address(name)
    with logins.changing(address):
        if logins.get(address) is not None:
            raise _name_refused(name)
        return logins.save(Login(address, "agent", Secrets(secret))).kept_in


def _name_refused(name: str) -> CredentialsRefused:
    return CredentialsRefused(
        f"there is a key {name} already, and nothing brings it back: choose another name"
    )


def _address(name: str) -> str:
    """Return what stands for the address of a service where the key of an agent is kept."""
    return f"agent:{name}"
