"""Limit processor time and memory, then decode files: for each line with a path as JSON, print a line with the answer
or `{"error": ...}` as JSON."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from agentsvc_nb.notebook.previews.child import CannotDecode

CPU_SECONDS: Final = 10
MEMORY_BYTES: Final = 2**30
_DECODERS: Final[Mapping[str, tuple[str, str]]] = {
    "pictures": ("pictures", "read_picture"),
    "small": ("pictures", "read_small"),
    "large": ("pictures", "read_large"),
    "pages": ("pictures", "read_pages"),
    "beginning": ("tables", "read_beginning"),
    "tables": ("tables", "read_whole"),
}
"""The module of each decoder, and its function. Only what is needed is imported, after the limits are set."""


def main() -> None:
    _limit()
    module, name = _DECODERS[sys.argv[1]]
    decoder = getattr(import_module(f"agentsvc_nb.notebook.previews.child.{module}"), name)
    for line in sys.stdin:
        _limit_processor()
        print(json.dumps(_decode(decoder, json.loads(line))), flush=True)


def _decode(decoder: Callable[[str], dict[str, Any]], path: str) -> dict[str, Any]:
    try:
        found = decoder(path)
    except CannotDecode as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"error": f"it needs more than {MEMORY_BYTES / 2**30:.0f} GB of memory to be looked at."}
    except Exception as error:  # decoders raise many types of errors on damaged files
        reason = str(error).replace(path, "file")[:200] or type(error).__name__
        found = {"error": f"it can't be read, so it is damaged or something else ({reason})."}
    return found


def _limit() -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limits: there the parent's time limit is the only one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # the process writes no files
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_processor() -> None:
    """Allow `CPU_SECONDS` for the next file."""
    with contextlib.suppress(ImportError):
        import resource

        soft, hard = math.ceil(time.process_time()) + CPU_SECONDS, resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    main()
