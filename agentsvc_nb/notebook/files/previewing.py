"""Look at files of the notebook's chat without taking them out: the beginning of one."""

from __future__ import annotations

from agentsvc_nb.notebook.display.results import Preview
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files.listing import chat_of, listed
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.notebook.previews.bundle import preview_bundle
from agentsvc_nb.notebook.previews.subject import HEAD_BYTES
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.files import WorkspaceFile


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
