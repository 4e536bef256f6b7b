"""Define the tools that list, search, read, write and edit a chat's files."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from difflib import get_close_matches, unified_diff
from heapq import nlargest
from itertools import islice, takewhile
from typing import Any, ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents import search_query
from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.snippets import snippets
from agentsvc_nb.documents.texts import is_truncated
from agentsvc_nb.tools.port import BaseTool, Outcome, ReadingTool, ToolContext, WorkFailure
from agentsvc_nb.tools.support.stopping import ReadTime, ReadTooLong
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES, MB, SEARCH_SECONDS

LISTED_MAX: Final = 200
FOUND_MAX: Final = 10
READ_CHARS: Final = 8_000
READ_CHARS_MAX: Final = 40_000
SNIPPETS: Final = 2
EDITED_BYTES: Final = 1_000_000
DIFF_LINES: Final = 60
_LINE_CHARS: Final = 300
_COMPARED_LINES: Final = 4_000
"""The maximum number of changed lines to compare for a diff, because comparing more takes seconds."""
_CONTEXT: Final = 3
_LIKELY: Final = 50
_SIMILARITY: Final = 0.4
_PLACES: Final = 10


class ListFilesInput(BaseModel):
    under: str = Field(default="", description="List only paths that begin with this, such as `uploads/`.")


class ListFiles(ReadingTool):
    name: ClassVar[str] = "list_files"
    description: ClassVar[str] = "Lists the chat's files: path, kind, size."

    Input: ClassVar[type[BaseModel]] = ListFilesInput

    async def run(self, given: ListFilesInput, context: ToolContext) -> Outcome:
        found = [entry for entry in await context.workspace.list() if entry.path.startswith(given.under)]
        lines = [
            f"{entry.path} ({entry.media_type}, {entry.size_bytes} bytes) {entry.unreadable}".rstrip()
            for entry in found[:LISTED_MAX]
        ]
        if len(found) > LISTED_MAX:
            lines.append(f"and {len(found) - LISTED_MAX} more files. Use search_files to find what you need.")
        return Outcome.from_text("\n".join(lines) or "No files match.")


class SearchFilesInput(BaseModel):
    query: str = Field(min_length=1, max_length=200, description='Words to find; "a phrase", -excluded, this or that.')


class SearchFiles(ReadingTool):
    name: ClassVar[str] = "search_files"
    description: ClassVar[str] = "Finds files by words in their names and texts. Returns the matching passages."

    Input: ClassVar[type[BaseModel]] = SearchFilesInput

    async def run(self, given: SearchFilesInput, context: ToolContext) -> Outcome:
        query = search_query.parse(given.query)
        found = await context.workspace.search(given.query)
        if query is None or not found:
            unread = [entry for entry in await context.workspace.list() if entry.unreadable]
            lines = [f"- {entry.path}: {entry.unreadable}" for entry in unread[:FOUND_MAX]]
            note = ["These files were not searched, or only in part:", *lines] if lines else []
            return Outcome.from_text("\n".join([f"Nothing found for {given.query!r}.", *note]))
        texts = [(path, await _text_of(context, path)) for path, _ in found[:FOUND_MAX]]
        try:
            shown = await asyncio.to_thread(_passages, query, texts)
        except ReadTooLong:
            raise WorkFailure("too_much_work", search_query.TOO_LONG) from None
        more = [f"and {len(found) - FOUND_MAX} more files"] if len(found) > FOUND_MAX else []
        return Outcome.from_text("\n\n".join([*shown, *more]))


class ReadFileInput(BaseModel):
    path: str = Field(description="The path of a file.")
    start: int = Field(default=0, ge=0, description="The first character, from 0.")
    length: int = Field(default=READ_CHARS, ge=1, le=READ_CHARS_MAX, description="The number of characters.")


class ReadFile(ReadingTool):
    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = "Reads the text of a file, including PDF and Office files."

    Input: ClassVar[type[BaseModel]] = ReadFileInput

    async def run(self, given: ReadFileInput, context: ToolContext) -> Outcome:
        text = await _text_of(context, given.path)
        unreadable = await context.workspace.unreadable(given.path)
        if not text.strip():
            said = f"{given.path} can't be read. {unreadable}" if unreadable else f"{given.path} has no text."
            raise WorkFailure("no_text", f"{said} look_at shows pages of PDFs and pictures.")
        part = excerpt(given.path, text, given.start, given.length)
        note = f"\n[{unreadable}]" if unreadable else ""
        return Outcome.from_text(part + note + (_MORE if is_truncated(text) else ""))


_MORE: Final = (
    f"\n[only the first {INDEXED_TEXT_BYTES // MB} MB of the file's text can be read here, so compute nothing "
    "from it; query_tables and run_python read whole files]"
)


class WriteFileInput(BaseModel):
    path: str = Field(description="The path, such as `report.md`. An existing file is replaced.")
    text: str = Field(max_length=1_000_000, description="The whole text.")


class WriteFile(BaseTool):
    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = "Writes a text file."
    effect: ClassVar[bool] = False  # writing a file can be repeated safely

    Input: ClassVar[type[BaseModel]] = WriteFileInput

    async def run(self, given: WriteFileInput, context: ToolContext) -> Outcome:
        before = given.text
        with contextlib.suppress(WorkFailure):  # the file is new, or a diff of it cannot be shown
            before, _ = await _editable_text(context, given.path)
        await context.write(given.path, given.text.encode("utf-8", "replace"))
        diff = await asyncio.to_thread(_diff_block, given.path, before, given.text)
        return Outcome.from_text(f"Wrote {given.path}.", *diff)


class EditFileInput(BaseModel):
    path: str = Field(description="The path of a text file.")
    old: str = Field(min_length=1, max_length=100_000, description="The exact text to replace, which must occur once.")
    new: str = Field(max_length=1_000_000, description="The new text.")
    all: bool = Field(default=False, description="True to replace all occurrences.")


class EditFile(BaseTool):
    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = "Replaces a passage of a text file. Returns the diff."
    repeatable: ClassVar[bool] = False  # if `new` contains `old`, a repeated call would replace it again

    Input: ClassVar[type[BaseModel]] = EditFileInput

    async def run(self, given: EditFileInput, context: ToolContext) -> Outcome:
        before, encoding = await _editable_text(context, given.path)
        after, places = await asyncio.to_thread(_replace, given.path, before, given.old, given.new, given.all)
        try:
            written = after.encode(encoding)
        except UnicodeEncodeError as error:
            why = f"new: {given.path} is in {encoding}, which lacks {after[error.start]!r}. Use write_file instead."
            raise WorkFailure("invalid_tool_input", why) from None
        await context.write(given.path, written)
        diff = await asyncio.to_thread(_diff_block, given.path, before, after)
        return Outcome.from_text(f"Replaced {places} occurrence{'s' * (places > 1)} in {given.path}.", *diff)


async def _editable_text(context: ToolContext, path: str) -> tuple[str, str]:
    """Return a file's text and encoding. Raises `WorkFailure` if the file is missing, too large or not text."""
    try:
        async with context.workspace.open(path) as file:
            if file.stat().st_size > EDITED_BYTES:
                why = f"{path} has more than {EDITED_BYTES // MB} MB. Change it with run_python."
                raise WorkFailure("too_much_work", why)
            found = _exact_text(await asyncio.to_thread(file.read_bytes))
    except FileNotFoundError:
        raise file_not_found(path) from None
    if found is None:
        raise WorkFailure("no_text", f"{path} is not a text file. Change it with run_python.")
    return found


async def _text_of(context: ToolContext, path: str) -> str:
    """Return the readable text of a file. Raises `WorkFailure("file_not_found")`."""
    try:
        return await context.workspace.text(path)
    except FileNotFoundError:
        raise file_not_found(path) from None


def file_not_found(path: str) -> WorkFailure:
    return WorkFailure("file_not_found", f"There is no file {path!r}. list_files lists the files.")


def excerpt(what: str, text: str, start: int, length: int) -> str:
    """Return at most `length` characters of a text from `start`.

    If this is not the whole text, append a line that says which part it is. Raises `WorkFailure` if `start` is past the
    end. `what` names the text in the message.
    """
    end = min(start + length, len(text))
    if start and start >= len(text):
        raise WorkFailure("invalid_tool_input", f"start: {what} has {len(text)} characters.")
    place = "" if end - start == len(text) else f"\n[characters {start} to {end} of {len(text)}]"
    return text[start:end] + place


def _passages(query: search_query.Query, texts: Sequence[tuple[str, str]]) -> list[str]:
    """Return one text for each file: its path, followed by its passages that match the query."""
    time = ReadTime(SEARCH_SECONDS)
    found = [(path, snippets(query, text, SNIPPETS, time.check)) for path, text in texts]
    return ["\n".join([path, *("> " + "".join(part for part, _ in one) for one in each)]) for path, each in found]


# ---- edits


def _exact_text(data: bytes) -> tuple[str, str] | None:
    """Return a file's text, and an encoding that converts the text back to exactly the same bytes.

    Return None if the file is not text, or if no encoding restores its bytes.
    """
    found = decode(data, cut=False)
    if found is None:
        return None if data else ("", "utf-8")
    encoding = found.encoding
    if encoding in ("utf-16", "utf-32"):  # name the byte order, because these encodings would add a byte order mark
        encoding += "-le" if data[:1] == b"\xff" else "-be"
    with contextlib.suppress(UnicodeError):
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return text, encoding
    return None


def _replace(path: str, text: str, old: str, new: str, every: bool) -> tuple[str, int]:
    """Return the text with `old` replaced by `new`, and the number of replacements.

    `new` gets the line ends of the text. So does `old`, unless the text contains it unchanged.

    Raises `WorkFailure("invalid_tool_input")` if `old` equals `new`, if it does not occur, or if it occurs several
    times and `every` is False.
    """
    if old == new:
        raise WorkFailure("invalid_tool_input", "new: `new` and `old` are equal. Nothing was changed.")
    ends = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    wanted = old if old in text else _with_ends(old, ends)
    places = text.count(wanted)
    if not places:
        raise WorkFailure(
            "invalid_tool_input",
            f"old: {path} does not contain this text. Nothing was changed. {_nearest_lines(text, old)}",
        )
    if places > 1 and not every:
        found = islice(re.finditer(re.escape(wanted), text), _PLACES)
        lines = ", ".join(str(text.count("\n", 0, match.start()) + 1) for match in found)
        more = ", ..." if places > _PLACES else ""
        why = f"old: {path} contains this text {places} times, on lines {lines}{more}. Nothing was changed."
        raise WorkFailure("invalid_tool_input", f"{why} Include more of the text around it in `old`, or set `all`.")
    return text.replace(wanted, _with_ends(new, ends)), places


def _with_ends(text: str, ends: str) -> str:
    return re.sub("\r?\n", ends, text)


def _nearest_lines(text: str, old: str) -> str:
    """Return a sentence with the lines of the text that are most similar to `old`. If no line is similar, say to read
    the file again."""
    wanted = max(old.splitlines(), key=len, default="").strip()[:_LINE_CHARS]
    words = set(wanted.split())
    lines = [line.strip()[:_LINE_CHARS] for line in text.splitlines()]
    likely = nlargest(_LIKELY, lines, key=lambda line: len(words.intersection(line.split())))
    near = get_close_matches(wanted, likely, 1, _SIMILARITY)
    if not near:
        return "Read the file again."
    at = lines.index(near[0])
    shown = "\n".join(lines[max(at - 1, 0) : at + 2])
    return f"The nearest lines, {max(at, 1)} to {min(at + 2, len(lines))}, are:\n{shown}"


def _diff_block(path: str, before: str, after: str) -> list[dict[str, Any]]:
    """Return a list with the file's unified diff (docs/api/tools-and-jobs.md "Results"), or [] if nothing changed."""
    if before == after:
        return []
    old, new = before.splitlines(), after.splitlines()
    # Compare only the lines from the first to the last change, because a comparison takes quadratic time.
    start = max(_count_same(old, new) - _CONTEXT, 0)
    end = max(_count_same(old[start:][::-1], new[start:][::-1]) - _CONTEXT, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _COMPARED_LINES:
        lines = [f"[more than {_COMPARED_LINES:,} lines changed]"]
    elif old == new:
        lines = ["[only line ends changed]"]
    else:
        hunks = list(unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]
        lines = [_shift_hunk(line, start) if line.startswith("@@") else line[:_LINE_CHARS] for line in hunks]
    lines = [f"--- {path}", f"+++ {path}", *lines]
    if (more := len(lines) - DIFF_LINES) > 0:
        lines[DIFF_LINES:] = [f"[{more} more lines]"]
    return [{"type": "text", "text": "\n".join(lines), "format": "diff"}]


def _count_same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines are equal at the beginning of both lists."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _shift_hunk(head: str, by: int) -> str:
    """Return the header of a diff's hunk with its line numbers increased by `by`."""
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + by), head)
