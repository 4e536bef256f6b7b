"""Files that go along with a question, or are put into the chat: by path, with their SHA-256."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.surface import AgentService
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.memory.journal import Upload


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


def listed_uploads(client: AgentService, chat: str) -> set[Upload]:
    """(file name, SHA-256) of a chat's uploads; none when the chat is not this account's."""
    try:
        return {(file.file_name, file.id) for file in client.files.list(chat) if file.kind == "upload"}
    except StefanBrainError as error:
        if error.status == 404:
            return set()
        raise
