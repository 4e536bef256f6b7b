"""The service as an MCP server (docs/mcp.md "The service as a server")."""
