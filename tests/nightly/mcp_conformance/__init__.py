"""What speaks MCP elsewhere against the service, after `npm install --prefix tests/nightly/mcp_conformance`: the public
conformance suite (`python -m tests.nightly.mcp_conformance` prints its figures) and tours by the official clients."""
