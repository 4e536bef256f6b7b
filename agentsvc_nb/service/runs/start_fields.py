"""The fields with which a start chooses how its run is done (docs/api/runs.md "Limits of a run",
docs/api/models.md "Models by choice"), and what its caller executes (docs/api/client-tools.md)."""

from __future__ import annotations

import math
from typing import get_args

from pydantic import ValidationError

from agentsvc_nb.documents.child_process import NoChild
from agentsvc_nb.key_forms import looks_like_key
from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts.usage_records import MICROCENTS_MAX
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http.bodies import Document
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.runs.run_records import RunLimits
from agentsvc_nb.tools import port
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import CLIENT_TOOLS_MAX, OUTPUT_CONFIG_BYTES, STEPS_MAX
from agentsvc_nb.wire.runs import CENT, Effort, NewClientTool


def limits(document: Document) -> RunLimits:
    """`max_steps` and `max_cents`. Raises `invalid_limits`."""
    steps, cents = document.get("max_steps"), document.get("max_cents")
    if steps is not None and not (_is_number(steps) and steps == int(steps) and 1 <= steps <= STEPS_MAX):
        raise ApiError("invalid_limits", f"`max_steps` must be an integer from 1 to {STEPS_MAX:,}.", field="max_steps")
    if cents is not None and not (_is_number(cents) and cents > 0):
        raise ApiError("invalid_limits", "`max_cents` must be a number over 0.", field="max_cents")
    # Rounded up: a part of a micro-cent is over 0, too.
    microcents = None if cents is None else math.ceil(min(cents * CENT, MICROCENTS_MAX))
    return RunLimits(None if steps is None else int(steps), microcents)


def files_from(document: Document, where: ChatSelector) -> str | None:
    """`files_from`, the chat whose files a new one begins with. Raises `invalid_chat`."""
    given = document.get("files_from")
    if given is None:
        return None
    if where.chat is not None or where.session is not None:
        why = "`files_from` is for a new chat: leave `chat` and `session` out."
        raise ApiError("invalid_chat", why, field="files_from")
    if not ids.is_chat(given):
        raise ApiError("invalid_chat", field="files_from")
    return str(given)


def choice(context: RequestContext, document: Document) -> tuple[str | None, Effort | None]:
    """`model` and `effort`, as far as they are given. Raises `invalid_model`."""
    model, effort = document.get("model"), document.get("effort")
    offered = context.services.settings.offered
    if model is not None and model not in offered:
        named = "that was named looks like a key, and" if looks_like_key(str(model)) else repr(model)[:100]
        raise ApiError("invalid_model", f"The model {named} is not offered: {', '.join(offered)}.", field="model")
    if effort is not None and effort not in get_args(Effort):
        raise ApiError("invalid_model", f"`effort` must be {', '.join(get_args(Effort))}.", field="effort")
    return model, effort


async def client_tools(context: RequestContext, document: Document) -> list[NewClientTool]:
    """`client_tools`. Raises `invalid_client_tool`, and `workspace_busy` when a schema can't be checked now."""
    given = document.get("client_tools") or []
    if not isinstance(given, list) or len(given) > CLIENT_TOOLS_MAX:
        raise _invalid_tool(f"`client_tools` must be a list of at most {CLIENT_TOOLS_MAX} tools.")
    if given and document.get("sync"):
        raise _invalid_tool("Nobody could answer their calls while the start is held: leave `sync` out.")
    found = [_client_tool(tool, f"client_tools.{place}") for place, tool in enumerate(given)]
    for place, tool in enumerate(found):
        if tool.name in context.services.taken_names or tool.name in (other.name for other in found[:place]):
            raise _invalid_tool(f"The name {tool.name!r} is taken.", f"client_tools.{place}.name")
    if sum(payloads.size(tool.input_schema) for tool in found) > OUTPUT_CONFIG_BYTES:
        raise _invalid_tool("The schemas of all client tools together may have 64 KB.")
    for place, tool in enumerate(found):
        if fault := await _schema_fault(context, tool):
            raise _invalid_tool(fault, f"client_tools.{place}.input_schema")
    return found


def _client_tool(given: object, field: str) -> NewClientTool:
    try:
        return NewClientTool.model_validate(given, strict=True)
    except ValidationError as error:
        at, fault = port.fault(error)
        raise _invalid_tool(f"{field}.{fault}", f"{field}.{at}") from None


async def _schema_fault(context: RequestContext, tool: NewClientTool) -> str | None:
    """Why the tool's schema is not acceptable, in a sentence."""
    try:
        fault = await context.services.schemas.fault(tool.input_schema)
    except NoChild:
        raise ApiError("workspace_busy") from None
    return f"The input schema of {tool.name} {fault.removeprefix('output_config ')}" if fault else None


def _invalid_tool(message: str, field: str = "client_tools") -> ApiError:
    return ApiError("invalid_client_tool", message, field=field)


def no_client_tools(document: Document) -> None:
    """Raises `invalid_tool_input` for client tools where none are taken."""
    given = document.get("input")
    if "client_tools" in document or (isinstance(given, dict) and given.get("client_tools") is not None):
        why = "Client tools belong to a start of a run (`POST /runs`): nobody would answer their calls here."
        raise ApiError("invalid_tool_input", why, field="client_tools")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
