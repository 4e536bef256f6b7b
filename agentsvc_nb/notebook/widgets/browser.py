"""The files of a chat as a widget: a list for `%files browse`, or a grid of pictures for `%files gallery`.

The page (`front/files.js`) gets the list of all files, and sorts and filters it without the kernel. The kernel
downloads the files that the user opens.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.files.gallery import Pictures, gallery_bundle, pictures_among
from agentsvc_nb.notebook.files.workspace import (
    author,
    chat_of,
    download,
    files_get,
    files_preview,
    files_put,
    files_restore,
    files_table,
    list_with_staged,
    search_files,
    versions,
)
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback, fallback
from agentsvc_nb.notebook.widgets.uploads import Uploads
from agentsvc_nb.notebook.widgets.worker import Worker
from agentsvc_nb.wire.files import StagedFile, WorkspaceFile
from agentsvc_nb.wire.text import label, plain, worded

Message = Mapping[str, Any]
KEY_CHARS: Final = 500
"""The maximum length of a path that identifies a file in messages between page and kernel."""
THUMBNAILS_MAX: Final = 300
"""The maximum number of thumbnails that the kernel keeps, for pages that are opened later."""
STAGED_NOTE: Final = "is attached to the next question"


def browse(session: Session, chat: str | None = None) -> WidgetWithFallback:
    """Return a widget with the files of the session's chat. `chat` is its id if the session is for another chat.

    Raises `AskError` when a request fails.
    """
    files, staged = list_with_staged(session)
    sizes = [file.size_bytes for file in files] + [file.size_bytes for file in staged]
    said = f"The files of {_whose(chat)}: {len(sizes):,} file{'s' * (len(sizes) != 1)}, {size(sum(sizes))}."
    again = f"`agentsvc_nb.Files({label(chat, 64)!r})`" if chat else "`%files browse`"
    shown = fallback(said, again, files_table(session, files)._repr_mimebundle_())
    return WidgetWithFallback(shown, FileBrowser(session, files, staged).front)


def gallery(session: Session, pattern: str = "*", chat: str | None = None) -> WidgetWithFallback:
    """Return a widget with the pictures that match the glob. Raises `AskError` if none matches or a request fails."""
    files, _ = list_with_staged(session)
    found = pictures_among(files, pattern)
    made = FileBrowser(session, files, (), pattern)
    said = f"A gallery of {_whose(chat)}: {len(found)} picture{'s' * (len(found) != 1)}."
    again = f"`agentsvc_nb.Gallery(chat={label(chat, 64)!r})`" if chat else "`%files gallery`"
    shown = fallback(said, again, gallery_bundle(made.pictures, found, {file.path: file for file in files}))
    return WidgetWithFallback(shown, made.front)


def _whose(chat: str | None) -> str:
    return f"chat {label(chat, 64)}" if chat else "this notebook's chat"


class FileBrowser:
    """The kernel's side of the widget for one chat. A lock guards its state, because messages arrive in any thread and
    two workers send requests.

    Args:
        session: the notebook's session, or a session that `Session.for_chat` has created for another chat.
        files: the chat's current files.
        staged: the files that the next question will attach.
        pattern: a glob for pictures. If it is given, the widget is a gallery of the matching pictures.
    """

    def __init__(
        self,
        session: Session,
        files: Sequence[WorkspaceFile],
        staged: Sequence[StagedFile] = (),
        pattern: str | None = None,
    ) -> None:
        self.front = Front("preview", "uploads", "files")
        self.pictures = Pictures(lambda file: download(session, file))
        self._session = session
        self._pattern = pattern
        self._lock = threading.RLock()
        self._worker = Worker(lambda said: self._show_message(said, wrong=True))
        self._thumbnails = Worker(lambda said: self._show_message(said, wrong=True))
        self._uploads = Uploads(self.front, self._upload, lambda said: self._show_message(said, wrong=True))
        self._files: dict[str, WorkspaceFile] = {}
        self._staged: dict[str, StagedFile] = {}
        self._opened: tuple[str, int] | None = None
        """The key and version of the file that the page shows; version 0 is the current one."""
        handlers: dict[str, Callable[[Message], object]] = {
            "open": self._open,
            "close": lambda _: self._close(),
            "thumbs": self._read_thumbnails,
            "find": lambda content: self._find(str(content.get("words", ""))),
            "get": self._with_file(lambda file, _: self._get(file)),
            "restore": self._with_file(self._restore),
            "refresh": lambda _: self._worker.do("list", self._list),
        }
        for name, handle in handlers.items():
            self.front.on(name, functools.partial(_call, handle))
        self.front.change({"start": {"grid": pattern is not None}})
        self._show(files, staged)

    def _show(self, files: Sequence[WorkspaceFile], staged: Sequence[StagedFile]) -> None:
        shown = files if self._pattern is None else pictures_among(files, self._pattern)
        with self._lock:
            old = self._files
            self._files = {label(file.path, KEY_CHARS): file for file in files}
            self._staged = {label(f"uploads/{file.file_name}", KEY_CHARS): file for file in staged}
            rows = [[*_row(key, file), STAGED_NOTE] for key, file in self._staged.items()]
            rows += [_row(label(file.path, KEY_CHARS), file) for file in shown]
            # a changed picture needs a new thumbnail
            changed = [key for key, file in old.items() if (now := self._files.get(key)) is None or now.id != file.id]
            self.front.change({**{f"thumb/{key}": None for key in changed}, "files": rows})

    def _list(self) -> None:
        self._show(*list_with_staged(self._session))
        with self._lock:
            opened = self._opened
        if opened and opened[0] in self._files:
            self._preview(*opened)

    # -- messages of the page, handled in any thread --------------------------------------------------------------

    def _with_file(self, act: Callable[[WorkspaceFile, int], object]) -> Callable[[Message], None]:
        """Return a handler for messages that name a file and a version. It queues the call `act(file, version)`."""

        def handle(content: Message) -> None:
            file, version = self._files.get(str(content.get("key"))), content.get("version")
            if file:
                self._worker.do(f"{act} {file.path}", lambda: act(file, version if isinstance(version, int) else 0))

        return handle

    def _open(self, content: Message) -> None:
        key, version = str(content.get("key")), content.get("version", 0)
        if key in self._files or key in self._staged:
            with self._lock:
                self._opened = key, version if isinstance(version, int) else 0
                opened = self._opened
            self._worker.do("open", lambda: self._preview(*opened))

    def _close(self) -> None:
        with self._lock:
            self._opened = None
            self.front.change({"open": None})

    def _find(self, words: str) -> None:
        if words:
            self._worker.do("find", lambda: self._search(words))
        else:
            self.front.change({"found": None})

    def _read_thumbnails(self, content: Message) -> None:
        keys = content.get("keys")
        wanted = [self._files[key] for key in keys if key in self._files] if isinstance(keys, list) else []
        self._thumbnails.do(f"{keys}", lambda: self._show_thumbnails(wanted))

    def _upload(self, key: str, path: Path) -> None:
        self._worker.do(f"put {key}", lambda: self._put(key, path))

    # -- requests, in a worker's thread ---------------------------------------------------------------------------

    def _preview(self, key: str, version: int) -> None:
        if staged := self._staged.get(key):
            shown = _facts(staged) | {"html": f"<p>This file {STAGED_NOTE}. Its preview is available after that.</p>"}
        else:
            shown = self._preview_file(self._files[key], version)
        with self._lock:
            if self._opened == (key, version):
                self.front.change({"open": {"key": key, **shown}})
                self._show_message("")

    def _preview_file(self, current: WorkspaceFile, version: int) -> dict[str, Any]:
        every = versions(self._session, current) if current.version > 1 else [current]
        file = next((each for each in every if each.version == version), current)
        shown = _facts(file) | {"versions": [_facts(each) for each in every]}
        if file.media_type.startswith("image/") and (large := self.pictures.large(file)):
            [(_, picture)] = self.pictures.thumbnails([file])
            images, why = [[large, picture.alt(file)]], ""
            if file is current:
                source, why = self.pictures.source(file, {each.path: each for each in self._files.values()})
                if source and (before := self.pictures.large(source)):
                    images.insert(0, [before, f"Before: {label(source.path)}"])
            return shown | {"images": images, "caption": why}
        return shown | {"html": files_preview(self._session, file, titled=False)._repr_mimebundle_()["text/html"]}

    def _show_thumbnails(self, files: Sequence[WorkspaceFile]) -> None:
        for file, picture in self.pictures.thumbnails(files):
            with self._lock:
                old = [*self.front.parts("thumb/")]
                removed = dict.fromkeys(old[: max(0, len(old) - THUMBNAILS_MAX)])
                thumb = [picture.thumb, picture.alt(file)]
                self.front.change({**removed, f"thumb/{label(file.path, KEY_CHARS)}": thumb})

    def _search(self, words: str) -> None:
        found = search_files(self._session, words, chat_of(self._session))
        hits = {
            label(result.path, KEY_CHARS): [
                [plain(part.text)[:400], part.match] for parts in result.snippets for part in parts
            ]
            for result in found.results
        }
        self.front.change({"found": {"words": words, "hits": hits}})

    def _get(self, file: WorkspaceFile) -> None:
        got = files_get(self._session, file.path)
        self._show_message(
            f"{got.path} already exists with the same content." if got.same else f"Downloaded to {got.path}."
        )

    def _restore(self, file: WorkspaceFile, version: int) -> None:
        said = files_restore(self._session, file.path, str(version))
        with self._lock:
            self._opened = self._opened and (self._opened[0], 0)
        self._list()
        self._show_message(said)

    def _put(self, key: str, path: Path) -> None:
        if not path.exists():
            return  # the upload was cancelled in the meantime
        try:
            said = str(files_put(self._session, [path], by_cell=False))
        finally:
            self._uploads.discard(key)
        self._list()
        self._show_message(said)

    def _show_message(self, said: str, *, wrong: bool = False) -> None:
        self.front.change({"said": {"html": worded(said, SAID_CHARS), "wrong": wrong}})


def _call(handle: Callable[[Message], object], content: Message, _: object) -> None:
    handle(content)


def _row(key: str, file: WorkspaceFile | StagedFile) -> list[Any]:
    """Return a file for the page: path, name, media type, size, time, version, author, and why it can't be read."""
    facts = _facts(file)
    if isinstance(file, StagedFile):
        return [key, "", file.media_type, file.size_bytes, None, 1, facts["by"]]
    name, why = label(file.name or "", 80), label(file.unreadable or "", 300)
    return [key, name, file.media_type, file.size_bytes, file.updated_at, file.version, facts["by"], why]


def _facts(file: WorkspaceFile | StagedFile) -> dict[str, Any]:
    if isinstance(file, StagedFile):
        return {"name": label(file.file_name, 80), "size": file.size_bytes, "by": "you"}
    name = label(file.name or file.path.rpartition("/")[2], 80)
    facts = {"name": name, "size": file.size_bytes, "version": file.version, "by": author(file)}
    return facts | {"changed": file.updated_at}
