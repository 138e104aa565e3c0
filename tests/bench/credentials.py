"""The fifth part of ``make bench``: what a credential costs a request.

Each kind of credential asks ``GET /me``, which reads no data: what a request takes beyond that of an open
service is the look-up of the credential. A credential that was seen in the last seconds is not looked up
again; a new one is. All are measured in turns in one run, because machines are noisy. Requests without a
credential are measured before that, on an open service.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem import settings
from graphmem.auth.accounts import Accounts, Proof
from graphmem.auth.client_rules import code_challenge_of, make_code_verifier
from graphmem.auth.grants import Grants, NewRequest, Presented
from graphmem.context import Services
from graphmem.runtime import open_services
from graphmem.settings import DEFAULT_OWNER, LOCAL_ACCOUNT, Settings
from tests.bench.run import PORT, serving

TOKEN = "token-of-the-benchmark-0123456789abcdef"
WARMING_ROUNDS, ROUNDS, CALLS = 20, 20, 20
CLIENTS, CALLS_OF_CLIENT = 8, 150
NEW_KEYS = (WARMING_ROUNDS + ROUNDS) * CALLS
SCOPES = ["read", "write"]
NOBODY = "no authentication"
Credentials = Sequence[str | None]
"""What the requests of one kind send in turn; None: no credential."""


class Caller:
    """A connection that sends one of some credentials with each request, in turn."""

    def __init__(self, credentials: Credentials) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        self._credentials = credentials
        self._calls = 0

    def ask(self) -> None:
        """Ask who the caller is."""
        credential = self._credentials[self._calls % len(self._credentials)]
        self._calls += 1
        headers = {"Authorization": f"Bearer {credential}"} if credential is not None else {}
        self._http.request("GET", "/me", headers=headers)
        answer = self._http.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"GET /me: {answer.status} {body[:300]!r}")


def medians(kinds: Mapping[str, Credentials]) -> dict[str, float]:
    """Return the median of a request with each kind of credential, in milliseconds, measured in turns."""
    callers = {name: Caller(credentials) for name, credentials in kinds.items()}
    milliseconds: dict[str, list[float]] = {name: [] for name in kinds}
    for round_number in range(WARMING_ROUNDS + ROUNDS):
        for name, caller in callers.items():
            for _ in range(CALLS):
                start = time.perf_counter()
                caller.ask()
                if round_number >= WARMING_ROUNDS:
                    milliseconds[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(values) for name, values in milliseconds.items()}


def requests_a_second(credentials: Credentials) -> float:
    """Return the requests a second of several clients at once."""

    def work() -> None:
        caller = Caller(credentials)
        for _ in range(CALLS_OF_CLIENT):
            caller.ask()

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CLIENTS * CALLS_OF_CLIENT / (time.perf_counter() - start)


async def issued(services: Services, resource: str) -> dict[str, Credentials]:
    """Return new credentials of the local account, by kind."""
    accounts, grants = Accounts(services.database), Grants(services.database)
    local = LOCAL_ACCOUNT, DEFAULT_OWNER
    keys = [(await accounts.create_key(*local, "bench", SCOPES, None))[0] for _ in range(NEW_KEYS + 1)]
    account = await accounts.by_name("local")
    verifier, redirect = make_code_verifier(), "http://127.0.0.1/callback"
    challenge = code_challenge_of(verifier)
    request = NewRequest("bench", "bench", redirect, None, challenge, resource, SCOPES, False)
    secret, _ = await grants.create_request(request)
    code = await grants.allow(secret, Proof(account), SCOPES, "browser")
    assert code is not None
    tokens = await grants.redeem(code, challenge, redirect, Presented("bench", None, None))
    return {
        "SERVICE_BEARER_TOKEN": [TOKEN],
        "API key, seen before": keys[:1],
        "OAuth token, seen before": [tokens.access_token],
        "API key, new": keys[1:],
    }


async def credentials(chosen: Settings) -> dict[str, Credentials]:
    """Return new credentials of the instance that is served with these settings."""
    async with open_services(chosen) as services:
        return await issued(services, chosen.advertised_url())


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        with serving(settings.load(data_dir=Path(folder), port=PORT)):
            p50 = medians({NOBODY: [None]})
            rates = {NOBODY: requests_a_second([None])}
        os.environ["SERVICE_BEARER_TOKEN"] = TOKEN
        chosen = settings.load(data_dir=Path(folder), port=PORT)
        with serving(chosen):
            kinds = asyncio.run(credentials(chosen))
            p50 |= medians(kinds)
            rates |= {name: requests_a_second(values) for name, values in kinds.items() if len(values) == 1}
    table = Table(title="credentials on this machine", title_justify="left")
    for column in ("GET /me with", "p50 ms", "times SERVICE_BEARER_TOKEN", "requests a second, 8 clients"):
        table.add_column(column, justify="left" if column.startswith("GET") else "right")
    first = p50["SERVICE_BEARER_TOKEN"]
    for name, value in p50.items():
        a_second = f"{rates[name]:.0f}" if name in rates else ""
        table.add_row(name, f"{value:.2f}", f"{value / first:.2f}", a_second)
    Console().print(table)


if __name__ == "__main__":
    main()
