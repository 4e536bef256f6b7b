"""Validate the request that starts a run, `wire.runs.NewRun` (docs/api/runs.md "Start")."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from agentsvc_nb.agents import scripted
from agentsvc_nb.documents.child_process import NoChild
from agentsvc_nb.key_forms import looks_like_key
from agentsvc_nb.service import payloads
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.http import bodies, models
from agentsvc_nb.service.http.bodies import Document
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import MultipartForm
from agentsvc_nb.service.runs import runs
from agentsvc_nb.service.runs.run_records import RunLimits
from agentsvc_nb.tools import port
from agentsvc_nb.wire.limits import (
    ATTACHMENTS_MAX,
    CENTS_MAX,
    HOSTED_RUN_CENTS,
    OUTPUT_CONFIG_BYTES,
    SESSION_CHARS,
    STEPS_MAX,
)
from agentsvc_nb.wire.runs import CENT, Effort, NewClientTool, NewLimits, NewRun

B = TypeVar("B", bound=BaseModel)

_ERRORS: Final[dict[str, tuple[str, str | None]]] = {
    "message": ("message_required", None),
    "chat": ("invalid_chat", None),
    "project": ("invalid_project", None),
    "session": ("invalid_json", f"`session` must be a string of 1 to {SESSION_CHARS} characters."),
    "sync": ("invalid_sync", None),
    "on_busy": ("invalid_on_busy", None),
    "output_config": ("invalid_output_config", "`output_config` must be a JSON object with a JSON Schema."),
    "file_ids": ("invalid_json", "`file_ids` must be a list of `upload_...` ids."),
    "files_from": ("invalid_chat", None),
    "model": ("invalid_model", "`model` must be the id of a model."),
    "effort": ("invalid_model", f"`effort` must be {', '.join(get_args(Effort))}."),
    "max_steps": ("invalid_limits", f"`max_steps` must be an integer from 1 to {STEPS_MAX:,}."),
    "max_cents": ("invalid_limits", f"`max_cents` must be a number over 0 and at most {CENTS_MAX:,}."),
    "client_tools": ("invalid_client_tool", None),
}
"""The error code for an invalid field of `NewRun`, and a message if the code's default message does not fit."""


def parse(model: type[B], document: Document) -> B:
    """Validate the document with the model. Raise the error of the first invalid field."""
    try:
        return model.model_validate(port.with_integers(document), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        code, message = _ERRORS[field]
        if field == "file_ids" and first["type"] == "too_long":
            code, message = "too_many_attachments", None
        if field == "client_tools":
            field, message = port.describe_invalid_field(error)
        raise ApiError(code, message, field=field) from None


def to_limits(given: NewRun | NewLimits) -> RunLimits:
    return RunLimits(given.max_steps, None if given.max_cents is None else to_microcents(given.max_cents))


def to_microcents(cents: float) -> int:
    # Round up, so that a fraction of a micro-cent does not become 0.
    return math.ceil(cents * CENT)


async def read(context: RequestContext, document: Document, form: MultipartForm) -> runs.Start:
    """Validate the start request and store its files. Raises `ApiError` for the first fault found."""
    given = parse(NewRun, document)
    if given.message.isspace():  # the model's pattern does not recognise all kinds of whitespace
        raise ApiError("message_required", field="message")
    if given.files_from is not None and (given.chat is not None or given.session is not None):
        why = "`files_from` is for a new chat: leave `chat` and `session` out."
        raise ApiError("invalid_chat", why, field="files_from")
    if given.output_config is not None and (fault := await _schema_fault(context, given.output_config)):
        raise ApiError("invalid_output_config", fault)
    check_model(context, given.model)
    if given.client_tools:
        await _check_client_tools(context, given.client_tools, sync=bool(given.sync))
    upload_ids = given.file_ids or []
    if len(upload_ids) + len(form.files) > ATTACHMENTS_MAX:
        raise ApiError("too_many_attachments")
    key = bodies.idempotency_key(context)
    model = given.model or context.services.settings.offered[0]
    if model == "scripted":
        await check_script(given.message)
    # Store the files last, so that a request with any other error stores no file.
    staged = await read_uploads(context, upload_ids) if upload_ids else []
    await form.keep()
    attached = [await context.services.storage.describe(name, blob) for name, blob in form.files]
    return runs.Start(
        given.message,
        ChatSelector(given.chat, given.project, given.session),
        model,
        context.received_at,
        given.output_config,
        [*staged, *attached],
        key,
        add_default_limit(context, to_limits(given), model),
        given.effort,
        await models.why_unavailable(context, given.model) if given.model else None,
        given.client_tools or (),
        given.files_from,
    )


def check_model(context: RequestContext, model: str | None) -> None:
    """Raise `invalid_model` unless the service offers the model. None is the default model."""
    offered = context.services.settings.offered
    if model is not None and model not in offered:
        named = "in the request, which looks like an API key" if looks_like_key(model) else repr(model)[:100]
        raise ApiError(
            "invalid_model",
            f"The service does not offer the model {named}. It offers {', '.join(offered)}.",
            field="model",
        )


def add_default_limit(context: RequestContext, given: RunLimits, model: str) -> RunLimits:
    """Return the limits. If the model is hosted and the request sets no cost limit, add the default cost limit."""
    if given.max_microcents is None and getattr(context.services.models[model], "hosted", False):
        return replace(given, max_microcents=HOSTED_RUN_CENTS * CENT)
    return given


async def check_script(message: str) -> None:
    """Raise the error that the message requests, if it requests one.

    The message is a script for the model `scripted`.
    """
    long = len(message) > runs.LONG_CHARS
    if refused := await asyncio.to_thread(scripted.find_refusal, message) if long else scripted.find_refusal(message):
        raise ApiError(refused)


async def read_uploads(context: RequestContext, upload_ids: list[str]) -> list[Content]:
    """Return the contents of files that were uploaded earlier. Raises `upload_not_found`."""
    account, now, storage = context.key.account, context.received_at, context.services.storage
    records = await files.find_staged(context.use_case, account, upload_ids, now)
    return [await storage.describe_upload(record) for record in records]


async def _check_client_tools(context: RequestContext, tools: Sequence[NewClientTool], *, sync: bool) -> None:
    """Raise `invalid_client_tool` if a client tool is invalid.

    Raises `workspace_busy` if the service can't check a tool's schema now.
    """
    if sync:
        raise _invalid_tool(
            "Client tools do not work with `sync`, because the client can't answer their calls while it waits "
            "for the response. Leave `sync` out."
        )
    taken = set(context.services.taken_names)
    for place, tool in enumerate(tools):
        if tool.name in taken:
            raise _invalid_tool(
                f"A tool named {tool.name!r} already exists. Choose another name.", f"client_tools.{place}.name"
            )
        taken.add(tool.name)
    if sum(payloads.size(tool.input_schema) for tool in tools) > OUTPUT_CONFIG_BYTES:
        raise _invalid_tool("The schemas of all client tools together must not exceed 64 KiB.")
    for place, tool in enumerate(tools):
        if fault := await _schema_fault(context, tool.input_schema):
            why = f"The input schema of {tool.name} {fault.removeprefix('output_config ')}"
            raise _invalid_tool(why, f"client_tools.{place}.input_schema")


async def _schema_fault(context: RequestContext, schema: dict[str, Any]) -> str | None:
    """Return why the schema is invalid, as a sentence, or None. Raises `workspace_busy` if no check is possible."""
    try:
        return await context.services.schemas.check_output_config(schema)
    except NoChild:
        raise ApiError("workspace_busy") from None


def _invalid_tool(message: str, field: str = "client_tools") -> ApiError:
    return ApiError("invalid_client_tool", message, field=field)
