"""Structured output: which `output_config` is accepted, and whether an answer fits it, judged in a thread."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from agentsvc_nb.formats import json_documents
from agentsvc_nb.formats.json_schema import BadSchema, Judge, TooMuchWork
from agentsvc_nb.wire.limits import OUTPUT_CONFIG_BYTES

Schema = dict[str, Any]


def fault(config: object) -> str | None:
    """Why `config` is no acceptable schema, in one sentence; None when it is one."""
    if not isinstance(config, dict):
        return "output_config must be a JSON Schema object."
    if len(json.dumps(config).encode()) > OUTPUT_CONFIG_BYTES:
        return "output_config is larger than 64 KB."
    if config.get("type") != "object":
        return 'output_config must have "type": "object" at its root.'
    try:
        Judge(config).check_finite()
    except TooMuchWork:
        return "output_config is too large with its references written out; refer to fewer parts."
    except BadSchema as error:
        return f"output_config {error}."
    return None


def misfit(text: str, config: Schema) -> str | None:
    """Why `text` is not a JSON document that fits the schema; None when it is."""
    try:
        value = json_documents.read(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    try:
        found = Judge(config).misfit(value)
    except BadSchema as error:
        return f"The answer can't be held to its schema, which {error}."
    return None if found is None else str(found)


def as_object(text: str | None) -> Schema | None:
    """The final text as data, when it is a JSON object (docs/api/runs.md "Record")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = json_documents.read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


_judges: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judge")


async def find_misfit(text: str, config: dict[str, Any]) -> str | None:
    """Why the answer does not fit; None when it does (`rules.schemas.misfit`)."""
    return await asyncio.get_running_loop().run_in_executor(_judges, misfit, text, config)


async def find_fault(config: object) -> str | None:
    """Why this is no acceptable schema; None when it is one (`rules.schemas.fault`)."""
    return await asyncio.get_running_loop().run_in_executor(_judges, fault, config)
