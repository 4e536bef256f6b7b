"""Values of a request as they are sent: JSON and query parameters, with the ids of records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError, refused
from agentsvc_nb.client.references import identifier

_REFERENCES: Final = ("chat", "chat_id", "project")


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None, with the ids of records."""
    given = {name: value for name, value in values.items() if value is not None}
    return given | {name: identifier(name, given[name]) for name in _REFERENCES if name in given}


def query_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a query. Raises `StefanBrainError` for text that is no Unicode."""
    texts = {name: str(value) for name, value in _given(values).items()}
    try:
        "".join(texts.values()).encode()
    except UnicodeEncodeError as error:
        raise StefanBrainError(f"A value cannot be sent: {unencodable(error)}.") from None
    return texts


def json_body(body: Mapping[str, Any], extra: Mapping[str, Any]) -> bytes:
    """A body as JSON, with the `extra` fields of the caller. Raises `StefanBrainError` (`invalid_json`) for values that
    JSON has not: dates, NaN, what refers to itself."""
    try:
        whole = _with_extra(body, extra)
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError as error:
        why = unencodable(error)
    except (TypeError, ValueError) as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    raise refused("invalid_json", f"The request cannot be sent as JSON: {why}.")


def _with_extra(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the caller's own fields; objects on both sides are joined, such as the `input` of a tool."""
    whole = _given(body)
    for name, value in extra.items():
        there = whole.get(name)
        whole[name] = {**there, **value} if isinstance(there, dict) and isinstance(value, Mapping) else value
    return whole


def unencodable(error: UnicodeEncodeError) -> str:
    """Why a text cannot be sent: it holds a lone surrogate."""
    return f"{error.object[error.start : error.end]!a} is half of a character"
