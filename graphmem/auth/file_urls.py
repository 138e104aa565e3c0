"""Signed URLs of files: who has one may fetch that file until it expires, without a credential.

A signature is an HMAC (SHA-256) over the parameters of the URL as they stand in it. Its key is derived from a
secret in the database, so all processes sign and accept the same URLs. A dump never has the secret.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from graphmem.auth.accounts import Accounts
from graphmem.database.driver import Database
from graphmem.errors import FileUrlRefused
from graphmem.model import canonical, times

PATH: Final = "/signed_file"
"""The path of every signed URL. It needs no credential."""
PARAMETERS: Final = ("version", "key", "owner", "source", "expires", "disposition")
"""The parameters that are signed, in this order; ``signature`` stands beside them."""
SECONDS_MAX: Final = 86_400
SECONDS_DEFAULT: Final = 3_600
_VERSION: Final = "1"
_DISPOSITION: Final = "attachment"
_SECRET_NAME: Final = "file_urls"
_SECRET_BYTES: Final = 32


class FileUrls:
    def __init__(self, database: Database) -> None:
        self._accounts = Accounts(database)
        self._reads = database.reads(None)
        self._writes = database.writes(None)

    async def signed(self, owner: str, source_id: str, expires_at: int) -> str:
        """Return path and query of the URL of a file. ``expires_at``: microseconds, in whole seconds."""
        secret = await self._reads.one("secret.get", str, name=_SECRET_NAME)
        if secret is None:
            # The first call on a database makes it.
            secret = await self._writes.only(
                "secret.make", str, name=_SECRET_NAME, proposed=secrets.token_hex(_SECRET_BYTES),
                created_at=times.now(),
            )  # fmt: skip
        key = _derived(secret)
        # Its name says nothing of the key.
        key_id = hashlib.sha256(b"id of " + key).hexdigest()[:8]
        values = (_VERSION, key_id, owner, source_id, str(expires_at // times.SECOND), _DISPOSITION)
        parameters = dict(zip(PARAMETERS, values, strict=True))
        return f"{PATH}?{urlencode({**parameters, 'signature': _signature(key, values)})}"

    async def file_of(self, query: Sequence[tuple[str, str]]) -> tuple[str, str]:
        """Return the owner and the id of the file of a URL's parameters. Raises FileUrlRefused: they are not
        ours, or no longer good."""
        parameters = dict(query)
        if len(query) != len(parameters) or parameters.keys() != {*PARAMETERS, "signature"}:
            raise FileUrlRefused
        values = tuple(parameters[name] for name in PARAMETERS)
        secret = await self._reads.one("secret.get", str, name=_SECRET_NAME)
        if secret is None:
            raise FileUrlRefused
        signature = _signature(_derived(secret), values)
        # As bytes: hmac.compare_digest raises TypeError for text outside ASCII.
        sent = parameters["signature"].encode(errors="surrogatepass")
        if not hmac.compare_digest(sent, signature.encode()):
            raise FileUrlRefused
        if times.now() >= int(parameters["expires"]) * times.SECOND:
            raise FileUrlRefused("the URL has expired: make a new one with GET /get_file_url")
        owner = parameters["owner"]
        if await self._accounts.is_owner_disabled(owner):
            raise FileUrlRefused
        return owner, parameters["source"]


def _derived(secret: str) -> bytes:
    return hmac.new(bytes.fromhex(secret), b"graphmem file URL 1", hashlib.sha256).digest()


def _signature(key: bytes, values: Sequence[str]) -> str:
    # A JSON list: no two lists of values have the same text.
    text = canonical.encode([value.encode(errors="surrogatepass").hex() for value in values])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
