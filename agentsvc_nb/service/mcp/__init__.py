"""Implement the Model Context Protocol (MCP), without a library (docs/decisions/16).

The modules of this package are a client, with which runs use the tools of MCP servers. The package `server` offers this
service itself as an MCP server (docs/mcp.md).
"""
