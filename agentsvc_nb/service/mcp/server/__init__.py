"""Offer this service as an MCP server (docs/mcp.md "Use the service in an editor or chat program")."""
