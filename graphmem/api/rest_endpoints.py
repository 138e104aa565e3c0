"""The functions of the small routes that REST alone has."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import orjson
from starlette.requests import Request
from starlette.responses import Response

from graphmem import doctor
from graphmem.api import inspector, openapi
from graphmem.api.refusals import accepts_pages
from graphmem.api.rest_routes import JSON, services_of
from graphmem.auth import signed_requests
from graphmem.observability import metrics


async def name_faces(request: Request) -> Response:
    """Answer the paths of the faces, for callers who know the address only; a browser gets the page."""
    if accepts_pages(request.scope):
        return inspector.show(request)
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
    """Answer the OpenAPI description."""
    return Response(openapi.as_yaml(), media_type="application/yaml")


async def describe_signing(request: Request) -> Response:
    """Answer how agents sign their requests."""
    document = signed_requests.resource_document(services_of(request).settings)
    return Response(orjson.dumps(document), media_type=JSON)


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
