"""The HTTP library, `httpx`, without its command line.

That comes along wherever click and rich are installed, which every notebook has: a quarter of what a client's first
call costs, and nobody calls it from here.
"""

from __future__ import annotations

import sys
from typing import Final

_COMMAND_LINE: Final = "httpx._main"

if "httpx" in sys.modules:
    import httpx as httpx
else:
    sys.modules[_COMMAND_LINE] = None  # type: ignore[assignment]  # so it cannot be imported, which httpx expects
    try:
        import httpx as httpx
    finally:
        del sys.modules[_COMMAND_LINE]
