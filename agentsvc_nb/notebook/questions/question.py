"""What one cell asks, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files.attachments import Attachment
from agentsvc_nb.notebook.memory.journal import Upload
from agentsvc_nb.notebook.memory.trail import Place
from agentsvc_nb.notebook.runs.shape import Shape
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire import ids, limits

PROMPT_CHARS = 80


@dataclass(frozen=True)
class Question:
    """A message and how to ask it.

    `typed` is the cell as it was typed, before its `{{names}}` were filled in; `timeout` is in seconds; `session` is a
    label with a chat of its own; `wait` waits for a busy chat; `notes` are lines that stand with the answer; `variant`
    counts those of one question from 1.
    """

    message: str
    typed: str = ""
    place: Place = field(default_factory=lambda: Place("", 0))
    files: tuple[Attachment, ...] = ()
    chat: str | None = None
    session: str | None = None
    project: str | None = None
    new_chat: bool = False
    wait: bool = False
    fresh: bool = False
    raise_error: bool = True
    timeout: float | None = None
    shape: Shape | None = None
    notes: tuple[str, ...] = ()
    variant: int = 0

    def __post_init__(self) -> None:
        if not self.message.strip():
            raise AskError("The message is empty; nothing was sent.", "Write it below the %%ask line.")
        if len(self.files) > limits.ATTACHMENTS_MAX:
            raise AskError(f"{len(self.files)} files are too many; nothing was sent.", "Attach at most 10.")
        places = {"--chat": self.chat, "--session": self.session, "--new-chat": self.new_chat}
        if len(given := [name for name, value in places.items() if value]) > 1:
            raise AskError(f"{' and '.join(given)} exclude each other; nothing was sent.", "Give one of them.")
        for kind, value, fits in (("chat", self.chat, ids.is_chat), ("project", self.project, ids.is_project)):
            if value and not fits(value):
                raise AskError(
                    f"{label(value, 80)!r} is no {kind} id; nothing was sent.", f"Use a `{kind[:4]}_...` id or a UUID."
                )

    @property
    def output_config(self) -> dict[str, Any] | None:
        """The JSON Schema that is sent."""
        return self.shape.schema if self.shape else None

    @property
    def own_chat(self) -> bool:
        """Whether it goes into the notebook's chat, or one that becomes it."""
        return self.chat is None and self.session is None

    @property
    def uploads(self) -> frozenset[Upload]:
        return frozenset((file.path.name, file.sha256) for file in self.files)

    @property
    def title(self) -> str:
        """The first words, for `%runs`."""
        return label(self.typed or "", PROMPT_CHARS)
