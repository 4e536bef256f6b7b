"""Columns and types of the notebook's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TIME: Final = "datetime64[ns, UTC]"

FILES: Final[Mapping[str, Any]] = {
    "path": "string",
    "file_name": "string",
    "name": "string",
    "kind": "category",
    "media_type": "category",
    "size_bytes": "Int64",
    "updated_at": _TIME,
    "run_id": "string",
    "id": "string",
}
RUNS: Final[Mapping[str, Any]] = {
    "run_id": "string",
    "status": "category",
    "started_at": _TIME,
    "ended_at": _TIME,
    "seconds": "Float64",
    "steps": "Int64",
    "cost_cents": "Float64",
    "model": "string",
    "prompt": "string",
    "chat": "string",
    "notebook": "string",
    "base_url": "string",
}
APPROVALS: Final[Mapping[str, Any]] = {
    "call_id": "string",
    "tool": "string",
    "input": "object",
    "since": _TIME,
    "run_id": "string",
}
JOBS: Final[Mapping[str, Any]] = {
    "job_id": "string",
    "tool": "string",
    "status": "category",
    "created_at": _TIME,
    "started_at": _TIME,
    "ended_at": _TIME,
    "chat": "string",
    "base_url": "string",
}
