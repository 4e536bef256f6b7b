"""Build the messages of a turn, and shorten them until they fit into the model's context length."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai import BinaryContent, ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.messages import ToolCallPart, ToolReturnPart, ToolSearchReturnPart, UserContent, UserPromptPart

from agentsvc_nb.agents.language import briefing
from agentsvc_nb.agents.language.history import TURNS_MAX
from agentsvc_nb.agents.language.served_models import ServedModel
from agentsvc_nb.agents.language.tokens import Budget, TokenCounter
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.texts import PAGE_END
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceEntry

OLD_RESULT_TOKENS: Final = 60
"""The maximum number of tokens of an old tool result, or of an argument of an old call, after shortening."""
_PICTURE: Final = "Picture: "
_PICTURE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PICTURE_BYTES_MAX: Final = 5_000_000
_PICTURE_SIDE_MAX: Final = 8_000
"""The maximum width and height of a picture in pixels. Providers refuse larger pictures."""
_WHOLE_TOKENS: Final = 2_000
"""The maximum number of tokens (about 8 kB) of an attached text that is sent in full."""
_ALL_WHOLE_TOKENS: Final = 8_000
"""The maximum number of tokens of all attached texts together that are sent in full with one message."""
_OUTLINE_TOKENS: Final = 1_000
_PLACES_MAX: Final = 40
"""The maximum number of headings or pages in an outline."""
_HEADING_CHARS: Final = 80
_HEADING: Final = re.compile(r"^(#{1,6}) +\S.*$", re.MULTILINE)


async def build_question(turn: RunContext, served: ServedModel, budget: Budget, before: int) -> str | list[UserContent]:
    """Return the message with its attachments, and the pictures if the model accepts them.

    `before` counts the tokens of earlier turns.

    Warn with `images_not_seen` if pictures are not sent, and with `message_shortened` if the message is shortened.
    """
    attached = await turn.attachments()
    room = budget.question(before)
    message = budget.tokens.shorten(turn.message, room * 3 // 4 if attached else room)
    if message != turn.message:
        await turn.warn("message_shortened", "The message is too long for the model, so its middle was omitted.")
    each = (room - budget.tokens.text(message)) // max(len(attached), 1)
    parts = [message, *await _describe_attachments(turn, served, budget, attached, each)]
    text = "\n\n".join([*parts, await briefing.describe_time_and_files(turn, served, budget)])
    images = [entry.path for entry in attached if entry.media_type.startswith("image/")]
    shown = await load_pictures(turn, images) if served.sees else []
    if unseen := len(images) - len(shown) // 2:
        which = "A picture was" if unseen == 1 else f"{unseen} pictures were"
        why = "its format or size is not supported" if served.sees else "this model reads text only"
        await turn.warn("images_not_seen", f"{which} not sent to the model: {why}.")
    return [text, *shown] if shown else text


async def _describe_attachments(
    turn: RunContext, served: ServedModel, budget: Budget, attached: Sequence[WorkspaceEntry], each: int
) -> list[str]:
    """Describe the attached files: tables by their schema, short texts in full, long texts by an outline.

    A description of a text has at most `each` tokens. The model can read the rest with its tools. If the model got a
    text in an earlier turn, the description contains only the text's path. A model without tools gets each text,
    shortened to `each` tokens, instead of an outline.
    """
    tables = await briefing.describe_tables(turn, [entry.path for entry in attached if briefing.is_table(entry)])
    known = {path for earlier in await turn.earlier(TURNS_MAX) for path in earlier.attachments}
    left = _ALL_WHOLE_TOKENS
    described = []
    for entry in attached:
        said = f"Attached: {entry.path} ({entry.media_type}, {entry.size_bytes} bytes)"
        if entry.path in tables:
            described.append(f"{said}\n{tables[entry.path]}")
            continue
        text = (await turn.workspace.text(entry.path)).strip()
        if unreadable := await turn.workspace.unreadable(entry.path):
            said += f": {unreadable}"
        needed = budget.tokens.text(text)
        if text and not served.tools:
            said += f"\n{budget.tokens.shorten(text, each)}"
        elif text and (known & {entry.path, entry.sha256} or briefing.is_rule(entry)):
            said += ": it was part of an earlier turn. Read it with read_file."
        elif text and needed > min(each, left, _WHOLE_TOKENS):
            said += f": {_outline(text, min(each, _OUTLINE_TOKENS), budget.tokens)}"
        elif text:
            left -= needed
            said += f"\n{text}"
        known.add(entry.sha256)
        described.append(said)
    return described


def _outline(text: str, most: int, tokens: TokenCounter) -> str:
    """Return a text's size, the positions of its headings or pages, and its beginning, in about `most` tokens."""
    ends = [match.end() for match in re.finditer(PAGE_END, text)]
    pages = [f"- {at}: page {number}" for number, at in enumerate([0, *ends[:-1]], 1)] if ends else []
    size = f"{len(text):,} characters, {len(text.splitlines()):,} lines" + (f", {len(pages):,} pages" if pages else "")
    said = (
        f"{size}. Only the beginning is shown. Continue with read_file from any character, or find words with"
        " search_files."
    )
    if places := _headings(text) or pages[:: -(-len(pages) // _PLACES_MAX) or 1]:
        said += "\nContents, each with the position of its first character:\n" + tokens.shorten(
            "\n".join(places), most // 2
        )
    chars = max(most - tokens.text(said), 0) * 8
    while chars and tokens.text(text[:chars]) > most - tokens.text(said):
        chars = chars * 3 // 4
    return f"{said}\nIts beginning:\n{text[:chars].rstrip()}" if chars else said


def _headings(text: str) -> list[str]:
    """Return the headings with their positions. If there are more than 40, leave out the lower levels."""
    headings = [(match.start(), len(match[1]), match[0][:_HEADING_CHARS].rstrip()) for match in _HEADING.finditer(text)]
    found: list[str] = []
    for deepest in range(6, 0, -1):
        found = [f"- {at}: {heading}" for at, level, heading in headings if level <= deepest] or found
        if len(found) <= _PLACES_MAX:
            break
    return found[:_PLACES_MAX]


async def load_pictures(turn: RunContext, paths: Sequence[str]) -> list[UserContent]:
    """Return the pictures that providers accept, each after a text with its path.

    `load_messages` uses the path to read the picture again.
    """
    entries = {entry.path: entry for entry in await turn.workspace.list()}
    found: list[UserContent] = []
    for entry in [entries[path] for path in paths if path in entries]:
        if entry.media_type in _PICTURE_TYPES and entry.size_bytes <= _PICTURE_BYTES_MAX:
            async with turn.workspace.open(entry.path) as file:
                data = await asyncio.to_thread(file.read_bytes)
            # A PNG's header starts with width and height.
            sides = struct.unpack(">II", data[16:24].ljust(8)) if entry.media_type == "image/png" else (0,)
            if max(sides) <= _PICTURE_SIDE_MAX:
                found += [f"{_PICTURE}{entry.path}", BinaryContent(data, media_type=entry.media_type)]
    return found


def dump_messages(messages: Sequence[ModelMessage]) -> list[Any]:
    """Return the messages as JSON for a checkpoint, without pictures, and without the address of the model's server."""
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            kept.append(replace(message, provider_url=None))
        else:
            parts = [
                replace(part, content=_text(part)) if isinstance(part, UserPromptPart) else part
                for part in message.parts
            ]
            kept.append(replace(message, parts=parts))
    found: list[Any] = ModelMessagesTypeAdapter.dump_python(kept, mode="json")
    return found


async def load_messages(turn: RunContext, served: ServedModel, kept: list[Any]) -> list[ModelMessage]:
    """Return the messages from the JSON that `dump_messages` returned, with their pictures."""
    messages = ModelMessagesTypeAdapter.validate_python(kept)
    for message in messages if served.sees else ():
        for part in message.parts:
            if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                text, *paths = f"\n\n{part.content}".split(f"\n\n{_PICTURE}")
                shown = await load_pictures(turn, paths)
                if paths and len(shown) == 2 * len(paths):  # otherwise the user wrote a text that looks like a path
                    part.content = [*filter(None, [text.removeprefix("\n\n")]), *shown]
    return messages


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n\n".join(item for item in part.content if isinstance(item, str))


def shorten_to_fit(messages: list[ModelMessage], budget: Budget, before: int) -> None:
    """Shorten messages in place until they fit into the context: first old tool results and calls, then the latest
    results, then the question.

    The first `before` messages are the chat's earlier turns, followed by the question.

    Raises `WorkFailure("context_exceeded")` if the messages still do not fit.
    """
    tokens, room = budget.tokens, budget.messages
    needed = tokens.messages(messages)
    if needed <= room:
        return
    # Free a quarter of the space at once, so that the messages stay the same for some calls, and providers can cache
    # them.
    stride = max(room // 4, 1)
    goal = needed - math.ceil((needed - room) / stride) * stride
    last = len(messages) - 1
    for place in range(last):
        if tokens.messages(messages) <= goal:
            return
        messages[place] = _shorten(messages[place], budget, OLD_RESULT_TOKENS, ToolReturnPart, ToolCallPart)
    for place, limit in ((last, room // 4), (before, room // 3), (last, OLD_RESULT_TOKENS)):
        if tokens.messages(messages) <= room:
            return
        messages[place] = _shorten(messages[place], budget, limit, ToolReturnPart, UserPromptPart)
    while tokens.messages(messages) > room and len(messages) > before + 3:
        del messages[before + 1 : before + 3]  # the oldest call and its result
    if tokens.messages(messages) > room:
        raise WorkFailure(
            "context_exceeded",
            f"The question with its attachments exceeds the model's context size of {budget.context:,}"
            " tokens. Attach less, or set AGENTSVC_MODEL_CONTEXT to the context size of the model's server.",
        )


def _shorten(message: Any, budget: Budget, limit: int, *kinds: type[Any]) -> Any:
    """Return a copy of the message in which parts of the given kinds have about `limit` tokens in total."""
    number = sum(isinstance(part, kinds) for part in message.parts)
    each = max(limit // max(number, 1), OLD_RESULT_TOKENS)

    def shorten(value: Any) -> Any:
        return budget.tokens.shorten(value, each) if isinstance(value, str) else value

    parts: list[Any] = []
    for part in message.parts:
        if not isinstance(part, kinds) or isinstance(part, ToolSearchReturnPart):  # it lists the loaded tools
            parts.append(part)
        elif isinstance(part, ToolCallPart):
            args: Any = {name: shorten(value) for name, value in part.args_as_dict().items()}
            parts.append(replace(part, args=args))
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            parts.append(replace(part, content=[shorten(item) for item in part.content]))
        else:
            parts.append(replace(part, content=shorten(str(part.content))))
    return replace(message, parts=parts)


_CLEARED: Final = "[Cleared: "
_READS: Final = frozenset({"read_file", "profile_table", "look_at"})
"""The tools that return the content of the file named by their argument `path`."""
_WRITES: Final = {"write_file": "path", "edit_file": "path", "query_tables": "save_as"}
"""The tools that write a file, each with the argument that names the file."""


def clear_superseded(messages: list[ModelMessage], budget: Budget, before: int) -> bool:
    """Replace tool results in `messages` that are out of date by a short note.

    A result is out of date if the model later repeated the call, or later wrote the file whose content it contains.
    Return True if this clears results and no earlier call of this function in the run has cleared any.

    Clear nothing if at least half of the space for messages is free and the results are short compared with the
    messages that follow them: a provider's cache loses all messages after the first changed one.
    """
    tokens = budget.tokens
    results = results_of_tools(messages[before:])
    reasons = {id(part): reason for part, reason in _superseded(results) if _is_long(part, budget)}
    if not reasons:
        return False
    places = [place for place, message in enumerate(messages) if any(id(part) in reasons for part in message.parts)]
    freed = sum(tokens.text(str(part.content)) for _, _, part in results if id(part) in reasons)
    follows = tokens.messages(messages[places[0] :])
    if 2 * freed < follows and tokens.messages(messages) <= budget.messages // 2:
        return False
    for place in places:
        message: Any = messages[place]
        parts = [
            replace(part, content=f"{_CLEARED}{reasons[id(part)]}]") if id(part) in reasons else part
            for part in message.parts
        ]
        messages[place] = replace(message, parts=parts)
    return not any(str(part.content).startswith(_CLEARED) for _, _, part in results)


def _is_long(part: ToolReturnPart, budget: Budget) -> bool:
    return budget.tokens.text(str(part.content)) > OLD_RESULT_TOKENS


ToolResult = tuple[str, dict[str, Any], ToolReturnPart]
"""The name of a tool, the arguments of a call, and the call's result."""


def results_of_tools(messages: Sequence[ModelMessage]) -> list[ToolResult]:
    """Return all tool results, except those of the agent library's own search tool."""
    calls: dict[str, ToolCallPart] = {}
    found: list[ToolResult] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCallPart):
            calls[part.tool_call_id] = part
        elif isinstance(part, ToolReturnPart) and part.tool_kind is None and part.tool_call_id in calls:
            with contextlib.suppress(ValueError, AssertionError):  # if the arguments are not a JSON object
                found.append((part.tool_name, calls[part.tool_call_id].args_as_dict(), part))
    return found


def _superseded(results: Sequence[ToolResult]) -> list[tuple[ToolReturnPart, str]]:
    """Return the results that are out of date, each with the reason that the model gets instead of the result."""
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
