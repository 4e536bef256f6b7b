"""Client tools: functions of the user's program that the agent of a run may call (docs/api/client-tools.md).

The program that started the run executes each call once, while it reads the run's events.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

from pydantic import PydanticUserError, TypeAdapter, ValidationError, validate_call
from pydantic_core import PydanticSerializationError, SchemaError, to_json

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.errors import StefanBrainError, error_for_code
from agentsvc_nb.client.events import ClientCallWaiting, EventPage
from agentsvc_nb.client.log import log
from agentsvc_nb.client.models import Run
from agentsvc_nb.client.options import is_transient
from agentsvc_nb.client.transport.io import Response
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.runs import ClientCall

Function = Callable[..., Any]
Answer = dict[str, Any]
"""The result of a client tool's call, as the JSON body that the client sends to the service."""
LEAVING_SECONDS: Final = 2.0
"""The maximum number of seconds in which a stream that closes reports interrupted functions to the service."""
current_call: ContextVar[ClientCallWaiting] = ContextVar("agentsvc_client_call")
"""The call of a client tool that the function in this thread or task is executing."""
_NAME: Final = re.compile(ids.CLIENT_TOOL)
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class CallAnswer:
    """The result of a client tool that returns content blocks. `failed` is the reason if the call failed, else ""."""

    content: list[dict[str, Any]]
    failed: str = ""


class ClientTool:
    """A function of your program that the agent of a run may call.

    The agent reads the function's name, docstring and signature to learn when and how to call the function. To give the
    function to a run, pass the `ClientTool` in `client_tools` of `runs.start`.

    Args:
        function: the function. It must have a docstring. It receives its arguments by name, and returns text or a value
            that JSON can represent.
        effect: True if a call changes something. If the operator requires approval for effects, such a call waits for
            approval.

    Raises:
        StefanBrainError: `invalid_client_tool`: the function has no docstring, its name has characters other than
            lower-case letters, digits and `_`, or its parameters have no JSON Schema.

    >>> ClientTool(look_up, effect=False)  # doctest: +SKIP
    """

    def __init__(self, function: Function, *, effect: bool = True) -> None:
        self.function = function
        self.effect = effect
        self.name: str = getattr(function, "__name__", type(function).__name__)
        if not _NAME.fullmatch(self.name):
            raise _invalid(self.name, "its name may contain only lower-case letters, digits and `_`")
        self.description = (inspect.getdoc(function) or "").strip()
        if not self.description or len(self.description) > limits.CLIENT_TOOL_CHARS:
            raise _invalid(self.name, f"it needs a docstring of at most {limits.CLIENT_TOOL_CHARS:,} characters")
        try:
            if any(one.kind not in _NAMED for one in inspect.signature(function).parameters.values()):
                raise _invalid(self.name, "the agent must be able to pass all its parameters by name")
            self.input_schema: dict[str, Any] = TypeAdapter(cast(Any, function)).json_schema()
        except (PydanticUserError, SchemaError, NameError, TypeError, ValueError) as error:
            raise _invalid(self.name, f"its parameters have no JSON Schema: {error}") from None

    def __repr__(self) -> str:
        return f"ClientTool({self.name}, effect={self.effect})"

    def document(self) -> dict[str, Any]:
        """Return the tool's description as JSON fields for the request that starts a run."""
        return {name: getattr(self, name) for name in ("name", "description", "input_schema", "effect")}

    def __call__(self, given: Any) -> Any:
        return validate_call(self.function)(**given)


def _invalid(name: str, why: str) -> StefanBrainError:
    return error_for_code("invalid_client_tool", f"{name} can't be a client tool: {why}.")


def as_tools(given: Iterable[ClientTool | Function], *, awaited: bool) -> list[ClientTool]:
    """Return functions as `ClientTool`s.

    Raises `StefanBrainError` for an invalid function. Coroutine functions are valid only if `awaited` is True.
    """
    if callable(given) or isinstance(given, str) or not isinstance(given, Iterable):
        raise StefanBrainError(f"`client_tools` must be a list of functions, not {given!r:.80}.")
    found = [one if isinstance(one, ClientTool) else ClientTool(one) for one in given]
    for tool in found:
        if inspect.iscoroutinefunction(tool.function) and not awaited:
            raise _invalid(tool.name, "it is a coroutine function; use AsyncAgentService, or a plain function")
    return found


def is_new(run: Run[Any], response: Response, key: str | None, seconds: float) -> bool:
    """Return True if the start request created the run, or False if its idempotency `key` returned an earlier run.

    The run is new if it was created during the request, which took `seconds`. If the request had a key and the
    response has no valid date, return False.
    """
    if not key:
        return True
    try:
        answered = parsedate_to_datetime(response.headers["date"])
        return datetime.fromisoformat(run.created_at or "") > answered - timedelta(seconds=seconds + 1)
    except (KeyError, TypeError, ValueError):
        return False


class ClientCalls:
    """Execute a run's calls of client tools. All streams of the run share this object, so that each call runs once."""

    def __init__(self, core: Core, run_id: str, tools: Sequence[ClientTool]) -> None:
        self._core = copy.copy(core)
        self._core.deadline = math.inf  # send results even after the deadline of the call that reads the run
        self.tools = tools
        self._run_id = run_id
        self._tools = {tool.name: tool for tool in tools}
        self._asked: deque[ClientCallWaiting] = deque()
        self._begun: dict[str, object] = {}
        self._answers: dict[str, Answer] = {}
        self._unsent: dict[str, None] = {}

    def queue(self, event: ClientCallWaiting) -> None:
        """Queue a call. `execute_queued` executes the call, or sends its earlier answer again."""
        if event.tool in self._tools:
            self._asked.append(event)

    async def execute_queued(self) -> None:
        """Execute the queued calls in this thread, and send the answers.

        If the answers cannot be sent, the next `execute_queued` sends them again. Raises exceptions that interrupt a
        function, such as `KeyboardInterrupt`.
        """
        try:
            while self._asked:
                try:
                    event = self._asked.popleft()
                except IndexError:  # another thread took the call
                    break
                try:
                    await self._execute(event)
                except BaseException:
                    if event.call_id not in self._answers:
                        self._asked.appendleft(event)
                    raise
            await self._send(self._core)
        except StefanBrainError as error:
            if not is_transient(error):
                raise
            why = error.code or error.status or "no response"
            log.info("the result of a client tool could not be sent; the client sends it again: %s", why)

    async def report_interrupted(self) -> None:
        """Report interrupted functions to the service. Give up after 2 seconds."""
        if self._unsent:
            with suppress(StefanBrainError):
                await self._send(self._core.within(LEAVING_SECONDS))

    async def _execute(self, event: ClientCallWaiting) -> None:
        call_id = event.call_id
        if call_id in self._answers:
            self._unsent[call_id] = None  # called again: send the same answer
            return
        # An event may be old: another program, or an earlier process of this program, may have answered the call.
        if call_id in self._begun or not await self._prolong(call_id):
            return
        mine = object()
        if self._begun.setdefault(call_id, mine) is not mine:
            return  # another thread was faster
        try:
            self._answers[call_id] = await self._result(event)
        except BaseException:
            self._answers[call_id] = _failed("The function was interrupted. It may have done a part of its work.")
            raise
        finally:
            self._unsent[call_id] = None

    async def _result(self, event: ClientCallWaiting) -> Answer:
        """Call the function. Until it returns, extend the call's time limit every 40 seconds."""
        tool = self._tools[event.tool]
        current_call.set(event)

        async def still_works() -> None:
            with suppress(StefanBrainError):
                await self._prolong(event.call_id)
                # Also extend later calls of the same step, because they wait for this call.
                query = {"after": event.id, "limit": limits.PAGE_MAX}
                page = await self._core.ask(EventPage, ApiRequest("runs.events", {"run_id": self._run_id}, query))
                for each in page.data:
                    if isinstance(each, ClientCallWaiting) and each.tool in self._tools:
                        await self._prolong(each.call_id)

        try:
            made = await self._core.io.run_with_repeats(
                lambda: tool(event.input), still_works, limits.CALL_PENDING_SECONDS
            )
            return _answer(made)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)
            return _failed("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong[:3]))
        except Exception as error:
            # Send only type and text, because a traceback would show parts of the caller's files to the service.
            log.info(
                "the client tool %s raised %s, which the client reports to the agent", tool.name, type(error).__name__
            )
            return _failed(f"{type(error).__name__}: {error}")

    async def _prolong(self, call_id: str) -> bool:
        """Extend the call's time limit by 120 seconds. Return False if the call no longer waits for an answer."""
        return await self._post(self._core, call_id, {"pending": True})

    async def _send(self, core: Core) -> None:
        for call_id in list(self._unsent):
            try:
                await self._post(core, call_id, self._answers[call_id])
            except StefanBrainError as error:
                if error.code not in ("invalid_call_result", "call_result_too_large", "invalid_json"):
                    raise
                self._answers[call_id] = _failed(f"The service refused the function's result: {error.message}")
                await self._post(core, call_id, self._answers[call_id])
            self._unsent.pop(call_id, None)

    async def _post(self, core: Core, call_id: str, body: dict[str, Any]) -> bool:
        """Send an answer. Return False if the call no longer waits for an answer, or belongs to another API key."""
        at = {"run_id": self._run_id, "call_id": call_id}
        try:
            await core.ask(ClientCall, ApiRequest("runs.answer", at, body=body))
        except StefanBrainError as error:
            if error.code not in ("call_not_waiting", "call_not_found"):
                raise
            return False
        return True


def _answer(made: Any) -> Answer:
    """Return the answer for a function's return value: text unchanged, None as empty content, others as JSON."""
    body: Answer
    if isinstance(made, CallAnswer):
        body = (_failed(made.failed) if made.failed else {}) | {"content": made.content}
    elif isinstance(made, str):
        body = {"content": [{"type": "text", "text": made}]}
    else:
        body = {"content": [] if made is None else [{"type": "json", "json": made}]}
    try:
        data = to_json(body, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError, RecursionError):
        kind = type(made).__name__
        return _failed(f"The function returned a {kind}. Return text, numbers, lists or dictionaries.")
    if len(data) > limits.CALL_RESULT_BYTES:
        return _failed(f"The function's result has {len(data):,} bytes. Return at most {limits.CALL_RESULT_BYTES:,}.")
    answer: Answer = json.loads(data)
    return answer


def _failed(message: str) -> Answer:
    text = message[: limits.MESSAGE_CHARS].encode("utf-8", "replace").decode()
    return {"content": [], "is_error": True, "error": {"code": "client_error", "message": text}}
