"""The service as its own authorization server, for connectors that sign in by OAuth (docs/mcp.md). Nothing here is
imported before somebody asks for it but `routing`."""
