"""The file browser (`%files browse`, `agentsvc_nb.Files()`): browse, sort, search, preview, download, upload.

Its page is `front/files.js`. The kernel holds the list, and the page some rows of it at a time.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.files.folders import BY, FolderEntry, Folders, Sort, above, in_order, position
from agentsvc_nb.notebook.files.workspace import (
    chat_of,
    files_get,
    files_preview,
    files_put,
    listed,
    search_bundle,
    searched,
)
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser_rows import EMPTY, NO_CHAT, ROWS, counted, found_entry, row
from agentsvc_nb.notebook.widgets.design import SAID_CHARS, Worker
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.notebook.widgets.uploads import Uploads
from agentsvc_nb.wire.files import FileSearch, WorkspaceFile
from agentsvc_nb.wire.text import label, plain, worded

Message = Mapping[str, Any]
_DOWN_FIRST: Final = ("size", "when")
"""Columns whose largest is looked for first."""


class Browser:
    """The behaviour of the file browser of one chat.

    A lock guards its state: messages are handled in any thread, and requests run in the worker's thread.

    Args:
        session: the notebook's session, or one made by `Session.for_chat` for another chat.
        files: the chat's current files.
        own: whether the chat is the notebook's own.
    """

    def __init__(self, session: Session, files: Sequence[WorkspaceFile], *, own: bool = True) -> None:
        self.front = Front("preview", "uploads", "files")
        self._session = session
        self._own = own
        self._lock = threading.RLock()
        self._worker = Worker(lambda said: self._say(said, wrong=True))
        self._uploads = Uploads(self.front, self._come, lambda said: self._say(said, wrong=True))
        self._folders = Folders(files)
        self._folder = ""
        self._words = ""
        self._wanted = ""
        """The words that contents are searched for."""
        self._awaited = ""
        """The path of the file that is read to be shown."""
        self._sort = Sort()
        self._from = 0
        self._found: FileSearch | None = None
        self._entries: list[FolderEntry] = []
        self._list = 0
        """The number of this list of entries: what a page says of another one is not for this."""
        self._listen()
        self._go("")
        if not session.known_chat(session.address()):
            self._say(NO_CHAT)

    # -- messages of the page, handled in any thread --------------------------------------------------------------

    def _listen(self) -> None:
        heard: dict[str, Callable[[Message], object]] = {
            "open": self._open,
            "get": self._get,
            "attach": self._attach,
            "turn": lambda content: self._turn(content.get("at")) if self._is_now(content) else None,
            "type": self._type,
            "up": lambda _: self._up(),
            "go": lambda content: self._climb(content.get("depth")),
            "sort": lambda content: self._order(content.get("by")),
            "narrow": lambda content: self._narrow(str(content.get("words", ""))),
            "find": lambda content: self._find(str(content.get("words", "")).strip()),
            "close": lambda _: self._close(),
            "refresh": lambda _: self._worker.do("list", self._relist),
        }
        for name, act in heard.items():
            self.front.on(name, self._locked(act))

    def _locked(self, act: Callable[[Message], object]) -> Callable[[Message, object], None]:
        def acted(content: Message, _: object) -> None:
            with self._lock:
                act(content)

        return acted

    def _is_now(self, content: Message) -> bool:
        return content.get("list") == self._list

    def _go(self, folder: str, chosen: str = "") -> None:
        """Show a folder, with the entry at the path `chosen`, or the first, chosen."""
        self._folder = folder
        self._wanted = self._awaited = ""  # what comes of them later would move who went on
        if self._found is not None:
            self._found = None
            self.front.change({"find": None, "pane": None})
        self._listed()
        self._turn(max(0, position(self._entries, chosen)) if chosen else 0)

    def _again(self) -> None:
        """Show the folder, or what was found, as it is now; the page chooses what was chosen, if it is there."""
        self._listed()
        self._from = 0
        self._show(None)

    def _listed(self) -> None:
        if self._found is None:
            self._entries = self._folders.entries(self._folder, self._words, self._sort)
        else:
            self._entries = in_order(self._entries, self._sort)
        self._list += 1

    def _turn(self, at: object) -> None:
        """Show the rows that this one is among, and choose it."""
        if isinstance(at, int) and (0 <= at < len(self._entries) or at == 0):
            self._from = at - at % ROWS
            self._show(at)

    def _up(self) -> None:
        if self._folder:
            self._go(above(self._folder), self._folder)

    def _climb(self, depth: object) -> None:
        steps = self._folder.split("/")[:-1]
        if isinstance(depth, int) and 0 <= depth <= len(steps):
            left = "".join(f"{step}/" for step in steps[: depth + 1])
            self._go("".join(f"{step}/" for step in steps[:depth]), left)

    def _order(self, wanted: object) -> None:
        """Sort by this column; if the list is, the other way round."""
        if by := next((each for each in BY if each == wanted), None):
            down = not self._sort.descending if self._sort.by == by else by in _DOWN_FIRST
            self._sort = Sort(by, down)
            self._again()

    def _narrow(self, words: str) -> None:
        self._words = words
        self.front.change({"narrow": words or None})
        self._go(self._folder)

    def _type(self, content: Message) -> None:
        at, words = content.get("at"), str(content.get("words"))
        if self._is_now(content) and isinstance(at, int):
            start = at + (len(words) == 1)
            if (found := position(self._entries, beginning=words, start=start)) >= 0:
                self._turn(found)

    def _open(self, content: Message) -> None:
        if (entry := self._entry(content)) is None:
            return
        if (file := entry.file) is None:
            self._go(entry.path)
        else:
            self._awaited = file.path
            self._say(f"Reading {label(file.path)} …")
            self._worker.do("preview", lambda: self._preview(file))

    def _find(self, words: str) -> None:
        self._wanted = words
        self.front.change({"find": words or None})
        if words:
            self._say(f"Searching for {label(words)} …")
            self._worker.do("search", lambda: self._searched(words))
        elif self._found is not None:
            self._go(self._folder)

    def _close(self) -> None:
        self._awaited = ""
        self.front.change({"pane": None})

    def _get(self, content: Message) -> None:
        if file := self._file(content):
            self._say(f"Getting {label(file.path)} …")
            self._worker.do(f"get {file.path}", lambda: self._got(file))

    def _attach(self, content: Message) -> None:
        if file := self._file(content):
            if self._own:
                self._copy(plain(file.path), "It is in this notebook's chat: name it in your question.")
            else:
                self._worker.do(f"get {file.path}", lambda: self._attached(file))

    def _come(self, key: str, path: Path) -> None:
        self._worker.do(f"put {key}", lambda: self._put(key, path))

    # -- requests, in the worker's thread -------------------------------------------------------------------------

    def _relist(self) -> None:
        if not self._session.known_chat(self._session.address()):
            self._say(NO_CHAT)
            return
        files = listed(self._session)
        with self._lock:
            self._folders = Folders(files)
            # The folder may be gone: folders exist only by the files in them.
            while self._folder and not self._folders.entries(self._folder):
                self._folder = above(self._folder)
            self._again()

    def _preview(self, file: WorkspaceFile) -> None:
        shown = files_preview(self._session, file)._repr_mimebundle_()["text/html"]
        with self._lock:
            if file.path == self._awaited:
                self.front.change({"pane": {"name": label(file.path), "html": shown}})
                self._say(f"{label(file.path)}, {size(file.size_bytes)}: its beginning is shown.")

    def _searched(self, words: str) -> None:
        found = searched(self._session, words, chat_of(self._session))
        with self._lock:
            if words == self._wanted:
                self._found = found
                self._entries = [found_entry(result) for result in found.results]
                self._list += 1
                shown = search_bundle(found, words)["text/html"]
                self.front.change({"pane": {"name": f"Passages with {label(words, 80)}", "html": shown}})
                self._turn(0)

    def _got(self, file: WorkspaceFile) -> Path:
        got = files_get(self._session, file.path)
        self._say(f"{got.path} is there already, with the same content." if got.same else f"It is in {got.path}.")
        return got.path

    def _attached(self, file: WorkspaceFile) -> None:
        path = self._got(file)
        self._copy(f"--file {shlex.quote(str(path))}", "It was downloaded: put this behind %%ask.")

    def _put(self, key: str, path: Path) -> None:
        if not path.exists():
            return  # cancelled
        try:
            said = str(files_put(self._session, [path], by_cell=False))
        finally:
            self._uploads.done(key)
        self._relist()
        self._say(said)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _show(self, at: int | None) -> None:
        """Show the rows of this page, and choose one of them."""
        shown = self._entries[self._from : self._from + ROWS]
        whole = len(self._entries)
        where = f"below {label(self._folder)}" if self._folder else "of this chat"
        rows = {
            "list": self._list,
            "from": self._from,
            "total": whole,
            "at": at,
            "rows": [row(entry) for entry in shown],
            "label": f"Files {where}" if self._found is None else "Files found by their contents",
            "empty": self._empty(),
        }
        steps = [label(step, 80) for step in self._folder.split("/")[:-1]]
        self.front.change({"rows": rows, "folder": steps, "sort": [self._sort.by, self._sort.descending]})
        files = f"{len(self._folders):,} files in all, {size(self._folders.bytes)}"
        self._say(counted(self._from, len(shown), whole, files if self._found is None else ""))

    def _empty(self) -> str:
        if self._found is not None:
            return "Nothing found; new files are found by their words a minute later."
        return "No file below here has these words in its path." if self._words else EMPTY

    def _entry(self, content: Message) -> FolderEntry | None:
        """The entry that a page names, if it is one of this list."""
        at = content.get("at")
        if self._is_now(content) and isinstance(at, int) and 0 <= at < len(self._entries):
            return self._entries[at]
        return None

    def _file(self, content: Message) -> WorkspaceFile | None:
        entry = self._entry(content)
        if entry is None or entry.file is None:
            self._say("Choose a file in the list first.")
            return None
        return entry.file

    def _copy(self, said: str, why: str) -> None:
        self.front.change({"tocopy": None})
        self.front.change({"tocopy": said})
        self._say(why)

    def _say(self, said: str, *, wrong: bool = False) -> None:
        self.front.change({"said": {"html": worded(said, SAID_CHARS), "wrong": wrong}})
