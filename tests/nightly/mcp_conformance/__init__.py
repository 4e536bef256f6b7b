"""What speaks MCP elsewhere against the service, after `npm ci --prefix tests/nightly/mcp_conformance`: the public
conformance suite and tours by the official clients."""
