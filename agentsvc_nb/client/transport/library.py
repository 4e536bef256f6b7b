"""Imports the HTTP library, `httpx`, without its command line.

`httpx` imports its command line wherever click and rich are installed, as in every notebook. That takes a quarter of
the time of a client's first call, and it is not used here.
"""

from __future__ import annotations

import sys
from typing import Final

_COMMAND_LINE: Final = "httpx._main"

if "httpx" in sys.modules:
    import httpx as httpx
else:
    sys.modules[_COMMAND_LINE] = None  # type: ignore[assignment]  # its import fails, which httpx allows for
    try:
        import httpx as httpx
    finally:
        del sys.modules[_COMMAND_LINE]
