"""What it costs to verify the signature of an agent: ``python -m tests.bench.signing``.

It needs no database. The cost of an unsigned request, which has none of the headers, stands beside it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from graphmem.auth.agent_keys import ALGORITHMS, PrivateAgentKey
from tests.support.agents import Request, Service, signed

CALLS = 2_000
BODY = b"x" * 1_000


async def cost(service: Service, requests: list[Request]) -> tuple[float, float, float]:
    """Return median, 99th percentile and CPU of a request, in microseconds."""
    taken: list[float] = []
    cpu = time.process_time()
    for request in requests:
        caller_of = request.caller
        start = time.perf_counter()
        await service.requests.signed(service.unsigned, caller_of)
        taken.append((time.perf_counter() - start) * 1e6)
    cpu = (time.process_time() - cpu) / len(requests) * 1e6
    return statistics.median(taken), statistics.quantiles(taken, n=100)[98], cpu


def main() -> None:
    service = Service()
    kinds: dict[str, Callable[[], Request]] = {"unsigned": lambda: Request(body=BODY)}
    for algorithm in ALGORITHMS:
        key = PrivateAgentKey.generated(algorithm)
        token = f'jwt;jwt="{service.issuer.token(key, service.now)}"'
        kinds[f"{algorithm}, key alone"] = lambda key=key: signed(key, Request(body=BODY))
        kinds[f"{algorithm}, token of an issuer"] = lambda key=key, token=token: signed(
            key, Request(body=BODY), token
        )
    table = Table("request", "p50 µs", "p99 µs", "CPU µs")
    for name, make in kinds.items():
        figures = asyncio.run(cost(service, [make() for _ in range(CALLS)]))
        table.add_row(name, *(f"{figure:.0f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
