"""Logs of the service: one line a record on stderr, fields as `name=value`, and no secrets."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Final

_SECRET: Final = re.compile(r"(svc_sk_|svc_oat_|token=)[A-Za-z0-9_-]+")


class OneLine(logging.Formatter):
    """`time=... level=warning logger=... message="..."`, and `error="..."` with the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": json.dumps(record.getMessage(), ensure_ascii=False),
        }
        if record.exc_info:
            fields["error"] = json.dumps(self.formatException(record.exc_info), ensure_ascii=False)
        line = " ".join(f"{name}={value}" for name, value in fields.items())
        return _SECRET.sub(r"\1[hidden]", line)


def log_to_stderr() -> None:
    """Our records from INFO, other libraries' from WARNING."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("agentsvc_nb").setLevel(logging.INFO)
