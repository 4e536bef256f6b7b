"""Give up more than a share of processor and memory; then decode files, as their places come in as JSON, a line each,
and print a line of what was found, or `{"error"}`."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import sys
import time
from typing import Any, Final

from agentsvc_nb.notebook.previews.child.refused import Refused

CPU_SECONDS: Final = 10
MEMORY_BYTES: Final = 2**30
_LIBRARIES: Final = {
    "pypdfium2": "the pages of a PDF are shown with pypdfium2",
    "duckdb": "Parquet is shown with duckdb",
    "python_calamine": "Excel is shown with python-calamine",
}


def main() -> None:
    _limit()
    for line in sys.stdin:
        _limit_processor()
        print(json.dumps(_found(sys.argv[1], json.loads(line))), flush=True)


def _found(decoder: str, place: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = importlib.import_module(f"agentsvc_nb.notebook.previews.child.{decoder}").read(place)
    except ModuleNotFoundError as error:
        found = {"error": f"{_LIBRARIES[str(error.name)]}: pip install 'agentsvc-nb[previews]'."}
    except Refused as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"error": f"it needs more than {MEMORY_BYTES / 2**30:.0f} GB of memory to be looked at."}
    except Exception as error:  # decoders raise many kinds on damaged files
        reason = str(error).replace(place, "file")[:200] or type(error).__name__
        found = {"error": f"it can't be read, so it is damaged or something else ({reason})."}
    return found


def _limit() -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limits, and waits for the parent's patience
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # it writes nothing
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_processor() -> None:
    """So much for the next file."""
    with contextlib.suppress(ImportError):
        import resource

        soft, hard = math.ceil(time.process_time()) + CPU_SECONDS, resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    main()
