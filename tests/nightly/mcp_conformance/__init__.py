"""What speaks MCP elsewhere against the service, after `npm ci --prefix tests/nightly/mcp_conformance`: the public
conformance suite and tours by the official clients."""

from pathlib import Path
from typing import Final

ROOM: Final = Path(__file__).parent
NODE: Final = ROOM / "node_modules" / "node" / "bin" / "node"
