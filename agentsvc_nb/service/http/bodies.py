"""Request bodies: JSON objects and the fields of a start, each wrong one answered by its own code."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.actions.chats import check as check_where
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.rules import documents, inputs
from agentsvc_nb.service.work import answer_check
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, INPUT_MAX_BYTES, SESSION_CHARS

Document = dict[str, Any]
B = TypeVar("B", bound=BaseModel)


async def read_object(request: Request, most: int = INPUT_MAX_BYTES) -> Document:
    """The JSON object of the body; keys with null are absent (contract §1).

    One of more than `most` bytes is refused before it is read, or while it comes: what is parsed holds up everybody.
    """
    too_large = Fail("attachment_too_large", f"The JSON body may have {most:,} bytes here; send files as multipart.")
    received, declared = bytearray(), request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise too_large
    async for chunk in request.stream():
        received += chunk
        if len(received) > most:
            raise too_large
    return parse_object(bytes(received))


def parse_object(data: bytes) -> Document:
    try:
        document = documents.read(data)
    except ValueError as error:
        raise Fail("invalid_json", f"The body is not JSON that can be used: {error}.") from None
    if not isinstance(document, dict):
        raise Fail("invalid_json", "The body is JSON, but not an object.")
    return {name: value for name, value in document.items() if value is not None}


def checked(model: type[B], document: Document, code: str) -> B:
    """The document as `model`, strictly: "5" is no integer, 5.0 is one, as JSON Schema has it. What does not fit is
    answered `code`, with the field."""
    try:
        return model.model_validate_json(json.dumps(_whole(without_nulls(document))), strict=True)
    except ValidationError as error:
        field, fault = inputs.fault(error)
        raise Fail(code, fault, field=field) from None


def without_nulls(value: Any) -> Any:
    """null counts as absent (contract §1), at any depth; in a list it stands for itself.

    >>> without_nulls({"a": {"b": None}, "c": [None]})
    {'a': {}, 'c': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _whole(value: Any) -> Any:
    """The same JSON, with 5 for 5.0."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def message(document: Document) -> str:
    value = document.get("message")
    if not isinstance(value, str) or not value.strip():
        raise Fail("message_required")
    return value


def where(document: Document, *, new_allowed: bool = False) -> Where:
    """`chat`, `project` and `session`, well formed."""
    given = Where(*(document.get(name) for name in ("chat", "project", "session")))
    check_where(given, new_allowed=new_allowed)
    session = given.session
    if session is not None and not (isinstance(session, str) and 0 < len(session) <= SESSION_CHARS):
        raise Fail("invalid_json", f"`session` must be a text of 1 to {SESSION_CHARS} characters.")
    return given


def sync(document: Document) -> bool:
    value = document.get("sync", False)
    if not isinstance(value, bool):
        raise Fail("invalid_sync")
    return value


def check_on_busy(document: Document) -> None:
    if document.get("on_busy", "reject") != "reject":
        raise Fail("invalid_on_busy")


async def output_config(document: Document) -> Document | None:
    config = document.get("output_config")
    if config is None:
        return None
    if fault := await answer_check.fault(config):
        raise Fail("invalid_output_config", fault)
    checked: Document = config
    return checked


def file_ids(document: Document, files: int) -> list[str]:
    """The staged files to attach, beside `files` sent along."""
    value = document.get("file_ids", [])
    if not isinstance(value, list) or not all(ids.is_upload(item) for item in value):
        raise Fail("invalid_json", "`file_ids` must be a list of `upload_...` ids.")
    if len(value) + files > ATTACHMENTS_MAX:
        raise Fail("too_many_attachments")
    return value
