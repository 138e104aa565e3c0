"""The REST face: the registry's operations as HTTP routes, and the MCP endpoint beside them."""
