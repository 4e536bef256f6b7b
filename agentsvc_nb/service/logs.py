"""Write the service's log to stderr: one line per record, as `name=value` or JSON, with trace ids and without secrets.

Frequent events that anybody can cause are counted, not logged one by one. A large log file is copied and emptied.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import re
import time
from typing import Any, Final

from agentsvc_nb.service.disk import disk_fault
from agentsvc_nb.service.folder import LOG_MAX_BYTES, DataFolder
from agentsvc_nb.service.telemetry import tracing

_SECRET: Final = re.compile(r"(svc_sk_|svc_oat_|token=)[A-Za-z0-9_-]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:+-]+")
_ids: Final = random.Random()
"""Generates request ids. A fast generator is enough, because request ids are not secrets. The system's random numbers
would take a twentieth of a read request's time.
"""


def new_request_id() -> str:
    """Return a new id for the request's log line and response: `req_` and 24 hexadecimal digits."""
    return f"req_{_ids.getrandbits(96):024x}"


def fields(**known: object) -> dict[str, Any]:
    """Return the argument `extra` that adds fields to a log record: `log.info("request", extra=fields(status=202))`."""
    return {"fields": known}


class JsonLine(logging.Formatter):
    """Formats a log record as a JSON object with `time`, `level`, `logger`, `message` and the record's fields.

    Within a trace, the object also has `trace_id` and `span_id`. After a failure, it has the traceback in `error`.
    """

    def format(self, record: logging.LogRecord) -> str:
        known = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if ids := tracing.ids():
            known["trace_id"], known["span_id"] = ids
        if record.exc_info:
            known["error"] = self._failure(record.exc_info)
        return _SECRET.sub(r"\1[hidden]", self._line(known))

    def _line(self, known: dict[str, Any]) -> str:
        return json.dumps(known, default=str)

    def _failure(self, failed: Any) -> str:
        """Return the traceback. For a disk error, return only the message: a full disk causes thousands of errors."""
        fault = failed[1] and disk_fault(failed[1])
        return f"{fault} ({failed[1]})" if fault else self.formatException(failed)


class OneLine(JsonLine):
    """Formats a log record as a line `time=... level=warning logger=... message="..."`, with quotes where necessary."""

    def _line(self, known: dict[str, Any]) -> str:
        always = {"message", "error"}
        return " ".join(f"{name}={_quote(it) if name in always else _value(it)}" for name, it in known.items())


FORMATTERS: Final = {"text": OneLine, "json": JsonLine}
"""The log formatters, by value of the setting `log_format`."""


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else _quote(text)


def _quote(text: str) -> str:
    """Quote the text. Escape line ends, terminal controls and bidirectional characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escape, quoted))


def _escape(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1].replace("\x7f", "\\u007f")


TALLY_SECONDS: Final = 10.0


class Tally:
    """Logs the first event of a kind at once, and then, every `seconds`, the number of further events."""

    def __init__(self, log: logging.Logger, seconds: float = TALLY_SECONDS) -> None:
        self._log, self._seconds = log, seconds
        self._more: dict[str, int] = {}

    def note(self, kind: str, message: str, **known: object) -> None:
        """Log the first event of this kind, or count a further event. Requires a running event loop."""
        if kind in self._more:
            self._more[kind] += 1
            return
        self._log.info(message, extra=fields(**known))
        self._begin(kind, message)

    def _begin(self, kind: str, message: str) -> None:
        self._more[kind] = 0
        asyncio.get_running_loop().call_later(self._seconds, self._log_count, kind, message)

    def _log_count(self, kind: str, message: str) -> None:
        if more := self._more.pop(kind):
            self._log.info(message, extra=fields(kind=kind, more=more, seconds=f"{self._seconds:g}"))
            self._begin(kind, message)


class RotatingHandler(logging.StreamHandler[Any]):
    """Logs to stderr. If stderr is the folder's log file and the file is too large, copies and empties the file."""

    def __init__(self, folder: DataFolder) -> None:
        super().__init__()
        self._folder = folder

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        with contextlib.suppress(OSError):
            file = os.fstat(2)
            if file.st_size > LOG_MAX_BYTES and os.path.samestat(file, self._folder.log.stat()):
                self._folder.rotate_log()
                os.lseek(2, 0, os.SEEK_SET)  # on Windows, a write would continue at the old position


def log_to_stderr(folder: DataFolder, format: str = "text") -> None:
    """Configure logging: this package's records from INFO and other libraries' records from WARNING."""
    logging.raiseExceptions = False  # if the log can't be written, nobody could read the error
    handler = RotatingHandler(folder)
    handler.setFormatter(FORMATTERS[format]())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("agentsvc_nb").setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are about requests that anybody can send
