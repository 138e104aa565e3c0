"""Checks around the database: the object store, services that are asked, parsers, the graphmem service."""

import asyncio
import shutil

import httpx

from graphmem import __version__
from graphmem.doctor.finding import Finding, fail, ok, warn
from graphmem.embedding import new_embedder
from graphmem.errors import GraphmemError, ObjectDamaged, ObjectMissing, ObjectStoreUnavailable
from graphmem.ingest import InterpretationFailed, child, processes
from graphmem.interpretation import language_model as model_client
from graphmem.objects import new_object_store
from graphmem.settings import Settings

TIMEOUT_SECONDS = 5.0  # seconds that a service may take to answer
_LOCAL_FIX = "Free some space on that disk, or give this user access to that directory."
_BUCKET_FIX = (
    "Start that store, or correct GRAPHMEM_OBJECTS_BUCKET, _ENDPOINT and _REGION and AWS_ACCESS_KEY_ID."
)


async def objects(settings: Settings) -> Finding:
    """Check that the object store keeps, answers and deletes an object."""
    local = settings.objects_bucket is None
    if local and not settings.objects_path.is_dir():
        return ok(f"{settings.objects_path} does not exist yet: the first file makes it")
    store = new_object_store(settings)
    try:
        await store.check()
    except (ObjectStoreUnavailable, ObjectDamaged, ObjectMissing) as exc:
        reason = exc.details.get("reason")
        what = f"{store.place}: {exc}{f' ({reason})' if reason else ''}"
        return fail(what, _LOCAL_FIX if local else _BUCKET_FIX)
    finally:
        await store.close()
    what = f"{store.place} keeps, answers and deletes an object"
    if local:
        free = shutil.disk_usage(settings.objects_path).free
        what = f"{what}, where {free / 1e6:,.0f} MB are free"
    return ok(what)


async def embedding(settings: Settings) -> Finding:
    """Check that the model of this process, or the service at ``embedding_url``, makes vectors."""
    what = settings.embedder or settings.embedding_url or "the model of the package wordllama"
    try:
        embedder = new_embedder(settings)
        try:
            await embedder.embed(["graphmem"])
        finally:
            await embedder.close()
    except GraphmemError as exc:
        fix = "Start that service, or correct GRAPHMEM_EMBEDDING_URL, _MODEL and _KEY."
        if settings.embedding_url is None:
            fix = "Install the packages again, correct GRAPHMEM_EMBEDDER, or have a service fetch its model."
        return fail(f"{what}: {exc}", fix)
    return ok(f"{what} makes vectors")


async def language_model(settings: Settings) -> Finding:
    """Check that the model at ``llm_url`` reads a text that states nothing."""
    if settings.llm_url is None:
        return ok("none is configured: files are read by rules alone")
    try:
        await model_client.check(settings)
    except (GraphmemError, InterpretationFailed) as exc:
        fix = "Start that service, or correct GRAPHMEM_LLM_URL, _MODEL and _KEY."
        return fail(f"{settings.llm_url}: {exc}", fix)
    return ok(f"{settings.llm_model} at {settings.llm_url} reads files")


async def service(settings: Settings) -> Finding:
    """Check that a service of this version answers, and that its database does."""
    authority = settings.model_copy(update={"host": settings.near_host}).authority()
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
            return ok(f"none runs at {base}")
        what = f"none answers at {base} ({type(exc).__name__})"
        return fail(what, "Start it with graphmem serve, or correct GRAPHMEM_BASE_URL.")
    except (ValueError, AttributeError):
        ours, info, ready = False, {}, 0
    if not ours:
        what = f"another program answers at {base}"
        return fail(what, "Stop it, or set GRAPHMEM_PORT to another port.")
    if ready != 200:
        what = f"the service at {base} is not ready ({ready}): its database does not answer"
        return fail(what, "Read the log of the service for the reason.")
    if info.get("version") != __version__:
        what = f"the service at {base} is graphmem {info.get('version')!s:.20}, this is {__version__}"
        return warn(what, "Restart the service, or install the version that it runs.")
    return ok(f"graphmem {__version__} answers at {base}")


async def parser(settings: Settings) -> Finding:
    """Check that the processes that parse files are confined."""
    if settings.confine == "off":
        what = "GRAPHMEM_CONFINE is off: parsers are unconfined, and a hostile file may do what its user may"
        return warn(what, "Set GRAPHMEM_CONFINE to auto or require.")
    if not (lacking := await asyncio.to_thread(processes.unconfined)):
        return ok(f"parsers are confined by Landlock {child.landlock_version()} and seccomp")
    what = f"parsers are unconfined here ({lacking})"
    fix = "Use a Linux from 5.13 on with Landlock, and a container that allows its calls and those of seccomp"
    if settings.confine == "require":
        return fail(f"{what}, and GRAPHMEM_CONFINE is require: no file is read", f"{fix}, or set it to auto.")
    return warn(f"{what}: a hostile file may do what its user may", f"{fix}.")
