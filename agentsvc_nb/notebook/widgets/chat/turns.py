"""The turns of a chat, as data and as one static output. This module uses no widgets and does no I/O."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.client.batch_rows import REFERENCE
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.render import Bundle, widget_line_bundle
from agentsvc_nb.wire.text import escape, excerpt, label, worded

SHOWN: Final = 40
"""The maximum number of turns that the kernel and the page keep. Others can be loaded from the service."""
KEPT: Final = 20
"""How many turns are kept when there are more than `SHOWN`. It is much smaller than `SHOWN`, because all kept turns are
sent to the page again.
"""
MESSAGE_CHARS: Final = 4_000
_ASKED: Final = (
    "white-space:pre-wrap;overflow-wrap:anywhere;width:fit-content;max-width:85%;margin:14px 0 8px auto;"
    "padding:8px 13px;border-radius:14px 14px 4px 14px;border:1px solid var(--jp-border-color2,#8884)"
)


@dataclass
class ChatTurn:
    """A question in the chat, with its answer.

    Attributes:
        number: the number of the turn in the chat, from 1.
        typed: the message as it would be typed in a cell (see `as_typed`).
        files: the names of the attachments.
        bundle: the answer. None until the run has ended and the answer is loaded.
        elsewhere: whether the question comes from elsewhere. Then only the beginning of its message is known.
    """

    number: int
    typed: str
    files: tuple[str, ...] = ()
    run_id: str = ""
    bundle: Bundle | None = None
    elsewhere: bool = False

    @property
    def message(self) -> str:
        """The message as it is sent: `typed` without the backslashes that `as_typed` adds."""
        return REFERENCE.sub(lambda found: found[0].removeprefix("\\"), self.typed)


@dataclass
class Conversation:
    """A chat: the `turns` that are shown, and the `earlier` turns that are not.

    `chat` is the chat's id, or None until the service creates the chat.
    """

    chat: str | None = None
    turns: list[ChatTurn] = field(default_factory=list)
    earlier: list[ChatTurn] = field(default_factory=list)
    closed: bool = False

    @property
    def count(self) -> int:
        return len(self.earlier) + len(self.turns)

    @property
    def title(self) -> str:
        """The beginning of the first question in the chat."""
        first = next(iter((*self.earlier, *self.turns)), None)
        return label(first.message.strip().partition("\n")[0], 80) if first else "New chat"

    def ask(self, message: str, files: tuple[str, ...] = ()) -> ChatTurn:
        """Append a turn for a message of the user, and return the turn."""
        return self.append(as_typed(message), files=files)

    def append(self, typed: str, **more: Any) -> ChatTurn:
        """Append a turn for a message in the form that a cell needs, and return the turn."""
        last = max((turn.number for turn in (*self.earlier, *self.turns)), default=0)
        self.turns.append(ChatTurn(last + 1, typed, **more))
        return self.turns[-1]

    def knows(self, run_id: str) -> bool:
        """Return True if the run belongs to a turn of this conversation."""
        return any(turn.run_id == run_id for turn in (*self.earlier, *self.turns))

    def drop_surplus(self) -> None:
        """If more than 40 turns are shown, keep the last 20. The others become `earlier` turns if they have a run."""
        if len(self.turns) <= SHOWN:
            return
        gone = self.turns[:-KEPT]
        self.turns = self.turns[-KEPT:]
        for turn in gone:
            turn.bundle = None
        self.earlier += [turn for turn in gone if turn.run_id]

    def restore_earlier(self, count: int) -> list[ChatTurn]:
        """Show the newest `count` of the earlier turns again, and return them."""
        wanted = self.earlier[-count:]
        self.earlier = self.earlier[:-count]
        self.turns = [*wanted, *self.turns]
        return wanted


def as_typed(message: str) -> str:
    r"""Escape a message for use in a cell. In a cell, `{{name}}` would be replaced with the value of a variable.

    >>> as_typed("Explain {{name}}")
    'Explain \\{{name}}'
    """
    return REFERENCE.sub(lambda found: f"\\{found[0]}", message)


def as_cell(turn: ChatTurn, chat: str | None) -> str:
    """Return the `%%ask` cell that asks the same question. `chat` is the chat's id, or None for the notebook's chat."""
    return f"%%ask{f' --chat {chat}' if chat else ''}\n{turn.typed}"


def question_part(turn: ChatTurn) -> dict[str, Any]:
    """Return the question and the names of its attachments for the front end, which displays both as text."""
    return {"asked": excerpt(turn.message, MESSAGE_CHARS), "files": [label(name, 80) for name in turn.files]}


def summary(conversation: Conversation) -> Bundle:
    """Return the static line above the widget, which a saved notebook shows."""
    where = f"Chat {label(conversation.chat, 64)}" if conversation.chat else "A new chat"
    turns = f"{conversation.count} turn{'s' * (conversation.count != 1)}"
    if conversation.closed:
        return _line(f"{where}, {turns}, closed. Run this cell again to continue the chat.")
    return widget_line_bundle(f"{where}, {turns}. If the chat is not shown, run this cell again.")


def transcript(conversation: Conversation) -> Bundle:
    """Return the conversation as one static output."""
    rest = len(conversation.earlier)
    known = f"{rest} earlier turn{'s' * (rest != 1)} not shown here. List them with `%runs`." if rest else ""
    parts = [_line(known)] if known else []
    for turn in conversation.turns:
        files = label(", ".join(turn.files), 400)
        said = excerpt(turn.message, MESSAGE_CHARS)
        small = f'<div style="{SMALL}">with {escape(files, 400)}</div>' if files else ""
        plain = f"You: {said}" + (f"\n(with {files})" if files else "")
        parts.append({"text/plain": plain, "text/html": f'<div style="{_ASKED}">{html.escape(said)}{small}</div>'})
        unfinished = f"This run is still active. Follow it with `%runs attach {label(turn.run_id, 64)}`."
        parts.append(turn.bundle or _line(unfinished if turn.run_id else "Not started."))
    shown = parts or [_line("This chat has no questions.")]
    body = "".join(part["text/html"] for part in shown)
    return {
        "text/plain": "\n\n".join(part["text/plain"] for part in shown),
        "text/html": f'<div role="region" aria-label="Chat {escape(conversation.chat or "", 64)}">{body}</div>',
    }


def _line(words: str) -> Bundle:
    return {"text/plain": words, "text/html": f'<div style="{SMALL}">{worded(words, 400)}</div>'}
