"""How a hook calls the service: with as few imports as possible, and never for long.

A hook runs before each prompt. The settings take a quarter of a second to import, so the few that a hook
needs for a service at an address are read here in the same way; a test compares them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphmem import environment_file
from graphmem.cli.agents import hook_spool
from graphmem.cli.agents.hook_spool import NoAnswer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from graphmem.sealing import InstanceKeys
    from graphmem.settings import Settings

ROUTES = {
    "changes.list": ("GET", "/changes"),
    "context.retrieve": ("POST", "/retrieve_context"),
    "store": ("POST", "/store"),
    "timeline.list": ("GET", "/timeline"),
}
"""The routes of the operations that hooks call."""
FINAL_STATUSES = (400, 403, 404, 409, 413)  # the statuses of answers that the same request will have again


class Refused(Exception):
    """The service refuses a request, and would refuse it again."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which service a hook calls, by the global options of the command line."""

    client: str
    base_url: str | None = None
    env: str | None = None
    data_dir: str | None = None
    account: str | None = None
    sends_token: bool = True
    """Whether SERVICE_BEARER_TOKEN is for this service: not where a folder names another one."""
    is_away: bool = False  # the local service does not answer
    settings: Settings | None = None  # those of the service in whose process the hook runs
    keys: InstanceKeys | None = None  # the keys of a sealed instance, where it is open already
    seconds: float | None = None  # for which the service may be silent

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        from graphmem.errors import GraphmemError

        base_url = self._address()
        if base_url is None and self.is_away:
            raise NoAnswer("the local service does not answer")
        try:
            if base_url is None:
                return json.loads(self._local(operation, arguments))
            return json.loads(self._remote(base_url, operation, arguments))
        except GraphmemError as exc:
            raise (Refused if exc.status in FINAL_STATUSES else NoAnswer)(str(exc)) from exc

    def turns(self) -> tuple[Path, AESGCM | None]:
        """Return the folder of the turns that wait for the service, and what seals them."""
        base_url, data = self._address(), self._data()
        folder = data / hook_spool.FOLDER / ("local" if base_url is None else quote(base_url, safe=""))
        if self.settings is not None:
            return folder, self.keys and self.keys.turns
        if "GRAPHMEM_KEY_FILE" not in os.environ and not (data / "keys.json").exists():
            return folder, None
        from graphmem.sealing import keys_of

        keys = keys_of(self._settings())
        return folder, keys and keys.turns

    def _address(self) -> str | None:
        if self.base_url or self.settings is not None:
            return self.base_url
        try:
            environment_file.apply(self._data())
        except (OSError, ValueError) as exc:
            raise NoAnswer(f"{environment_file.FILE}: {exc}") from exc
        return os.environ.get("GRAPHMEM_BASE_URL") or None

    def _data(self) -> Path:
        if self.settings is not None:
            return self.settings.data_path
        env = self.env or os.environ.get("GRAPHMEM_ENV") or "development"
        return environment_file.directory(self.data_dir or os.environ.get("GRAPHMEM_DATA_DIR"), env)

    def _settings(self) -> Settings:
        from graphmem.settings import load

        named = {"env": self.env, "data_dir": self.data_dir}
        return self.settings or load(**{name: value for name, value in named.items() if value})

    def _local(self, operation: str, arguments: Mapping[str, Any]) -> bytes:
        from graphmem.service.calling import call

        return call(
            self._settings(), ROUTES[operation], arguments, self.client, account=self.account,
            timeout=self.seconds, starts=False, by_hook=True,
        )  # fmt: skip

    def _remote(self, base_url: str, operation: str, arguments: Mapping[str, Any]) -> bytes:
        from graphmem.client import Client

        token = os.environ.get("SERVICE_BEARER_TOKEN") if self.sends_token else None
        with Client(base_url, token or None, self.client, by_hook=True) as client:
            return client.call(ROUTES[operation], arguments)
