"""The live tool catalog (docs/api/tools-and-jobs.md "Catalog")."""

from __future__ import annotations

from typing import Any, Unpack

from agentsvc_nb.client.errors import ToolResultError
from agentsvc_nb.client.models import Listing
from agentsvc_nb.client.operations.jobs import NOT_IDEMPOTENT
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.request.request import ACCEPTED, ApiRequest, Core, with_request_details
from agentsvc_nb.wire.routes.route import Resend
from agentsvc_nb.wire.tools import JobAccepted, ToolDescription, ToolList, ToolResult


async def list_(core: Core, **options: Unpack[Options]) -> Listing[ToolDescription]:
    """All tools. One that lacks a credential, a model or the network says `available=False`.

    Raises `StefanBrainError`.

    >>> [tool.name for tool in client.tools.list() if tool.available]  # doctest: +SKIP
    ['ask_stefanbrain', 'create_images']
    """
    return Listing((await core.scoped(options).ask(ToolList, ApiRequest("tools.list"))).data, ToolDescription)


async def describe(core: Core, name: str, **options: Unpack[Options]) -> ToolDescription:
    """One tool, with its schemas. Raises `StefanBrainError` (`tool_not_found`).

    >>> client.tools.describe("create_images").input_schema  # doctest: +SKIP
    """
    return await core.scoped(options).ask(ToolDescription, ApiRequest("tools.describe", {"name": name}))


async def invoke(
    core: Core,
    tool: str,
    input: dict[str, Any],
    *,
    chat: str | None = None,
    project: str | None = None,
    session: str | None = None,
    idempotency_key: str | None = None,
    **options: Unpack[Options],
) -> ToolResult | JobAccepted:
    """Call a tool: its result, or the acceptance of a job when the tool is asynchronous or takes long.

    Args:
        tool: a name of the catalog.
        input: fits the tool's `input_schema`.
        chat: where the tool works; without `chat` and `session` in the chat that tools share.
        project, session: in place of `chat`.
        idempotency_key: counts for tools that the catalog calls idempotent; with it a call without an answer is
            sent again.

    Raises:
        ToolResultError: the tool failed; `body` is its whole answer.
        StefanBrainError: refused, such as `tool_not_found` or `invalid_tool_input`.

    >>> client.tools.invoke("web_search", {"query": "autumn fashion"}).data  # doctest: +SKIP
    """
    body = {"input": input, "chat": chat, "project": project, "session": session}
    resend: Resend | None = "never" if tool in NOT_IDEMPOTENT else None
    request = ApiRequest("tools.invoke", {"name": tool}, body=body, key=idempotency_key, resend=resend)
    response = await core.scoped(options).send(request)
    if response.status == ACCEPTED:
        return core.read(JobAccepted, request, response)
    result = core.read(ToolResult, request, response)
    if result.is_error:
        raise with_request_details(_failure(result, tool, response.status), request, response)
    return result


def _failure(result: ToolResult, tool: str, status: int) -> ToolResultError:
    error, body = result.error, result.model_dump(mode="json")
    if error is None:
        return ToolResultError(f"{tool} failed.", status=status, body=body)
    return ToolResultError(f"{tool} failed: {error.message or error.code}", status=status, code=error.code, body=body)
