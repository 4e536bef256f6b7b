"""MCP, the protocol by which agents use the tools of servers: here the servers that runs of this service use
(docs/mcp.md). By hand and not by a library (docs/decisions/16).
"""
