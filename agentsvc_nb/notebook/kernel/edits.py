"""The changes of notebook cells that the agent proposes. The notebook page makes the change (docs/decisions/17)."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any, ClassVar, Final

from agentsvc_nb.client.client_tools import CallAnswer
from agentsvc_nb.key_forms import HIDDEN
from agentsvc_nb.notebook.display.markdown import WRAPPED
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.kernel.calls import KernelCall, State, failed_answer
from agentsvc_nb.notebook.kernel.pages import NotebookCell
from agentsvc_nb.notebook.redaction import redact
from agentsvc_nb.wire.text import escape, label, plain, reveal

CELLS_LISTED: Final = 200
"""The maximum number of cells in a list for the agent."""
BEGINNING_CHARS: Final = 120
SOURCE_CHARS: Final = 20_000
"""The maximum length of a cell's source that the agent sees, and of a changed cell."""
_WRONG: Final = {
    "conflict": "The cell was changed in the meantime; nothing was written.",
    "gone": "The cell no longer exists in the notebook; nothing was written.",
    "locked": "The cell can't be edited; nothing was written.",
}
"""Sentences for the codes with which a page says why it has not changed the cell."""
_UNWRITTEN: Final = "The notebook page could not write the change; the cell was not changed."
_WRITTEN: Final = "The cell was changed, but not run."
_RESTORE: Final = f"Keep each {HIDDEN} of the cell in its place. It replaces a masked value."
_LOOK: Final = {"+": ("ins", "rgba(46,160,67,.2)"), "-": ("del", "rgba(248,81,73,.2)")}
_PRE: Final = (
    f'<pre tabindex="0" style="{WRAPPED};max-height:24em;overflow:auto;'
    'margin:2px 0 6px;padding:4px 8px;border-left:3px solid var(--jp-brand-color1,#1976d2)">{}</pre>'
)


def list_cells(cells: Iterable[NotebookCell]) -> dict[str, Any]:
    """Return a list of these cells for the agent, each with the beginning of its source."""
    found = list(cells)
    rows = [
        {"cell": cell.id, "number": cell.count, "begins": redact(plain(cell.source[:SOURCE_CHARS]))[:BEGINNING_CHARS]}
        for cell in found[:CELLS_LISTED]
    ]
    return {"cells": rows} | ({"not_listed": len(found) - CELLS_LISTED} if len(found) > CELLS_LISTED else {})


def find_cell(cells: Iterable[NotebookCell], given: str) -> NotebookCell:
    """Return the cell with this id or number. If there is none, raises `LookupError` with a sentence for the agent."""
    number = given.strip("[] ")
    for cell in cells:
        if given == cell.id or (cell.count and number == str(cell.count)):
            return cell
    raise LookupError(f"There is no code cell {label(given, 80)}. List the cells with list_cells.")


def describe_cell(cell: NotebookCell) -> dict[str, Any]:
    """Return a cell with its masked source, for the agent."""
    source = redact(plain(cell.source))
    cut = {"cut": True} if len(source) > SOURCE_CHARS else {}
    return {"cell": cell.id, "number": cell.count, "source": source[:SOURCE_CHARS], **cut}


def apply_change(source: str, old: str, new: str) -> str:
    """Return the source with `old` replaced by `new`. If `old` is empty, `new` replaces the whole source.

    The agent has seen only the masked source. So this function changes the masked source, and then restores the masked
    values.

    Raises `LookupError` with a sentence for the agent if `old` does not occur exactly once, a mask is missing, nothing
    changes, or the result is too long.

    In this example, the agent has seen `key = '[redacted]'`:

    >>> apply_change("key = 'sk-aaaaaaaaaaaa'\\nprnt(key)", "prnt", "print")
    "key = 'sk-aaaaaaaaaaaa'\\nprint(key)"
    """
    shown = redact(source)
    if old and (times := shown.count(old)) != 1:
        raise LookupError(f"`old` occurs {times} times in the cell. It must occur exactly once.")
    after = restore_masked(shown.replace(old, new) if old else new.rstrip("\n"), source)
    if after == source:
        raise LookupError("The change has no effect: the new source equals the current one.")
    if len(after) > SOURCE_CHARS:
        raise LookupError(f"The cell would have {len(after):,} characters. The limit is {SOURCE_CHARS:,}.")
    return after


def restore_masked(text: str, source: str) -> str:
    """Replace the masks in `text` with the secret values in `source`, in order.

    Raises `LookupError` unless `text` has as many masks as `source` has secret values.
    """
    shown = redact(source)
    if shown == source:
        return text
    values = re.fullmatch("(.*?)".join(map(re.escape, shown.split(HIDDEN))), source, re.DOTALL)
    parts = text.split(HIDDEN)
    if values is None or len(parts) != len(values.groups()) + 1:
        raise LookupError(_RESTORE)
    return "".join(chain.from_iterable(zip_longest(parts, values.groups(), fillvalue="")))


def failure_reason(told: Mapping[str, Any]) -> str:
    """Return a sentence that says why a page has not changed a cell. Return an empty text if it has."""
    return "" if told.get("outcome") == "done" else _WRONG.get(str(told.get("outcome")), _UNWRITTEN)


def diff_bundle(before: str, after: str) -> Bundle:
    """Return an output with a diff and three lines of context. Signs and colours mark the changed lines."""
    lines = difflib.unified_diff(reveal(before).splitlines(), reveal(after).splitlines(), lineterm="", n=3)
    # Lines such as `@@ -1,4 +1,4 @@` are for programs. Replace them with a sign that lines are omitted.
    shown = ["…" if line.startswith("@@") else line for line in lines][3:]
    return {"text/plain": "\n".join(f"    {line}" for line in shown), "text/html": _PRE.format(_lines_html(shown))}


def copy_html(source: str) -> str:
    """Return a folded element with the whole cell. One click in it selects the complete text."""
    shown = _PRE.format(html.escape(plain(source))).replace('style="', 'style="user-select:all;', 1)
    return f"<details><summary>Copy the whole cell</summary>{shown}</details>"


def _lines_html(lines: Iterable[str]) -> str:
    parts = []
    for line in lines:
        tag, color = _LOOK.get(line[:1], ("span", ""))
        style = f"display:block;text-decoration:none;background:{color}" if color else "display:block"
        parts.append(f'<{tag} style="{style}">{html.escape(line) or " "}</{tag}>')
    return "".join(parts)


@dataclass(eq=False)
class EditCall(KernelCall):
    """A request to change a cell to `code`. The thread that reads the run's events sends the change to the page."""

    cell: NotebookCell = field(default_factory=lambda: NotebookCell("", ""))

    on_main_thread: ClassVar[bool] = False
    tool: ClassVar[str] = "edit_cell"
    yes: ClassVar[tuple[str, str]] = ("Accept", "Change the cell without running it")
    no_tip: ClassVar[str] = "Do not change the cell; the agent continues without the change"
    question: ClassVar[str] = "Change the cell as shown? [y]es, [n]o (and why): "
    how: ClassVar[str] = (
        "Accept it with `%approve {call}`, or refuse it with `%approve --refuse {call}`; the agent then"
        " continues without it."
    )
    approved_line: ClassVar[str] = "Accepted. The notebook page changes the cell."
    refused_line: ClassVar[str] = "Refused. The cell was not changed."
    refusal: ClassVar[str] = "The user refused this change; the cell was not changed."
    heads: ClassVar[dict[State, str]] = {
        "asked": "● The agent wants to change",
        "approved": "● Changing",
        "running": "● Changing",
        "done": "✓ Changed, not run (revert it with Undo):",
        "failed": "✗ Not changed:",
        "refused": "■ Refused, not changed:",
        "stopped": "■ Not changed:",
    }

    def answer(self) -> CallAnswer:
        if self.state == "done":
            return CallAnswer([{"type": "text", "text": _WRITTEN}])
        return failed_answer(f"{self.unable or self.refusal}{f' Their reason: {self.reason}' if self.reason else ''}")

    def bundle(self) -> Bundle:
        """Return an output with the change and its outcome."""
        said = label(self.unable or self.reason or self.why, 400)
        line = f"{self.heads[self.state]} {self.cell.name}{f': {said}' if said else '.'}"
        diff = diff_bundle(self.cell.source, self.code)
        shown = f"<div>{escape(line, 500)}</div>{diff['text/html']}"
        return {"text/plain": f"{line}\n{diff['text/plain']}\n", "text/html": shown}

    @property
    def input(self) -> dict[str, Any]:
        return {"cell": self.cell.id, "new": self.code, "why": self.why}
