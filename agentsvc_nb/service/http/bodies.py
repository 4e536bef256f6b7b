"""Parse query parameters, headers, JSON bodies and forms. Each parser raises `ApiError` with a code for its field."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from agentsvc_nb.documents import json_reading
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.chats.chats import check_ids as check_where
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.tools import port
from agentsvc_nb.wire import ids, proof
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    FORM_MAX_BYTES,
    INPUT_MAX_BYTES,
    INPUT_VALUES_MAX,
    INTEGER_MAX,
    NONCE_MAX_CHARS,
    NONCE_MIN_CHARS,
    PAGE_MAX,
    SESSION_CHARS,
    WORK_PAGE_DEFAULT,
)
from agentsvc_nb.wire.resources import NewKey


def text(context: RequestContext, name: str) -> str:
    """Return a required query parameter. Raises `invalid_query`."""
    value = context.request.query_params.get(name)
    if not value:
        raise ApiError("invalid_query", f"The query parameter {name!r} is required.", param=name)
    return value


def integer(context: RequestContext, name: str, default: int, low: int, high: int) -> int:
    """Return an integer query parameter from `low` to `high`, or `default` if it is absent. Raises `invalid_query`."""
    value = context.request.query_params.get(name)
    if value is None:
        return default
    if not _is_integer(value) or not low <= int(value) <= high:
        raise ApiError("invalid_query", f"{name!r} must be an integer from {low} to {high}.", param=name)
    return int(value)


def file_version(context: RequestContext) -> int | None:
    """Return the query parameter `version`, or None if it is absent. Raises `invalid_query`."""
    return integer(context, "version", 0, 1, INTEGER_MAX) or None


def choice(context: RequestContext, name: str, allowed: Sequence[str]) -> str | None:
    """Return a query parameter with one of the allowed values, or None if it is absent. Raises `invalid_query`."""
    value: str | None = context.request.query_params.get(name)
    if value is not None and value not in allowed:
        raise ApiError("invalid_query", f"`{name}` must be one of {', '.join(allowed)}.", param=name)
    return value


def chat_of_query(context: RequestContext) -> ChatSelector:
    """Return the query parameters that name the chat of a job. Raises `invalid_query` if all are absent."""
    query = context.request.query_params
    if not any(query.get(name) for name in ("chat", "project", "session")):
        raise ApiError(
            "invalid_query",
            "Send the job's `chat`, or the `project` and `session` with which it was submitted.",
            param="chat",
        )
    return ChatSelector(query.get("chat") or None, query.get("project") or None, query.get("session") or None)


def idempotency_key(context: RequestContext) -> str | None:
    """Return the value of the Idempotency-Key header, or None without the header. Raises `invalid_idempotency_key`."""
    values = context.request.headers.getlist("idempotency-key")
    if len(values) > 1:
        raise ApiError("invalid_idempotency_key", "Send only one `Idempotency-Key` header.")
    if values and not ids.is_idempotency_key(values[0]):
        raise ApiError("invalid_idempotency_key")
    return values[0] if values else None


def nonce(context: RequestContext) -> str | None:
    """Return the query parameter `nonce`, or None if it is absent. Raises `invalid_query`.

    If a request has a nonce, the response of `service_health` contains a proof.
    """
    value = context.request.query_params.get("nonce")
    if value is not None and not proof.is_nonce(value):
        rule = f"{NONCE_MIN_CHARS} to {NONCE_MAX_CHARS} letters, digits, `_` or `-`"
        raise ApiError("invalid_query", f"`nonce` must be {rule}.", param="nonce")
    return value


def last_event_id(context: RequestContext) -> int | None:
    """Return the id of the event after which to continue a stream, from the header `Last-Event-ID`.

    Return 0 (the start) for an empty header, and None without the header. Raises `invalid_last_event_id`
    (docs/api/events.md "The stream").
    """
    value = context.request.headers.get("last-event-id")
    if value is None:
        return None
    if value == "":
        return 0
    if not _is_integer(value) or int(value) > EVENT_ID_MAX:
        raise ApiError("invalid_last_event_id")
    return int(value)


def accepts(context: RequestContext, media_type: str) -> bool:
    """Return whether the Accept header names this media type. Wildcards are ignored."""
    offered = context.request.headers.get("accept", "").lower().split(",")
    return any(one.partition(";")[0].strip() == media_type for one in offered)


def _is_integer(value: str) -> bool:
    # `isdigit` alone accepts digits of other scripts and superscripts. 2**63 has 19 digits.
    return value.isascii() and value.isdigit() and len(value) <= 19


Document = dict[str, Any]
LARGE_BYTES: Final = 64_000
"""The service parses larger bodies in a thread, and limits how many of them are in memory."""
_FORM_FIELDS_MAX: Final = 50
B = TypeVar("B", bound=BaseModel)
P = ParamSpec("P")
T = TypeVar("T")


async def read_object(
    context: RequestContext,
    most: int = INPUT_MAX_BYTES,
    most_values: int = INPUT_VALUES_MAX,
    too_large: ApiError | None = None,
    optional: bool = False,
) -> Document:
    """Return the JSON object of the body, without keys whose value is null (docs/api/conventions.md "Values").

    If the body is `optional`, return an empty object for an empty body.

    Raises `too_large` (by default `attachment_too_large`) if the declared or the actual length exceeds `most` bytes,
    and what `parse_object` raises.
    """
    too_large = too_large or ApiError(
        "attachment_too_large",
        f"The JSON body must not exceed {most:,} bytes on this route. Send files as multipart/form-data.",
    )
    declared = _declared_bytes(context)
    if declared > most:  # refuse the body before reading any of it
        raise too_large
    received = bytearray()
    async with contextlib.AsyncExitStack() as turn:
        waited = declared > LARGE_BYTES
        if waited:
            await turn.enter_async_context(context.services.large_bodies)
        async for chunk in context.request.stream():
            received += chunk
            if len(received) > most:
                raise too_large
            if len(received) > LARGE_BYTES and not waited:
                await turn.enter_async_context(context.services.large_bodies)
                waited = True
        return {} if optional and not received else await parse_object(context, received, most_values)


def _declared_bytes(context: RequestContext) -> int:
    """Return the declared length of the body, or 0 if it is unknown."""
    length = context.request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else 0


async def read_form_fields(request: Request) -> dict[str, str]:
    """Return a form's non-empty fields, stripped. Raises `attachment_too_large` and `invalid_query`."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > FORM_MAX_BYTES:
            raise ApiError("attachment_too_large", "The form is too large. Shorten your text.")
    try:
        # This raises `ValueError` for too many fields or invalid UTF-8.
        pairs = parse_qsl(received.decode(), max_num_fields=_FORM_FIELDS_MAX)
    except ValueError:
        raise ApiError("invalid_query", "The service could not read the form. Send it from its page.") from None
    return {name: value.strip() for name, value in pairs if value.strip()}


async def read_payload(
    context: RequestContext, payload: SpooledTemporaryFile[bytes] | None, most_values: int
) -> Document:
    """Parse the JSON object in a form's field `payload`. Raises the errors of `parse_object`."""
    if payload is None:
        return await parse_object(context, bytearray(), most_values)
    size = payload.tell()
    payload.seek(0)
    if size <= LARGE_BYTES:
        return await parse_object(context, bytearray(payload.read()), most_values)
    async with context.services.large_bodies:
        data = bytearray(size)
        await asyncio.to_thread(payload.readinto, data)
        return await parse_object(context, data, most_values)


async def parse_object(context: RequestContext, data: bytearray, most_values: int) -> Document:
    """Parse `data` as a JSON object, and leave out its null values. Raises `invalid_json`.

    To free memory, `data` is empty afterwards.
    """
    try:
        if len(data) <= LARGE_BYTES:
            return json_reading.read_object(data, most_values)
        async with context.services.body_checks:
            return await asyncio.to_thread(json_reading.read_object, data, most_values)
    except ValueError as error:
        raise ApiError("invalid_json", str(error)) from None


async def run_check(context: RequestContext, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work`, which checks the body. Check a large body in a thread, and only one large body at a time."""
    if 0 < _declared_bytes(context) <= LARGE_BYTES:
        return work(*args, **kwargs)
    async with context.services.body_checks:
        return await asyncio.to_thread(work, *args, **kwargs)


async def validate_body(context: RequestContext, model: type[B], document: Document, code: str) -> B:
    """Call `validate`, in a thread if the body is large."""
    return await run_check(context, validate, model, document, code)


def validate(model: type[B], document: Document, code: str) -> B:
    """Validate the document as `model` and return it. Raises `ApiError(code)` with the invalid field's name."""
    try:
        return port.validate(model, document)
    except ValidationError as error:
        field, fault = port.describe_invalid_field(error)
        raise ApiError(code, fault, field=field) from None


def chat_of_body(document: Document, *, new_allowed: bool = False) -> ChatSelector:
    """Return the fields with which a body names its chat: `chat`, `project` and `session`.

    Raises `invalid_chat`, `invalid_project`, and `invalid_json` for an invalid session.
    """
    given = ChatSelector(*(document.get(name) for name in ("chat", "project", "session")))
    check_where(given, new_allowed=new_allowed)
    session = given.session
    if session is not None and not (isinstance(session, str) and 0 < len(session) <= SESSION_CHARS):
        raise ApiError("invalid_json", f"`session` must be a string of 1 to {SESSION_CHARS} characters.")
    return given


def new_key(document: Document) -> NewKey:
    """Parse a request for a new key. Check the terms, the scopes, and then other fields. Raise the first error."""
    accounts.check_terms(document.get("developerTermsAccepted"), document.get("developerTermsVersion"))
    scopes = document.get("scopes", [])
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise ApiError("invalid_scope", "`scopes` must be a list of scope names.")
    accounts.check_scopes(scopes)
    return validate(NewKey, document, "invalid_json")


def list_query(context: RequestContext, statuses: tuple[str, ...]) -> ListQuery:
    """Return the query parameters of a request that lists runs or jobs."""
    given = context.request.query_params
    status = choice(context, "status", statuses)
    limit = integer(context, "limit", WORK_PAGE_DEFAULT, 1, PAGE_MAX)
    return ListQuery(context.account, given.get("chat"), status, given.get("after"), limit)
