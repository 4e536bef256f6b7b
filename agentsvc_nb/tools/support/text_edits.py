"""Replace text in the bytes of a text file, and show what changed as a unified diff."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from difflib import get_close_matches, unified_diff
from heapq import nlargest
from itertools import islice, takewhile
from typing import Any, Final

from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.tools.port import WorkFailure

EDITED_BYTES: Final = 1_000_000
DIFF_LINES: Final = 60
_LINE_CHARS: Final = 300
_COMPARED_LINES: Final = 4_000
"""More changed lines are not compared: it takes seconds."""
_CONTEXT: Final = 3
_LIKELY: Final = 50
_SIMILARITY: Final = 0.4
_PLACES: Final = 10


def exact_text(data: bytes) -> tuple[str, str] | None:
    """Return the text of a file and its encoding, with which it encodes to the same bytes. A byte order mark is part of
    the text. None if there is no such encoding."""
    found = decode(data, cut=False)
    if found is None:
        return None if data else ("", "utf-8")
    encoding = found.encoding
    if encoding in ("utf-16", "utf-32"):  # encoding with these adds a mark of this machine's byte order
        encoding += "-le" if data[:1] == b"\xff" else "-be"
    with contextlib.suppress(UnicodeError):
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return text, encoding
    return None


def replace(path: str, text: str, old: str, new: str, every: bool) -> tuple[str, int]:
    """Return the text with `old` replaced by `new`, and how often it was. Line ends of both are those of the text.

    Raises `WorkFailure("invalid_tool_input")` if `old` is not there, or is there several times without `every`.
    """
    if old == new:
        raise WorkFailure("invalid_tool_input", "new: It is the same as `old`: nothing was changed.")
    ends = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    wanted = old if old in text else _with_ends(old, ends)
    places = text.count(wanted)
    if not places:
        raise WorkFailure("invalid_tool_input", f"old: It is not in {path}: nothing was changed. {_nearest(text, old)}")
    if places > 1 and not every:
        found = islice(re.finditer(re.escape(wanted), text), _PLACES)
        lines = ", ".join(str(text.count("\n", 0, match.start()) + 1) for match in found)
        more = ", ..." if places > _PLACES else ""
        why = f"old: It is in {path} {places} times, on lines {lines}{more}: nothing was changed."
        raise WorkFailure("invalid_tool_input", f"{why} Give more of the text around it, or set `all`.")
    return text.replace(wanted, _with_ends(new, ends)), places


def _with_ends(text: str, ends: str) -> str:
    return re.sub("\r?\n", ends, text)


def _nearest(text: str, old: str) -> str:
    """Return a sentence with the lines of the text that look most like `old`."""
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


def diff_block(path: str, before: str, after: str) -> list[dict[str, Any]]:
    """Return a content block with the unified diff of a file (docs/api/tools-and-jobs.md "Results"); none without a
    change. A long diff is cut."""
    if before == after:
        return []
    old, new = before.splitlines(), after.splitlines()
    # Only what is between the first and the last change is compared: a comparison takes quadratic time.
    start = max(_same(old, new) - _CONTEXT, 0)
    end = max(_same(old[start:][::-1], new[start:][::-1]) - _CONTEXT, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _COMPARED_LINES:
        lines = [f"[more than {_COMPARED_LINES:,} lines changed]"]
    elif old == new:
        lines = ["[only line ends changed]"]
    else:
        hunks = list(unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]
        lines = [_moved(line, start) if line.startswith("@@") else line[:_LINE_CHARS] for line in hunks]
    lines = [f"--- {path}", f"+++ {path}", *lines]
    if (more := len(lines) - DIFF_LINES) > 0:
        lines[DIFF_LINES:] = [f"[{more} more lines]"]
    return [{"type": "text", "text": "\n".join(lines), "format": "diff"}]


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many of the first lines are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _moved(head: str, by: int) -> str:
    """Return the head of a hunk with line numbers that are higher by so many."""
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + by), head)
