"""The client's logger, `agentsvc`: requests and repeats, never a key and never contents.

`AGENTSVC_LOG` (`debug`, `info`, `warning`) writes it to standard error without further setup.
"""

from __future__ import annotations

import logging
import os
from typing import Final

LOG_VARIABLE: Final = "AGENTSVC_LOG"
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger("agentsvc")
log.addHandler(logging.NullHandler())


def write_to_stderr(wanted: str) -> None:
    """Write what is logged from this level on to standard error. Another text than a level changes nothing but to say
    so."""
    if not wanted:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    level = _LEVELS.get(wanted.strip().lower())
    log.setLevel(logging.WARNING if level is None else level)
    if level is None:
        log.warning("%s is %r; it may be %s.", LOG_VARIABLE, wanted, ", ".join(_LEVELS))


write_to_stderr(os.environ.get(LOG_VARIABLE, ""))
