"""The input of the model, cut to its context: the message with its attachments, and what came of it so far; and the
catalog's tools, each call of which goes through the run."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai import BinaryContent, ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.messages import ModelRequestPart, ToolCallPart, ToolReturnPart, UserContent, UserPromptPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agentsvc_nb.agents.language import briefing
from agentsvc_nb.agents.language.lengths import Budget, Count, Lengths, count_schema
from agentsvc_nb.agents.language.repeating import Repetition
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure, WorkspaceEntry

PICTURE_BYTES_MAX: Final = 10_000_000
OLD_RESULT_TOKENS: Final = 60
SEEN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
STRIDES: Final = 4
"""Messages that are too long are cut by a quarter of their room at once: what stays is then the same for some calls,
and providers can cache it."""


async def question(turn: RunContext, served: Served, budget: Budget, before: int) -> str | list[UserContent]:
    """The message with what is attached (of tables their schema, of other files their text), and the pictures if the
    model takes them. `before`: the tokens of the turns before.

    Warns `images_not_seen` of pictures that are not sent, and `message_shortened`.
    """
    attached = await turn.attachments()
    room = budget.question(before)
    message = budget.lengths.shortened(turn.message, room * 3 // 4 if attached else room)
    if message != turn.message:
        await turn.warn("message_shortened", "The message is longer than the model can take: its middle is left out.")
    told = await briefing.tables(turn, [entry.path for entry in attached if briefing.is_table(entry)])
    each = (room - budget.lengths.text(message)) // max(len(attached), 1)
    parts = [message, *[await _described(turn, entry, told, each, budget.lengths) for entry in attached]]
    parts.append(await briefing.now_and_files(turn, served, budget))
    shown = await pictures(turn, served)
    unseen = sum(entry.media_type.startswith("image/") for entry in attached) - len(shown)
    if unseen:
        which = "A picture was" if unseen == 1 else f"{unseen} pictures were"
        await turn.warn("images_not_seen", f"{which} not looked at: {_why_unseen(served)}.")
    text = "\n\n".join(parts)
    return [text, *shown] if shown else text


async def pictures(turn: RunContext, served: Served) -> list[BinaryContent]:
    """The attached pictures of types and sizes that are sent; none for a model that reads text only."""
    if not served.sees:
        return []
    attached = await turn.attachments()
    seen = [entry for entry in attached if entry.media_type in SEEN and entry.size_bytes <= PICTURE_BYTES_MAX]
    return [await _picture(turn, entry) for entry in seen]


def fitted(messages: list[ModelMessage], budget: Budget, before: int) -> list[ModelMessage]:
    """The messages (changed in place), made to fit: the first `before` are the chat's earlier turns, then comes the
    question. Shortened are, until all fit: old results of tools, old calls, the latest results, the question.

    Raises `WorkFailure("context_exceeded")` when that is not enough.
    """
    lengths, room = budget.lengths, budget.messages
    needed = lengths.messages(messages)
    if needed <= room:
        return messages
    stride = max(room // STRIDES, 1)
    goal = needed - math.ceil((needed - room) / stride) * stride
    for place, message in enumerate(messages[:-1]):
        if lengths.messages(messages) <= goal:
            return messages
        messages[place] = _with_short_parts(message, lengths)
    for place, limit in ((len(messages) - 1, room // 4), (before, room // 3), (len(messages) - 1, OLD_RESULT_TOKENS)):
        if lengths.messages(messages) <= room:
            return messages
        messages[place] = _within(messages[place], lengths, limit)
    while lengths.messages(messages) > room and len(messages) > before + 3:
        del messages[before + 1 : before + 3]  # the oldest call and its result
    if lengths.messages(messages) > room:
        raise WorkFailure("context_exceeded", TOO_SMALL.format(context=budget.context))
    return messages


TOO_SMALL: Final = (
    "The question with what goes along is longer than the {context:,} tokens that the model holds. Ask for less, or "
    "set AGENTSVC_MODEL_CONTEXT to what the model's server was started with."
)


def saved(messages: Sequence[ModelMessage]) -> list[Any]:
    """The messages of this turn as JSON for a checkpoint. Left out are the pictures, which are in the workspace, and
    the model's address, which may hold a password."""
    kept = [_without_pictures_and_address(message) for message in messages]
    found: list[Any] = ModelMessagesTypeAdapter.dump_python(kept, mode="json")
    return found


async def restored(turn: RunContext, served: Served, kept: list[Any]) -> list[ModelMessage]:
    """The messages that `saved` returned, with the pictures put back."""
    messages = ModelMessagesTypeAdapter.validate_python(kept)
    shown = await pictures(turn, served)
    first = messages[0]
    if shown and isinstance(first, ModelRequest):
        parts = [
            replace(part, content=[_text(part), *shown]) if isinstance(part, UserPromptPart) else part
            for part in first.parts
        ]
        messages[0] = replace(first, parts=parts)
    return messages


async def _described(
    turn: RunContext, entry: WorkspaceEntry, tables: Mapping[str, str], room: int, lengths: Lengths
) -> str:
    named = f"Attached: {entry.path} ({entry.media_type}, {entry.size_bytes} bytes)"
    text = tables.get(entry.path) or (await turn.workspace.text(entry.path)).strip()
    return f"{named}\n{lengths.shortened(text, room)}" if text else named


async def _picture(turn: RunContext, entry: WorkspaceEntry) -> BinaryContent:
    async with turn.workspace.open(entry.path) as file:
        data = await asyncio.to_thread(file.read_bytes)
    return BinaryContent(data, media_type=entry.media_type)


def _why_unseen(served: Served) -> str:
    return "it is of a kind or size that is not sent" if served.sees else "this model reads text only"


def _with_short_parts(message: ModelMessage, lengths: Lengths) -> ModelMessage:
    """The message with short results and calls of tools."""
    if isinstance(message, ModelRequest):
        return _within(message, lengths, OLD_RESULT_TOKENS, ToolReturnPart)
    calls = [_short_call(part, lengths) if isinstance(part, ToolCallPart) else part for part in message.parts]
    return replace(message, parts=calls)


def _within(message: ModelMessage, lengths: Lengths, limit: int, *kinds: type[ModelRequestPart]) -> ModelMessage:
    """The request with its texts (only of these kinds of parts) shortened to `limit` tokens in all."""
    if not isinstance(message, ModelRequest):
        return message
    cut = [part for part in message.parts if isinstance(part, kinds or (ToolReturnPart, UserPromptPart))]
    each = max(limit // max(len(cut), 1), OLD_RESULT_TOKENS)
    return replace(message, parts=[_short(part, lengths, each) if part in cut else part for part in message.parts])


def _short(part: Any, lengths: Lengths, limit: int) -> Any:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return replace(part, content=lengths.shortened(str(part.content), limit))
    content = [lengths.shortened(item, limit) if isinstance(item, str) else item for item in part.content]
    return replace(part, content=content)


def _short_call(part: ToolCallPart, lengths: Lengths) -> ToolCallPart:
    given = part.args_as_dict()
    return replace(
        part,
        args={
            name: lengths.shortened(value, OLD_RESULT_TOKENS) if isinstance(value, str) else value
            for name, value in given.items()
        },
    )


def _without_pictures_and_address(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return replace(message, provider_url=None)
    return replace(message, parts=[_text_alone(part) for part in message.parts])


def _text_alone(part: ModelRequestPart) -> ModelRequestPart:
    return replace(part, content=_text(part)) if isinstance(part, UserPromptPart) else part


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n\n".join(item for item in part.content if isinstance(item, str))


_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
MISTAKES_MAX: Final = 5
"""How often in a row a model may call a tool with arguments that are no JSON object."""


class TurnTools(AbstractToolset[None]):
    """The tools of one turn that the model is offered; their results are shortened."""

    def __init__(self, turn: RunContext, offered: Sequence[ToolDefinition], budget: Budget) -> None:
        self._turn = turn
        self._offered = offered
        self._budget = budget
        self._repetition = Repetition(turn)

    @property
    def id(self) -> str | None:
        return "turn"

    async def get_tools(self, ctx: ModelContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=MISTAKES_MAX, args_validator=_OBJECT
            )
            for definition in self._offered
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: ModelContext[None], tool: ToolsetTool[None]
    ) -> str:
        outcome, before = await self._repetition.outcome(
            name, tool_args, lambda: self._turn.call(name, tool_args, key=ctx.tool_call_id)
        )
        return self._budget.lengths.shortened(before + told(outcome), self._budget.result)


TOOLS_SHARE: Final = 0.6
"""Part of the context that the descriptions of tools may take."""


async def offered(turn: RunContext, served: Served, lengths: Lengths) -> list[ToolDefinition]:
    """The tools that the model is offered. Where their descriptions take too much of its context the longest ones are
    left out, which the run says."""
    if not served.tools:
        return []
    found = [_defined(tool) for tool in turn.tools() if tool.available()]
    room = lengths.context(served.context) * TOOLS_SHARE
    fit = set()
    for definition in sorted(found, key=lambda each: lengths.of(tool_count(each))):
        room -= lengths.of(tool_count(definition))
        if room >= 0:
            fit.add(definition.name)
    if left := [definition.name for definition in found if definition.name not in fit]:
        said = f"The model's context is small, so it is not offered {', '.join(left)}: set AGENTSVC_MODEL_CONTEXT."
        await turn.warn("tools_left_out", said)
    return [definition for definition in found if definition.name in fit]


def tool_count(definition: ToolDefinition) -> Count:
    """What a tool's description has of each kind."""
    said = {"name": definition.name, "description": definition.description}
    return count_schema({**said, "parameters": definition.parameters_json_schema})


def _defined(tool: Tool) -> ToolDefinition:
    schema = _untitled(tool.Input.model_json_schema())
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=schema, sequential=True)


def _untitled(schema: Any, names: bool = False) -> Any:
    """The schema without its titles, which repeat the names. `names`: its keys are those of properties."""
    if isinstance(schema, list):
        return [_untitled(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if names or key != "title"}
    return {key: _untitled(each, key in ("properties", "$defs") and not names) for key, each in kept.items()}


def told(outcome: Outcome) -> str:
    """A tool's outcome as text for the model.

    >>> told(Outcome(error=("not_configured", "Set AGENTSVC_SMTP_URL.")))
    'not_configured: Set AGENTSVC_SMTP_URL.'
    """
    if outcome.error is not None:
        return f"{outcome.error[0]}: {outcome.error[1]}"
    blocks = [_block(block) for block in outcome.content]
    if outcome.data is not None:
        blocks.append(json.dumps(outcome.data, ensure_ascii=False))
    return "\n".join(blocks) or "done"


def _block(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block["text"])
        case "image":
            return f"picture: {block['path']}"
        case _:
            return json.dumps(block.get("json"), ensure_ascii=False)
