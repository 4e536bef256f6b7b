"""Give up more than a share of processor and memory, then decode one file and print what was found, or `{"error"}`."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from typing import Final

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
    decoder, place = sys.argv[1:]
    try:
        found = importlib.import_module(f"agentsvc_nb.notebook.previews.child.{decoder}").read(place)
    except ModuleNotFoundError as error:
        found = {"error": f"{_LIBRARIES[str(error.name)]}: pip install 'agentsvc-nb[previews]'."}
    except Refused as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"error": f"it needs more than {MEMORY_BYTES / 2**30:.0f} GB of memory to be looked at."}
    except Exception as error:  # decoders raise many kinds on damaged files
        reason = str(error).replace(place, "file")[:200] or type(error).__name__
        found = {"error": f"it can't be read, so it is damaged or something else ({reason})."}
    print(json.dumps(found))


def _limit() -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limits, and waits for the parent's patience
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # it writes nothing
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
