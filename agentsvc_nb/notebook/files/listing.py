"""The files of the notebook's chat, as the service lists them, and their contents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.display.file_table import Fetch
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.files import WorkspaceFile

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService


def chat_of(session: Session) -> str:
    """This notebook's chat. Raises `AskError` when it has none yet."""
    chat = session.known_chat(session.address())
    if not chat:
        raise AskError("This notebook has no chat yet, so no files.", "Ask something first.")
    return chat


def listed(session: Session) -> list[WorkspaceFile]:
    """The files of this notebook's chat, by path. Raises `AskError`."""
    chat = chat_of(session)
    with telling(session):
        found = list(session.client().files.list(chat))
    session.known.files = [file.path for file in found]
    return found


def missing(path: str, found: Iterable[WorkspaceFile]) -> AskError:
    """That a path is not among the files, with the paths of those that have its name."""
    name = path.rpartition("/")[2]
    like = [label(file.path) for file in found if file.path.rpartition("/")[2] == name][:3]
    meant = f"Did you mean {' or '.join(like)}? " if like else ""
    return AskError(f"There is no file {label(path)} in this chat.", f"{meant}`%files` lists them.")


def content(session: Session, file: WorkspaceFile) -> bytes:
    """All of a file of this notebook's chat. Raises `AskError`."""
    with telling(session):
        data = session.client().files.download(file.path, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data


def fetcher(client: AgentService, chat: str | None) -> Fetch | None:
    """Reads files of a chat for their thumbnails; one that can't be had has none."""
    if not chat:
        return None

    def fetch(file: WorkspaceFile) -> bytes | None:
        try:
            data = client.files.download(file.path, chat=chat)
        except (AskError, StefanBrainError):
            return None
        return data if isinstance(data, bytes) else None

    return fetch
