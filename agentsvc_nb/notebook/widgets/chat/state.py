"""A chat as it is shown: its turns, what they become when the widget is gone, and a turn as a cell. Pure."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.client.batch.rows import REFERENCE
from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.wire.text import escape, excerpt, label, worded

SHOWN: Final = 40
"""More turns than this are not held, neither in the kernel nor in the page: the service has them."""
KEPT: Final = 20
"""So many are left then: each of them is sent once more, to the place of another."""
MESSAGE_CHARS: Final = 4_000
_ASKED: Final = "white-space:pre-wrap;overflow-wrap:anywhere;margin:12px 0 4px;padding:2px 10px;"
_EDGE: Final = "border-left:3px solid var(--jp-brand-color1,#1976d2)"


@dataclass
class Exchange:
    """One turn: what was typed, as a cell would have it, and what came of it once that is known."""

    number: int
    typed: str
    files: tuple[str, ...] = ()
    run_id: str = ""
    bundle: Bundle | None = None

    @property
    def message(self) -> str:
        return REFERENCE.sub(lambda found: found[0].removeprefix("\\"), self.typed)


@dataclass
class Conversation:
    """The turns that are shown, and before them those known by their ids alone. `chat` is None as long as it is new."""

    chat: str | None = None
    turns: list[Exchange] = field(default_factory=list)
    earlier: list[Exchange] = field(default_factory=list)
    closed: bool = False

    @property
    def count(self) -> int:
        return len(self.earlier) + len(self.turns)

    def ask(self, message: str, files: tuple[str, ...] = ()) -> Exchange:
        """The next turn."""
        last = max((turn.number for turn in (*self.earlier, *self.turns)), default=0)
        self.turns.append(Exchange(last + 1, as_typed(message), files))
        return self.turns[-1]

    def begin(self, turn: Exchange) -> None:
        """A run of it goes on, maybe not the first one: it is the last turn now."""
        turn.bundle = None
        self.turns = [*(other for other in self.turns if other is not turn), turn]

    def surplus(self) -> list[Exchange]:
        """Of more than `SHOWN` turns, take away all but `KEPT`; those that can be read again are remembered."""
        if len(self.turns) <= SHOWN:
            return []
        gone, self.turns = self.turns[:-KEPT], self.turns[-KEPT:]
        for turn in gone:
            turn.bundle = None
        self.earlier += [turn for turn in gone if turn.run_id]
        return gone

    def call_back(self, count: int) -> list[Exchange]:
        """The newest of the earlier turns, to be shown before the others."""
        wanted, self.earlier = self.earlier[-count:], self.earlier[:-count]
        self.turns = [*wanted, *self.turns]
        return wanted


def as_typed(message: str) -> str:
    r"""As a cell has it, where `{{name}}` would be filled in.

    >>> as_typed("Explain {{name}}")
    'Explain \\{{name}}'
    """
    return REFERENCE.sub(lambda found: f"\\{found[0]}", message)


def as_cell(turn: Exchange, chat: str | None) -> str:
    """The turn as an `%%ask` cell; in another chat than the notebook's with its id."""
    return f"%%ask{f' --chat {chat}' if chat else ''}\n{turn.typed}"


def asked_html(turn: Exchange) -> str:
    """What was asked, and the names of what went along."""
    files = f'<div style="{MUTED}">with {escape(", ".join(turn.files), 400)}</div>' if turn.files else ""
    return f'<div style="{_ASKED}{_EDGE}">{html.escape(excerpt(turn.message, MESSAGE_CHARS))}{files}</div>'


def summary(conversation: Conversation) -> Bundle:
    """The line that stands before the widget, and is there when the widget is not."""
    where = f"Chat {label(conversation.chat, 64)}" if conversation.chat else "A new chat"
    turns = f"{conversation.count} turn{'s' * (conversation.count != 1)}"
    if conversation.closed:
        return _line(f"{where}, {turns}, closed. Run this cell again to go on with it.")
    return _line(f"{where}, {turns}. Where no widget is shown below, run this cell again to bring it back.")


def transcript(conversation: Conversation) -> Bundle:
    """All that is shown, as one static output."""
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


def _unfinished(turn: Exchange) -> Bundle:
    return _line(f"Not ended yet; `%runs attach {label(turn.run_id, 64)}` follows it." if turn.run_id else "Not begun.")


def _line(words: str) -> Bundle:
    return {"text/plain": words, "text/html": f'<div style="{MUTED};font-size:90%">{worded(words, 400)}</div>'}
