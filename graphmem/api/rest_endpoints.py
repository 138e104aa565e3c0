"""The functions of the small routes that REST alone has.

The inspector, the page at ``/``, is HTML, CSS and ES modules as they are in ``page/``: nothing is built. The
path of a file has a digest of all files, so that a browser keeps it for good, and a new version of the
package has new paths.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response

from graphmem import __version__, doctor
from graphmem.api import openapi
from graphmem.api.refusals import accepts_pages
from graphmem.api.rest_routes import JSON, services_of
from graphmem.auth import signed_requests
from graphmem.errors import NotFound
from graphmem.mcp.toolsets import TABLE
from graphmem.observability import metrics

FOLDERS: Final = ("src", "vendor")
_MEDIA_TYPES: Final = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
LOADED_LATER: Final = frozenset({"vendor/cytoscape.js", "src/app.js", "src/around.js"})
"""Modules that the first view does without: a view loads the one, hosts of MCP apps show the other."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing inline, nothing from elsewhere, and no text may become markup or code."""


class PageFile(NamedTuple):
    """A file as it is sent. ``etag`` is that of the bytes that are not compressed."""

    media_type: str
    plain: bytes
    compressed: bytes
    etag: str

    @classmethod
    def of(cls, media_type: str, content: bytes) -> PageFile:
        etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(media_type, content, gzip.compress(content, 9, mtime=0), etag)


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by folder and name, such as ``src/main.js``."""
    root = resources.files("graphmem.api") / "page"
    contents = sorted(
        (f"{folder}/{each.name}", each.read_bytes())
        for folder in FOLDERS
        for each in (root / folder).iterdir()
        if each.name.rpartition(".")[2] in _MEDIA_TYPES
    )
    return {name: PageFile.of(_MEDIA_TYPES[name.rpartition(".")[2]], content) for name, content in contents}


@cache
def version() -> str:
    """Return the digest of all files, which their paths have."""
    return hashlib.sha256("".join(each.etag for each in page_files().values()).encode()).hexdigest()[:16]


@cache
def index() -> PageFile:
    """Return the page itself, with the paths of its files."""
    text = (resources.files("graphmem.api") / "page" / "index.html").read_text("utf-8")
    base = f"app/{version()}"
    modules = [name for name in page_files() if name.endswith(".js") and name not in LOADED_LATER]
    preloads = "\n".join(f'<link rel="modulepreload" href="{base}/{name}">' for name in modules)
    return PageFile.of("text/html", text.replace("{base}", base).replace("{preloads}", preloads).encode())


async def send_page_file(request: Request) -> Response:
    """Answer a file of the page.

    Raises NotFound: there is no such file, or the path is that of another version.
    """
    sent = request.path_params
    file = page_files().get(f"{sent['folder']}/{sent['file']}")
    if file is None or sent["version"] != version():
        raise NotFound("the page has no such file: load the page again", path=request.url.path[:200])
    return _sent(request, file, "public, max-age=31536000, immutable")


def _sent(request: Request, file: PageFile, keeping: str) -> Response:
    headers = {"ETag": file.etag, "Cache-Control": keeping, "Vary": "Accept, Accept-Encoding"}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    is_compressed = "gzip" in request.headers.get("accept-encoding", "")
    if is_compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(file.compressed if is_compressed else file.plain, 200, headers, file.media_type)


async def name_faces(request: Request) -> Response:
    """Answer the paths of the faces, for callers who know the address only; a browser gets the page."""
    if accepts_pages(request.scope):
        answer = _sent(request, index(), "no-cache")
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return answer
    prefix = request.url.path.rstrip("/")
    faces = {
        "name": "graphmem",
        "rest": f"{prefix}/",
        "mcp": f"{prefix}/mcp",
        "docs": f"{prefix}/openapi.yaml",
        "ready": f"{prefix}/health/ready",
    }
    return Response(orjson.dumps(faces), media_type=JSON, headers={"Vary": "Accept"})


async def describe(request: Request) -> Response:
    return Response(openapi.as_yaml(), media_type="application/yaml")


async def describe_as_json(request: Request) -> Response:
    return Response(orjson.dumps(openapi.document()), media_type=JSON)


async def describe_signing(request: Request) -> Response:
    document = signed_requests.resource_document(services_of(request).settings)
    return Response(orjson.dumps(document), media_type=JSON)


async def show_server_card(request: Request) -> Response:
    base = services_of(request).settings.advertised_url()
    card = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "io.github.graphmem/graphmem",
        "title": "graphmem",
        "version": __version__,
        "description": TABLE["texts"]["purpose"],
        "remotes": [{"type": "streamable-http", "url": f"{base}/mcp"}],
    }
    return Response(orjson.dumps(card), media_type=JSON)


async def measure(request: Request) -> Response:
    """Answer the metrics. They are about all owners, so they require the scope ADMIN."""
    return Response(services_of(request).metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})


async def examine(request: Request) -> Response:
    """Answer what the doctor finds. It names paths of the machine, so it requires the scope ADMIN."""
    known = services_of(request).settings
    # The checks read files and wait for programs: an event loop of their own keeps this one free.
    findings = await asyncio.to_thread(lambda: asyncio.run(doctor.examine({}, known=known)))
    is_ok = all(finding.status != "fail" for finding in findings)
    answer = {"ok": is_ok, "findings": [asdict(finding) for finding in findings]}
    return Response(orjson.dumps(answer), media_type=JSON)
