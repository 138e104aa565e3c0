"""The functions of the routes that REST alone has, by the names of the table in ``rest_routes``."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from graphmem import doctor
from graphmem.api import (
    backup_stream,
    downloads,
    event_stream,
    inspector,
    oauth_consent,
    oauth_routes,
    openapi,
)
from graphmem.api.application import Endpoint
from graphmem.api.refusals import accepts_pages
from graphmem.api.rest_routes import JSON, RESOURCES, services_of
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


ENDPOINTS: Final[dict[str, Endpoint]] = {
    "get_faces": name_faces,
    "get_page_file": inspector.load,
    "get_openapi": describe,
    "get_metrics": measure,
    "get_findings": examine,
    "create_backup": backup_stream.back_up,
    "oauth_initiate": oauth_routes.initiate,
    "oauth_authorize": oauth_routes.authorize,
    "oauth_show_consent": oauth_consent.show,
    "oauth_decide": oauth_consent.decide,
    "oauth_token": oauth_routes.token,
    "oauth_register": oauth_routes.register,
    "oauth_revoke": oauth_routes.revoke,
    "oauth_authorization_server": oauth_routes.server_metadata,
    "oauth_authorization_server_mcp": oauth_routes.server_metadata,
    "openid_configuration": oauth_routes.server_metadata,
    **{name: oauth_routes.resource_metadata(path) for name, path in RESOURCES.items()},
    "aauth_resource": describe_signing,
    "stream_changes": event_stream.stream,
    "get_source_content": downloads.content,
    "get_signed_file": downloads.signed_content,
}
