"""Look at files of the notebook's chat without taking them out: the beginning of one."""

from __future__ import annotations

from agentsvc_nb.notebook.display.results import Preview
from agentsvc_nb.notebook.files.listing import chat_of, listed, missing
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.notebook.previews.bundle import preview_bundle
from agentsvc_nb.notebook.previews.subject import HEAD_BYTES
from agentsvc_nb.wire.files import WorkspaceFile


def files_preview(session: Session, path: str | WorkspaceFile) -> Preview:
    """The beginning of a file, by what its bytes say that it is (`previews`).

    Args:
        path: a path of the notebook's chat, or an entry of its listing, which is not listed again.

    Raises:
        AskError: there is no such file, or it can't be had.
    """
    file = path if isinstance(path, WorkspaceFile) else _found(session, path)
    client, chat = session.client(), chat_of(session)
    with telling(session):
        head = client.files.head(file, HEAD_BYTES, chat=chat)
        return Preview(preview_bundle(file, head, lambda to: client.files.download(file, chat=chat, to=to)))


def _found(session: Session, path: str) -> WorkspaceFile:
    files = listed(session)
    file = next((file for file in files if file.path == path), None)
    if file is None:
        raise missing(path, files)
    return file
