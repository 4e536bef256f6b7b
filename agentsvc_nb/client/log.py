"""The client's logger `agentsvc`, which logs requests and retries, but no keys and no contents.

Set the environment variable `AGENTSVC_LOG` to `debug`, `info`, `warning` or `error` to write the log to standard error.
"""

from __future__ import annotations

import logging
import os
from typing import Final

_VARIABLE: Final = "AGENTSVC_LOG"
_LEVELS: Final = ("debug", "info", "warning", "error")

log = logging.getLogger("agentsvc")
log.addHandler(logging.NullHandler())

if _wanted := os.environ.get(_VARIABLE, "").strip():
    _handler = logging.StreamHandler()
    _handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log.addHandler(_handler)
    log.setLevel(_wanted.upper() if _wanted.lower() in _LEVELS else logging.WARNING)
    if _wanted.lower() not in _LEVELS:
        log.warning(
            "%s is %r, which is not a log level, so only warnings are logged. Use one of %s.",
            _VARIABLE,
            _wanted,
            ", ".join(_LEVELS),
        )
