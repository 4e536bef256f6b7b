"""Logs of the service: one line per record on stderr, with fields as `name=value` and secrets hidden."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Any, Final

_SECRET: Final = re.compile(r"(svc_sk_|svc_oat_|token=)[A-Za-z0-9_-]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:+-]+")


def fields(**known: object) -> dict[str, Any]:
    """Fields for a log record: `log.info("request", extra=fields(status=202))`."""
    return {"fields": known}


class OneLine(logging.Formatter):
    """`time=... level=warning logger=... message="..."`, the record's fields, and `error="..."` with the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        known = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _quoted(record.getMessage()),
        }
        known |= {name: _value(value) for name, value in getattr(record, "fields", {}).items()}
        if record.exc_info:
            known["error"] = _quoted(self.formatException(record.exc_info))
        line = " ".join(f"{name}={value}" for name, value in known.items())
        return _SECRET.sub(r"\1[hidden]", line)


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    """The text in quotes, with line ends, terminal control and bidirectional characters escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_printable, quoted))


def _printable(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1].replace("\x7f", "\\u007f")


def log_to_stderr() -> None:
    """Log this package's records from INFO and other libraries' from WARNING."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("agentsvc_nb").setLevel(logging.INFO)
