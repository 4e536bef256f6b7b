"""What one cell asks, checked before anything is sent."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.journal import Upload
from agentsvc_nb.notebook.trail import Place
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire import ids, limits

PROMPT_CHARS = 80


@dataclass(frozen=True)
class Attachment:
    path: Path
    sha256: str


@dataclass(frozen=True)
class Question:
    """A message and how to ask it.

    `typed` is the cell as it was typed, before its `{{names}}` were filled in; `timeout` is in seconds.
    """

    message: str
    typed: str = ""
    place: Place = field(default_factory=lambda: Place("", 0))
    files: tuple[Attachment, ...] = ()
    chat: str | None = None
    new_chat: bool = False
    fresh: bool = False
    raise_error: bool = True
    timeout: float | None = None
    output_config: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.message.strip():
            raise AskError("The message is empty; nothing was sent.", "Write it below the %%ask line.")
        if len(self.files) > limits.ATTACHMENTS_MAX:
            raise AskError(f"{len(self.files)} files are too many; nothing was sent.", "Attach at most 10.")
        if self.chat and self.new_chat:
            raise AskError("--chat and --new-chat exclude each other; nothing was sent.", "Give one of them.")
        if self.chat and not ids.is_chat(self.chat):
            raise AskError(
                f"{label(self.chat, 80)!r} is no chat id; nothing was sent.", "Use a `chat_...` id or a UUID."
            )

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
