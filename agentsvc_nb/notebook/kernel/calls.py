"""The agent's requests to run code in the user's kernel, from the request to the answer, and how a cell shows them."""

from __future__ import annotations

import base64
import html
import textwrap
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from agentsvc_nb import clock
from agentsvc_nb.client.cards import Bundle
from agentsvc_nb.client.client_tools import CallAnswer
from agentsvc_nb.notebook.display.code import highlight
from agentsvc_nb.notebook.display.markdown import WRAPPED, line_html
from agentsvc_nb.notebook.redaction import redact
from agentsvc_nb.wire.ids import CALL_BEGINNING
from agentsvc_nb.wire.text import escape, label, plain, reveal

if TYPE_CHECKING:
    from agentsvc_nb.notebook.kernel.running import CodeOutcome

State = Literal["asked", "approved", "running", "done", "failed", "refused", "stopped"]
CODE_CHARS: Final = 20_000
"""The maximum length of code that the agent may send. The user must read all of it before approving it."""
ERROR_CHARS: Final = 6_000
ERROR_OUTPUT_CHARS: Final = 9_000
"""If code fails, the agent receives at most this many characters: the end of the output and traceback."""
INVISIBLE: Final = (
    "The {} contains invisible characters ({}) and was not shown to the user. Remove them, or write them as"
    " escapes in string literals."
)
_HEADS: Final[dict[State, str]] = {
    "asked": "● The agent wants to run this in your kernel",
    "approved": "● Approved, runs when the kernel is idle",
    "running": "● Running in your kernel",
    "done": "✓ Ran in your kernel",
    "failed": "✗ Failed in your kernel",
    "refused": "■ Refused, not run",
    "stopped": "■ Stopped",
}
_PRE: Final = (
    f'<pre style="{WRAPPED};max-height:24em;overflow:auto;margin:2px 0 6px;'
    'padding:4px 8px;border-left:3px solid {};background:var(--jp-cell-editor-background,transparent)">{}</pre>'
)
_CODE_EDGE: Final = "var(--jp-brand-color1,#1976d2)"
_OUTPUT_EDGE: Final = "var(--jp-border-color2,#8884)"


@dataclass(eq=False)
class KernelCall:
    """A request of the agent to run code.

    Any thread may approve or refuse it. The main thread runs the code. The thread that reads the run's events waits
    for the end of the call.

    Attributes:
        by_prompt: whether a prompt asks the user. A waiting prompt blocks the kernel, so buttons would not
            work.
        edited: whether the user changed the code before approving it.
        unable: why the code did not run, other than a refusal. The agent receives this reason.
    """

    call_id: str
    run_id: str
    code: str
    why: str = ""
    since: str = ""
    state: State = "asked"
    reason: str = ""
    by_prompt: bool = False
    edited: bool = False
    unable: str = ""
    outcome: CodeOutcome | None = None
    asked_at: float = field(default_factory=clock.monotonic)
    _ended: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    on_main_thread: ClassVar[bool] = True
    """Whether the main thread executes the call after its approval."""
    tool: ClassVar[str] = "run_in_kernel"
    yes: ClassVar[tuple[str, str]] = ("Approve", "Run this code in your kernel")
    no_tip: ClassVar[str] = "Do not run the code; the agent continues without it"
    question: ClassVar[str] = "Run this code in your kernel? [y]es, [e]dit, [n]o (and why): "
    how: ClassVar[str] = (
        "Run it with `%approve {call}`, or refuse it with `%approve --refuse {call}`; the agent then"
        " continues without it."
    )
    approved_line: ClassVar[str] = "Approved. The code runs when the kernel is idle."
    refused_line: ClassVar[str] = "Refused. The code was not run."
    refusal: ClassVar[str] = "The user refused to run this code."
    language: ClassVar[str] = "python"
    heads: ClassVar[Mapping[State, str]] = _HEADS

    def decide(self, approved: bool, code: str | None = None, reason: str = "") -> bool:
        """Approve the call, also with changed code, or refuse it.

        Only the first decision counts. Return True if this is the first one, else False.
        """
        with self._lock:
            if self.state != "asked":
                return False
            if approved and code is not None and code.strip() != self.code.strip():
                self.code, self.edited = code, True
            self.reason = reason
            self.state = "approved" if approved else "refused"
        if not approved:
            self._ended.set()
        return True

    def begin(self) -> bool:
        """Change the state from approved to running. Return False if the call has any other state."""
        with self._lock:
            if self.state != "approved":
                return False
            self.state = "running"
            return True

    def give_up(self, unable: str) -> None:
        """End a call that is not running yet. `unable` is the reason."""
        with self._lock:
            if self.state in ("asked", "approved"):
                self.state, self.unable = "stopped", unable
                self._ended.set()

    def end(self, state: State, unable: str = "") -> None:
        """End a call after `begin`."""
        with self._lock:
            self.state, self.unable = state, unable
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds. Return True if the call has ended."""
        return self._ended.wait(seconds)

    @property
    def signature(self) -> tuple[Any, ...]:
        """A value that differs whenever the displayed call has changed."""
        done = self.outcome
        return (self.call_id, self.state, len(done.text) if done else 0, len(done.pictures) if done else 0)

    def answer(self) -> CallAnswer:
        """Return the answer for the agent, without pictures. The caller uploads those to the chat's files."""
        if self.outcome is None:
            why = self.unable or self.refusal
            return failed_answer(f"{why}{f' Their reason: {self.reason}' if self.reason else ''}")
        changed = [f"The user changed the code before it ran:\n{self.code}"] if self.edited else []
        parts = [*changed, plain(self.outcome.text).rstrip()]
        if self.outcome.error:
            parts.append(f"The code failed:\n{_error(self.outcome)}")
        text = redact("\n\n".join(part for part in parts if part)) or "The code ran and printed nothing."
        return CallAnswer([{"type": "text", "text": text}], text[-ERROR_OUTPUT_CHARS:] if self.outcome.error else "")

    def bundle(self) -> Bundle:
        """Return an output with the code and its outcome."""
        head = self.heads[self.state] + (", as you changed it" if self.edited else "")
        said = label(self.unable or self.reason or self.why, 400)
        line = f"{head}: {said}" if said else f"{head}."
        body = [
            f"<div>{escape(line, 500)}</div>",
            _PRE.format(_CODE_EDGE, highlight(reveal(self.code), self.language)),
        ]
        text = [line, textwrap.indent(reveal(self.code), "    ")]
        if self.outcome is not None:
            shown, told = _outcome_parts(self.outcome)
            body += shown
            text += told
        return {"text/plain": "\n".join(text) + "\n", "text/html": "".join(body)}

    def asking_bundle(self) -> Bundle:
        """Return an output that shows the code and says how to approve or refuse the call in another cell."""
        shown, call = self.bundle(), label(self.call_id[:CALL_BEGINNING], 64)
        how = self.how.format(call=call)
        return {"text/plain": f"{shown['text/plain']}{how}\n", "text/html": shown["text/html"] + line_html(how)}

    @property
    def input(self) -> dict[str, Any]:
        return {"code": self.code, "why": self.why}


def failed_answer(why: str) -> CallAnswer:
    """Return the answer for a failed call. Its content is the reason, so that people who view the run see it."""
    return CallAnswer([{"type": "text", "text": why}], why)


def picture_kind(raw: bytes) -> str:
    """Return the kind of a recorded picture: `png` or `jpeg`. Pictures of other kinds are never recorded."""
    return "png" if raw.startswith(b"\x89PNG") else "jpeg"


def _outcome_parts(outcome: CodeOutcome) -> tuple[list[str], list[str]]:
    printed, error = plain(outcome.text).rstrip(), _error(outcome)
    rest = printed.removesuffix(plain(outcome.table_text).rstrip()).rstrip()  # the table is shown as HTML
    shown = [_PRE.format(_OUTPUT_EDGE, html.escape(rest))] if rest else []
    shown += [f'<div style="overflow-x:auto">{outcome.table}</div>'] if outcome.table else []
    for number, raw in enumerate(outcome.pictures, 1):
        source = f"data:image/{picture_kind(raw)};base64,{base64.b64encode(raw).decode()}"
        shown.append(f'<div><img alt="Picture {number} of the code above" src="{source}"></div>')
    shown += [_PRE.format("var(--jp-error-color1,#dd3333)", html.escape(error))] if error else []
    told = [printed, *(f"[picture {number}]" for number in range(1, len(outcome.pictures) + 1)), error]
    return shown, [part for part in told if part]


def _error(outcome: CodeOutcome) -> str:
    """Return the end of the traceback. IPython's line of dashes at its beginning is removed."""
    return plain(outcome.error).lstrip("-\n")[-ERROR_CHARS:]
