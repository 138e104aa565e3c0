"""MCP over stdin and stdout. The client is the process that started this one."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from graphmem.auth import Actor
from graphmem.mcp.tools import create_server
from graphmem.registry import Services


async def serve(services: Services, actor: Actor) -> None:
    """Serve until stdin closes. Only MCP messages go to stdout; logs go to stderr and to files."""
    server = create_server(services, lambda: actor, reads_files=True)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
