"""Checks of other programs: the graphmem service, and the service that makes vectors."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from graphmem import __version__
from graphmem.doctor.finding import Finding
from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.remote import RemoteEmbedder
from graphmem.errors import GraphmemError
from graphmem.settings import Settings

TIMEOUT_SECONDS = 5.0
"""Seconds that a service may take to answer."""


async def embedding(settings: Settings) -> list[Finding]:
    """Check that the model of this process, or the service at ``embedding_url``, makes vectors."""
    if settings.embedding_url is None:
        try:
            LocalEmbedder().warm()
        except GraphmemError as exc:
            return [Finding("embedding", "fail", str(exc), "Install the packages of graphmem again.")]
        return [Finding("embedding", "ok", "the model of the package wordllama can be loaded")]
    embedder = RemoteEmbedder(settings)
    try:
        await embedder.embed(["graphmem"])
    except GraphmemError as exc:
        fix = "Start that service, or correct GRAPHMEM_EMBEDDING_URL, _MODEL and _KEY."
        return [Finding("embedding", "fail", f"{_at(settings.embedding_url)}: {exc}", fix)]
    finally:
        await embedder.close()
    return [Finding("embedding", "ok", f"{_at(settings.embedding_url)} makes vectors")]


async def service(settings: Settings) -> list[Finding]:
    """Check that a service of this version answers, and that its database does."""
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    authority = settings.model_copy(update={"host": near}).authority()
    base = (settings.base_url or f"http://{authority}").rstrip("/")
    try:
        async with httpx.AsyncClient(base_url=base, timeout=TIMEOUT_SECONDS) as http:
            about = await http.get("/server-info")
            health = await http.get("/health/ready")
            info = about.json()
            ours = about.is_success and info.get("name") == "graphmem"
            ready = health.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        if settings.base_url is None:
            return [Finding("service", "ok", f"none runs at {base}")]
        what = f"none answers at {_at(base)} ({type(exc).__name__})"
        return [
            Finding("service", "fail", what, "Start it with graphmem serve, or correct GRAPHMEM_BASE_URL.")
        ]
    except (ValueError, AttributeError):
        ours, info, ready = False, {}, 0
    if not ours:
        what = f"another program answers at {_at(base)}"
        return [Finding("service", "fail", what, "Stop it, or set GRAPHMEM_PORT to another port.")]
    if ready != 200:
        what = f"the service at {_at(base)} is not ready ({ready}): its database does not answer"
        return [Finding("service", "fail", what, "Read the log of the service for the reason.")]
    if info.get("version") != __version__:
        what = f"the service at {_at(base)} is graphmem {info.get('version')!s:.20}, this is {__version__}"
        return [Finding("service", "warn", what, "Restart the service, or install the version that it runs.")]
    return [Finding("service", "ok", f"graphmem {__version__} answers at {_at(base)}")]


def _at(url: str) -> str:
    """Return an address without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
