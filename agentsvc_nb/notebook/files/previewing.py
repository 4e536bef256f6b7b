"""Look at files of the notebook's chat without taking them out: the beginning of one."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.notebook.previews.bundle import preview_bundle
from agentsvc_nb.notebook.previews.subject import HEAD_BYTES
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.files import WorkspaceFile


class Preview:
    """What a cell shows of files."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return dict(self._bundle)


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


def files_preview(session: Session, path: str | WorkspaceFile) -> Preview:
    """The beginning of a file, by what its bytes say that it is (`previews`).

    Args:
        path: a path of the notebook's chat, or an entry of its listing, which is not listed again.

    Raises:
        AskError: there is no such file, or it can't be had.
    """
    file = path if isinstance(path, WorkspaceFile) else next((f for f in listed(session) if f.path == path), None)
    if file is None:
        raise AskError(f"There is no file {label(path)} in this chat.", "`%files` lists them.")
    client, chat = session.client(), chat_of(session)
    with telling(session):
        head = client.files.head(file, HEAD_BYTES, chat=chat)
        return Preview(preview_bundle(file, head, lambda to: client.files.download(file, chat=chat, to=to)))


def content(session: Session, file: WorkspaceFile) -> bytes:
    """All of a file of this notebook's chat. Raises `AskError`."""
    with telling(session):
        data = session.client().files.download(file.path, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data
