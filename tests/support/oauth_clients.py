"""Clients of OAuth as tests see them: refusals, and metadata documents of a local transport."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import orjson
import pytest

from graphmem.auth.client_rules import ClientMetadata, document_client, document_client_at
from graphmem.auth.guarded_fetch import DocumentCache, Fetcher
from graphmem.errors import OAuthRefused

DESCRIPTION = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]+")
"""What RFC 6749 (5.2) allows in ``error_description``."""


def refusal(error: pytest.ExceptionInfo[OAuthRefused]) -> str:
    """Return the code of a refusal whose description a client can be sent."""
    assert DESCRIPTION.fullmatch(str(error.value))
    return error.value.details["error"]


def fetched_client(client_id: str, document: Any, address: str = "93.184.216.34") -> ClientMetadata:
    """Return the client of a document that a local transport serves."""

    async def resolve(host: str) -> list[str]:
        return [address]

    def reply(request: httpx.Request) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(orjson.dumps(document)))

    fetcher = Fetcher(resolve=resolve, connections=lambda: httpx.MockTransport(reply))
    return asyncio.run(document_client_at(DocumentCache(document_client, fetcher), client_id))


class Storage:
    """What the client of the SDK keeps."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info
