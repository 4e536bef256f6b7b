"""The service as a server of MCP (docs/mcp.md "The service as a server"): one endpoint, without sessions."""
