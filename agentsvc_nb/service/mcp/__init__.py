"""MCP servers whose tools the runs of this service use (docs/mcp.md).

This package speaks MCP itself, without a library (docs/decisions/16).
"""
