"""The MCP face: the registry's operations as tools, over stdio and over streamable HTTP."""
