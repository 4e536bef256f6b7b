"""What one cell asks, checked before anything is sent."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.memory.journal import Upload
from agentsvc_nb.notebook.memory.trail import Place
from agentsvc_nb.notebook.runs.shape import Shape
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire import ids, limits

PROMPT_CHARS = 80


@dataclass(frozen=True)
class Attachment:
    """A file that goes along; with `data` it is these bytes under the name of `path`."""

    path: Path
    sha256: str
    data: bytes | None = None

    @property
    def sent(self) -> Path | tuple[str, bytes]:
        """As the client takes it."""
        return self.path if self.data is None else (self.path.name, self.data)


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


def attachments(patterns: Iterable[str | Path]) -> tuple[Attachment, ...]:
    """Files by path or glob, with their SHA-256, each once.

    Raises:
        AskError: nothing matches, or what matches is a folder or can't be read.
    """
    paths = dict.fromkeys(path for pattern in patterns for path in _matches(str(pattern)))
    return tuple(Attachment(path, _digest(path)) for path in paths)


def _matches(pattern: str) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        raise AskError(f"{pattern} is a folder; nothing was sent.", f"Name its files, for example {pattern}/*.csv")
    if path.exists():
        return [path]
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
    if not found:
        raise AskError(f"There is no file {pattern}; nothing was sent.", "Check the path; %pwd shows where you are.")
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AskError(f"{path} can't be read: {error.strerror}; nothing was sent.", "Check its permissions.") from None
