"""Structured output: which `output_config` is accepted, and whether an answer fits it (contract §2).

Both hold the interpreter for a second at worst: call them in a thread, one at a time.
"""

from __future__ import annotations

import json
from typing import Any

from agentsvc_nb.safe.schemas import BadSchema, Judge, TooMuchWork
from agentsvc_nb.service.rules import documents
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
        value = documents.read(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    try:
        found = Judge(config).misfit(value)
    except BadSchema as error:
        return f"The answer can't be held to its schema, which {error}."
    return None if found is None else str(found)


def as_object(text: str | None) -> Schema | None:
    """The final text as data, when it is a JSON object (spec.md "Agent Run")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = documents.read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
