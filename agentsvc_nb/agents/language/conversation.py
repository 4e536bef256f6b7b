"""The input of the model, cut to its context: the message with its attachments, and what came of it so far."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai import BinaryContent, ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.messages import (
    ModelRequestPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
    UserContent,
    UserPromptPart,
)

from agentsvc_nb.agents.language import briefing, history
from agentsvc_nb.agents.language.lengths import Budget, Lengths
from agentsvc_nb.agents.language.outlines import outline
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceEntry

_LOOKED_AT: Final = "Picture: "
PICTURE_BYTES_MAX: Final = 10_000_000
RESULT_PICTURES_MAX: Final = 4
RESULT_PICTURE_BYTES_MAX: Final = 5_000_000
RESULT_PICTURE_SIDE_MAX: Final = 8_000
"""Providers refuse larger ones."""
OLD_RESULT_TOKENS: Final = 60
SEEN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
STRIDES: Final = 4
"""Messages that are too long are cut by a quarter of their room at once: what stays is then the same for some calls,
and providers can cache it."""


async def question(turn: RunContext, served: Served, budget: Budget, before: int) -> str | list[UserContent]:
    """Return the message with what is attached, and the pictures if the model takes them. `before`: the tokens of the
    turns before.

    Of tables the schema is told, of short texts all, of longer ones the outline: the model reads on with its tools. A
    text that the chat's model was told before is only named. A model without tools is told texts as far as they fit.

    Warns `images_not_seen` of pictures that are not sent, and `message_shortened`.
    """
    attached = await turn.attachments()
    room = budget.question(before)
    message = budget.lengths.shortened(turn.message, room * 3 // 4 if attached else room)
    if message != turn.message:
        await turn.warn("message_shortened", "The message is longer than the model can take: its middle is left out.")
    told = await briefing.tables(turn, [entry.path for entry in attached if briefing.is_table(entry)])
    texts = _Texts(turn, served, budget.lengths, (room - budget.lengths.text(message)) // max(len(attached), 1))
    parts = [message]
    for entry in attached:
        table = told.get(entry.path)
        parts.append(await texts.told(entry) if table is None else f"{_named(entry)}\n{table}")
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


_CLEARED: Final = "[Cleared: "
_READS: Final = frozenset({"read_file", "profile_table", "look_at"})
"""Tools that show what is in the file at their `path`."""
_WRITES: Final = {"write_file": "path", "edit_file": "path", "query_tables": "save_as"}
"""Tools that write a file, and the argument that names it."""


def clear_superseded(messages: list[ModelMessage], budget: Budget, before: int) -> bool:
    """Clear the results of tools (in place) that a later one replaces: of the same call, or of a file that was written
    since. Return True if these are the first that the run clears.

    They stay while there is room and they are short against what follows them, which a provider that caches the
    conversation would have to read anew.
    """
    lengths = budget.lengths
    results = _results(messages[before:])
    long = {id(part): why for part, why in _superseded(results) if lengths.text(str(part.content)) > OLD_RESULT_TOKENS}
    if not long:
        return False
    places = [place for place, message in enumerate(messages) if any(id(part) in long for part in message.parts)]
    freed = sum(lengths.text(str(part.content)) for _, _, part in results if id(part) in long)
    follows = lengths.messages(messages[places[0] :])
    if 2 * freed < follows and lengths.messages(messages) <= budget.messages // 2:
        return False
    for place in places:
        message: Any = messages[place]
        messages[place] = replace(message, parts=[_cleared(part, long.get(id(part))) for part in message.parts])
    return not any(str(part.content).startswith(_CLEARED) for _, _, part in results)


def _cleared(part: Any, why: str | None) -> Any:
    return part if why is None else replace(part, content=f"{_CLEARED}{why}]")


_Result = tuple[str, dict[str, Any], ToolReturnPart]
"""A tool, the arguments of its call and the result."""


def _results(messages: Sequence[ModelMessage]) -> list[_Result]:
    """Return the results of ordinary tools, not those of the library's own, which load tools."""
    calls: dict[str, ToolCallPart] = {}
    found: list[_Result] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCallPart):
            calls[part.tool_call_id] = part
        elif isinstance(part, ToolReturnPart) and part.tool_kind is None and part.tool_call_id in calls:
            with contextlib.suppress(ValueError, AssertionError):  # arguments that are no JSON object
                found.append((part.tool_name, calls[part.tool_call_id].args_as_dict(), part))
    return found


def _superseded(results: Sequence[_Result]) -> list[tuple[ToolReturnPart, str]]:
    """Return the results that a later one replaces, with the reason as the model is told it."""
    found: list[tuple[ToolReturnPart, str]] = []
    called: set[str] = set()
    written: set[str] = set()
    for tool, given, part in reversed(results):
        call = json.dumps([tool, given], sort_keys=True)
        path = str(given.get("path", ""))
        if call in called:
            found.append((part, "you made this call again later"))
        elif tool in _READS and path in written:
            found.append((part, f"{path} was written later"))
        if part.outcome == "success":
            called.add(call)
            if target := given.get(_WRITES.get(tool, "")):
                written.add(str(target))
    return found


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
    if served.sees:
        messages[1:] = [await _seen_again(turn, message) for message in messages[1:]]
    return messages


WHOLE_MOST: Final = 2_000
"""Tokens of a text that is told whole: some 8 kB."""
ALL_WHOLE_MOST: Final = 8_000
"""Tokens of all texts of a message that are told whole."""
OUTLINE_MOST: Final = 1_000
"""Tokens that are told of a longer text."""


class _Texts:
    """The texts that are attached to one message. Each may take `room` tokens."""

    def __init__(self, turn: RunContext, served: Served, lengths: Lengths, room: int) -> None:
        self._turn = turn
        self._served = served
        self._lengths = lengths
        self._room = room
        self._left = ALL_WHOLE_MOST
        self._before: set[str] | None = None
        """Contents of this message, and paths of earlier ones, that the model was told."""

    async def told(self, entry: WorkspaceEntry) -> str:
        """Return the part of a file's text, or its outline, that the model gets."""
        named, lengths = _named(entry), self._lengths
        text = await self._turn.workspace.text(entry.path)
        if unreadable := await self._turn.workspace.unreadable(entry.path):
            named = f"{named}: {unreadable}"
        if not text.strip():
            return named
        if not self._served.tools:
            return f"{named}\n{lengths.shortened(text.strip(), self._room)}"
        if await self._was_told(entry):
            return f"{named}: you were told of it before. read_file reads it."
        needed = lengths.text(text)
        if needed > min(self._room, self._left, WHOLE_MOST):
            return f"{named}: {outline(text, min(self._room, OUTLINE_MOST), lengths)}"
        self._left -= needed
        return f"{named}\n{text.strip()}"

    async def _was_told(self, entry: WorkspaceEntry) -> bool:
        """Whether the text is in the instructions, in this message, or came with an earlier one."""
        if self._before is None:
            earlier = await self._turn.earlier(history.TURNS_MAX)
            self._before = {path for turn in earlier for path in turn.attachments}
        known = not self._before.isdisjoint((entry.path, entry.sha256)) or briefing.is_rule(entry)
        self._before.add(entry.sha256)
        return known


def _named(entry: WorkspaceEntry) -> str:
    return f"Attached: {entry.path} ({entry.media_type}, {entry.size_bytes} bytes)"


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
    if isinstance(part, ToolSearchReturnPart):
        return part  # it says which tools are loaded
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


def text_of(message: ModelMessage) -> str:
    """Return what the user says in a message, without pictures."""
    return "\n\n".join(_text(part) for part in message.parts if isinstance(part, UserPromptPart))


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n\n".join(item for item in part.content if isinstance(item, str))


async def looked_at(turn: RunContext, paths: Sequence[str]) -> list[UserContent]:
    """Pictures of a tool's result, as far as they are sent, each below its path, by which it is put back after a
    crash."""
    entries = {entry.path: entry for entry in await turn.workspace.list()}
    found: list[UserContent] = []
    for entry in [entries[path] for path in paths if path in entries][:RESULT_PICTURES_MAX]:
        if entry.media_type == "image/png" and entry.size_bytes <= RESULT_PICTURE_BYTES_MAX:
            picture = await _picture(turn, entry)
            # Width and height come first in the header of a PNG.
            if max(struct.unpack(">II", picture.data[16:24].ljust(8))) <= RESULT_PICTURE_SIDE_MAX:
                found += [f"{_LOOKED_AT}{entry.path}", picture]
    return found


async def _seen_again(turn: RunContext, message: ModelMessage) -> ModelMessage:
    """The message with the pictures that the model had asked to see."""
    if not isinstance(message, ModelRequest):
        return message
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        if isinstance(part, UserPromptPart) and isinstance(part.content, str) and part.content.startswith(_LOOKED_AT):
            paths = [line.removeprefix(_LOOKED_AT) for line in part.content.split("\n\n")]
            if shown := await looked_at(turn, paths):
                part = replace(part, content=shown)
        parts.append(part)
    return replace(message, parts=parts)
