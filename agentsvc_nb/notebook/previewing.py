"""Look at files of the notebook's chat without taking them out: the beginning of one, or the pictures of all."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook import pictures
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.previews.bundle import preview_bundle
from agentsvc_nb.notebook.previews.subject import HEAD_BYTES
from agentsvc_nb.notebook.render import MUTED, Bundle
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.tables import size
from agentsvc_nb.notebook.telling import telling
from agentsvc_nb.safe.text import escape, label
from agentsvc_nb.wire.files import WorkspaceFile

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService

_FIGURE: Final = "display:inline-block;vertical-align:top;width:256px;margin:4px 12px 8px 0;overflow-wrap:anywhere"


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


def files_gallery(session: Session, pattern: str = "*") -> Preview:
    """The chat's pictures whose path or name fits the glob, small, newest first: 12 at most. Raises `AskError`."""
    found = [file for file in listed(session) if file.media_type.startswith("image/") and _fits(file, pattern)]
    if not found:
        raise AskError(f"This chat has no pictures that fit {label(pattern)}.", "`%files` lists its files.")
    newest = sorted(found, key=lambda file: file.updated_at or "", reverse=True)
    return Preview(gallery_bundle(newest, {file.path: _small(session, file) for file in newest[: pictures.PER_OUTPUT]}))


def _fits(file: WorkspaceFile, pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in (file.path, file.file_name))


def _small(session: Session, file: WorkspaceFile) -> str | None:
    if not 0 < file.size_bytes <= pictures.SOURCE_BYTES:
        return None
    return pictures.thumbnail(_bytes(session, session.client(), file))


def _bytes(session: Session, client: AgentService, file: WorkspaceFile) -> bytes:
    with telling(session):
        data = client.files.download(file.path, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data


def gallery_bundle(files: list[WorkspaceFile], thumbs: dict[str, str | None]) -> Bundle:
    """Pictures beside each other with their paths, within the budget of an output; the rest by name."""
    figures, lines, spent = [], [], 0
    for file in files:
        uri = thumbs.get(file.path)
        lines.append(f"  {label(file.path)}  ({size(file.size_bytes)})")
        if uri is not None and spent + len(uri) <= pictures.OUTPUT_BYTES:
            spent += len(uri)
            figures.append(_figure(file, uri))
    rest = len(files) - len(figures)
    more = [f"… {rest} not shown; `%files get PATH` fetches one"] if rest else []
    tail = "".join(f'<div style="{MUTED}">{escape(line)}</div>' for line in more)
    return {
        "text/plain": "\n".join([f"{len(files)} picture{'s' * (len(files) != 1)}", *lines, *more]),
        "text/html": f"<div>{''.join(figures)}</div>{tail}",
    }


def _figure(file: WorkspaceFile, uri: str) -> str:
    name = escape(file.name or file.file_name or file.path)
    caption = f'<figcaption style="{MUTED}">{escape(file.path)}, {size(file.size_bytes)}</figcaption>'
    return f'<figure style="{_FIGURE}"><img src="{uri}" alt="{name}">{caption}</figure>'
