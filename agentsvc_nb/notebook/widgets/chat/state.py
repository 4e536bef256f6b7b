"""The state of a chat: its turns, their static output, and a turn as a cell. No widgets, no I/O."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.client.batch_rows import REFERENCE
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.render import Bundle, standin_bundle
from agentsvc_nb.wire.text import escape, excerpt, label, worded

SHOWN: Final = 40
"""The number of turns held in the kernel and the page; the service has them all."""
KEPT: Final = 20
"""The number of turns kept once there are more than `SHOWN`: fewer, because each is then sent to the page again."""
MESSAGE_CHARS: Final = 4_000
_ASKED: Final = "white-space:pre-wrap;overflow-wrap:anywhere;margin:12px 0 4px;padding:2px 10px;"
_EDGE: Final = "border-left:3px solid var(--jp-brand-color1,#1976d2)"


@dataclass
class ChatTurn:
    """One turn of a chat.

    Attributes:
        number: from 1.
        typed: the message as it would be typed in a cell (see `as_typed`).
        files: the names of its attachments.
        bundle: the answer, once the run has ended and is loaded.
    """

    number: int
    typed: str
    files: tuple[str, ...] = ()
    run_id: str = ""
    bundle: Bundle | None = None

    @property
    def message(self) -> str:
        """The message as sent: `typed` without the escapes of `as_typed`."""
        return REFERENCE.sub(lambda found: found[0].removeprefix("\\"), self.typed)


@dataclass
class Conversation:
    """The turns shown, and the `earlier` ones known by id alone. `chat` is None until the service has created it."""

    chat: str | None = None
    turns: list[ChatTurn] = field(default_factory=list)
    earlier: list[ChatTurn] = field(default_factory=list)
    closed: bool = False

    @property
    def count(self) -> int:
        return len(self.earlier) + len(self.turns)

    def ask(self, message: str, files: tuple[str, ...] = ()) -> ChatTurn:
        """Append a turn for this message, and return it."""
        last = max((turn.number for turn in (*self.earlier, *self.turns)), default=0)
        self.turns.append(ChatTurn(last + 1, as_typed(message), files))
        return self.turns[-1]

    def begin(self, turn: ChatTurn) -> None:
        """Move a turn to the end and clear its answer, because a run of it begins (a retry, maybe)."""
        turn.bundle = None
        self.turns = [*(other for other in self.turns if other is not turn), turn]

    def surplus(self) -> list[ChatTurn]:
        """If there are more than `SHOWN` turns, remove all but the last `KEPT`, and return those removed.

        Turns that have a run become `earlier` ones, since they can be loaded again.
        """
        if len(self.turns) <= SHOWN:
            return []
        gone = self.turns[:-KEPT]
        self.turns = self.turns[-KEPT:]
        for turn in gone:
            turn.bundle = None
        self.earlier += [turn for turn in gone if turn.run_id]
        return gone

    def call_back(self, count: int) -> list[ChatTurn]:
        """Move the newest `count` of the earlier turns before the shown ones, and return them."""
        wanted = self.earlier[-count:]
        self.earlier = self.earlier[:-count]
        self.turns = [*wanted, *self.turns]
        return wanted


def as_typed(message: str) -> str:
    r"""Escape a message for a cell, where `{{name}}` would be replaced by a variable.

    >>> as_typed("Explain {{name}}")
    'Explain \\{{name}}'
    """
    return REFERENCE.sub(lambda found: f"\\{found[0]}", message)


def as_cell(turn: ChatTurn, chat: str | None) -> str:
    """Return the turn as an `%%ask` cell; `chat` is the chat's id unless it is the notebook's own."""
    return f"%%ask{f' --chat {chat}' if chat else ''}\n{turn.typed}"


def asked_html(turn: ChatTurn) -> str:
    """Return the question and the names of its attachments as HTML."""
    files = f'<div style="{SMALL}">with {escape(", ".join(turn.files), 400)}</div>' if turn.files else ""
    return f'<div style="{_ASKED}{_EDGE}">{html.escape(excerpt(turn.message, MESSAGE_CHARS))}{files}</div>'


def summary(conversation: Conversation) -> Bundle:
    """The static line above the widget, which remains in a saved notebook."""
    where = f"Chat {label(conversation.chat, 64)}" if conversation.chat else "A new chat"
    turns = f"{conversation.count} turn{'s' * (conversation.count != 1)}"
    if conversation.closed:
        return _line(f"{where}, {turns}, closed. Run this cell again to go on with it.")
    return standin_bundle(f"{where}, {turns}. Where the chat is not shown, run this cell again to bring it back.")


def transcript(conversation: Conversation) -> Bundle:
    """The conversation as one static output."""
    rest = len(conversation.earlier)
    known = f"{rest} earlier turn{'s' * (rest != 1)} not shown here; `%runs` lists them." if rest else ""
    parts = [_line(known)] if known else []
    for turn in conversation.turns:
        files = f"\n(with {label(', '.join(turn.files), 400)})" if turn.files else ""
        said = f"You: {excerpt(turn.message, MESSAGE_CHARS)}{files}"
        parts += [{"text/plain": said, "text/html": asked_html(turn)}, turn.bundle or _unfinished(turn)]
    shown = parts or [_line("Nothing was asked.")]
    body = "".join(part["text/html"] for part in shown)
    return {
        "text/plain": "\n\n".join(part["text/plain"] for part in shown),
        "text/html": f'<div role="region" aria-label="Chat {escape(conversation.chat or "", 64)}">{body}</div>',
    }


def _unfinished(turn: ChatTurn) -> Bundle:
    return _line(f"Not ended yet; `%runs attach {label(turn.run_id, 64)}` follows it." if turn.run_id else "Not begun.")


def _line(words: str) -> Bundle:
    return {"text/plain": words, "text/html": f'<div style="{SMALL}">{worded(words, 400)}</div>'}
