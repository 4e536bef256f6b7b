"""The file browser widget (`%files browse`, `agentsvc_nb.Files()`): browse, search, preview, download, upload."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.files.folders import FolderEntry, Folders, above
from agentsvc_nb.notebook.files.workspace import chat_of, files_get, files_preview, listed, search_bundle, searched
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.design import Markup, Worker, button, frame, put, row, text
from agentsvc_nb.notebook.widgets.uploads import upload_button, uploaded
from agentsvc_nb.wire.files import FileSearch, SearchResult, WorkspaceFile
from agentsvc_nb.wire.text import escape, label, plain

ROWS: Final = 200
"""The most lines of the list at a time: a list of 100,000 lines would freeze the page."""
_HALF: Final = "1 1 260px"
STYLE: Final = """<style>
.asvc .asvc-list { flex-direction: column; align-items: stretch; margin: 2px 0; }
.asvc .asvc-list > label { width: auto; max-width: 100%; text-align: left; }
.asvc .asvc-list > select { width: 100%; min-height: 220px; box-sizing: border-box; }
.asvc .asvc-pane { max-height: 330px; overflow: auto; overflow-wrap: anywhere; padding: 4px;
    border: 1px solid var(--jp-border-color2, #8884); }
.asvc .asvc-pane img { max-width: 100%; }
</style>"""


class BrowserParts:
    """The widgets of the browser, laid out."""

    def __init__(self) -> None:
        self.status = text("", "muted", role="status")
        self.filter = _field("Names", "a part of the path", live=True)
        self.order = ipywidgets.Dropdown(
            options=[("by name", "name"), ("newest first", "newest"), ("largest first", "largest")],
            description="Sort",
            style={"description_width": "initial"},
            layout={"width": "auto"},
        )
        self.words = _field("Contents", 'words, "phrases", -without')
        self.search = button("Search", "Search the contents of the files, as %search does")
        self.list = ipywidgets.Select(options=[], rows=14, layout={"width": "auto"})
        self.list.add_class("asvc-list")
        self.earlier = button("Line up", "Choose the line above")
        self.later = button("Line down", "Choose the line below")
        self.open = button("Open", "Look into the folder that is chosen", look="primary")
        self.up = button("Up", "Go to the folder above")
        self.before = button(f"Previous {ROWS}", "The lines before these")
        self.after = button(f"Next {ROWS}", "The lines after these")
        self.get = button("Get", "Download it into the notebook's folder, as %files get does")
        self.attach = button("Attach", "Give the text that names it in a question")
        self.upload = upload_button("Put files of yours into the chat; %files put takes larger ones")
        self.refresh = button("Refresh", "List the files anew")
        self.copied = _field("To copy", "")
        self.copied.layout.display = "none"
        self.copied.layout.flex = "0 0 auto"
        self.pane = Markup()
        self.paging = row([self.before, self.after])
        self.box = self._laid_out()

    def _laid_out(self) -> ipywidgets.VBox:
        narrowing = row([self.filter, self.order, self.words, self.search])
        acting = row([self.get, self.attach, self.upload, self.refresh])
        moving = row([self.open, self.up, self.earlier, self.later])
        left = ipywidgets.VBox([self.list, moving, self.paging], layout={"flex": _HALF, "min_width": "0"})
        right = ipywidgets.VBox([self.pane], layout={"flex": _HALF, "min_width": "0"})
        halves = row([left, right])
        halves.layout.align_items = "flex-start"
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        return frame([style, narrowing, halves, acting, self.copied, self.status])


def _field(name: str, hint: str, *, live: bool = False) -> ipywidgets.Text:
    """A text field. With `live`, changes are sent with each key, else on Enter or when the field loses focus."""
    return ipywidgets.Text(
        description=name,
        placeholder=hint,
        continuous_update=live,
        style={"description_width": "initial"},
        layout={"width": "auto", "flex": "1 1 200px"},
    )


NO_CHAT = "This notebook has no chat yet, so no files. Ask something, then press Refresh."


class Browser:
    """The behaviour of the file browser of one chat.

    A lock guards its state: clicks are handled in any thread, and requests run in the worker's thread.

    Args:
        session: the notebook's session, or one made by `Session.for_chat` for another chat.
        files: the chat's current files.
        own: whether the chat is the notebook's own.
    """

    def __init__(self, session: Session, files: Sequence[WorkspaceFile], *, own: bool = True) -> None:
        self.parts = BrowserParts()
        self._session = session
        self._own = own
        self._lock = threading.RLock()
        self._worker = Worker(self._wrong)
        self._folders = Folders(files)
        self._folder = ""
        self._from = 0
        self._found: FileSearch | None = None
        self._entries: list[FolderEntry] = []
        self._listen()
        self._show()
        if not session.known_chat(session.address()):
            self._say(NO_CHAT)

    # -- clicks and changes, handled in any thread ----------------------------------------------------------------

    def _listen(self) -> None:
        parts = self.parts
        pressed: Mapping[Any, Callable[[], None]] = {
            parts.open: self._open,
            parts.up: lambda: self._go(above(self._folder)),
            parts.earlier: lambda: self._move(-1),
            parts.later: lambda: self._move(1),
            parts.before: lambda: self._turn(-ROWS),
            parts.after: lambda: self._turn(ROWS),
            parts.search: self._search,
            parts.get: self._get,
            parts.attach: self._attach,
            parts.refresh: lambda: self._worker.do("list", self._relist),
        }
        for each, act in pressed.items():
            each.on_click(self._locked(act))
        parts.filter.observe(self._locked(lambda: self._go(self._folder)), "value")
        parts.order.observe(self._locked(lambda: self._go(self._folder)), "value")
        parts.words.observe(self._locked(self._search), "value")
        parts.list.observe(self._locked(self._chosen), "index")
        parts.upload.observe(self._locked(self._upload), "value")

    def _locked(self, act: Callable[[], None]) -> Callable[[Any], None]:
        def acted(_: Any) -> None:
            with self._lock:
                act()

        return acted

    def _go(self, folder: str) -> None:
        """Show a folder from its beginning."""
        self._folder = folder
        self._from = 0
        self._found = None
        self._show()

    def _turn(self, lines: int) -> None:
        if 0 <= self._from + lines < len(self._entries):
            self._from += lines
            self._show()
        else:
            self._say("These are the last lines." if lines > 0 else "These are the first lines.")

    def _move(self, by: int) -> None:
        """Choose the line above or below, for JupyterLab, which takes the arrow keys for its own cells."""
        chosen, count = self.parts.list.index, len(self.parts.list.options)
        at = (0 if by > 0 else count - 1) if chosen is None else chosen + by
        if 0 <= at < count:
            self.parts.list.index = at
        else:
            self._say("There is no line there.")

    def _open(self) -> None:
        entry = self._entry()
        if entry is None or entry.file is not None:
            self._say("Choose a folder in the list, then open it.")
            return
        self._go(entry.path)
        self.parts.list.focus()

    def _chosen(self) -> None:
        entry = self._entry()
        if entry is None:
            return
        if (file := entry.file) is None:
            self._pane(f"Folder {entry.path}", f"<p>{escape(entry.said)}</p>")
            return
        self._say(f"Reading {label(file.path)} …")
        self._worker.do("preview", lambda: self._preview(file))

    def _search(self) -> None:
        words = self.parts.words.value.strip()
        if words:
            self._say(f"Searching for {label(words)} …")
            self._worker.do("search", lambda: self._searched(words))
        elif self._found is not None:
            self._go(self._folder)

    def _get(self) -> None:
        if file := self._file():
            self._say(f"Getting {label(file.path)} …")
            self._worker.do(f"get {file.path}", lambda: self._got(file))

    def _attach(self) -> None:
        if file := self._file():
            if self._own:
                self._copy(plain(file.path), "It is in this notebook's chat: name it in your question.")
            else:
                self._worker.do(f"get {file.path}", lambda: self._attached(file))

    def _upload(self) -> None:
        files = self.parts.upload.value
        self.parts.upload.value = ()
        if files:
            self._say("Uploading …")
            self._worker.do("upload", lambda: self._uploaded(files))

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
            self._go(self._folder)

    def _preview(self, file: WorkspaceFile) -> None:
        shown = files_preview(self._session, file)._repr_mimebundle_()["text/html"]
        with self._lock:
            if (now := self._entry()) is not None and now.path == file.path:
                self._pane(f"Preview of {file.path}", shown)
                self._say(f"{label(file.path)}, {size(file.size_bytes)}")

    def _searched(self, words: str) -> None:
        found = searched(self._session, words, chat_of(self._session))
        with self._lock:
            if words == self.parts.words.value.strip():
                self._found = found
                self._from = 0
                self._show("Passages", search_bundle(found, words)["text/html"])

    def _got(self, file: WorkspaceFile) -> Path:
        got = files_get(self._session, file.path)
        self._say(f"{got.path} is there already, with the same content." if got.same else f"It is in {got.path}.")
        return got.path

    def _attached(self, file: WorkspaceFile) -> None:
        path = self._got(file)
        self._copy(f"--file {shlex.quote(str(path))}", "It was downloaded: put this behind %%ask.")

    def _uploaded(self, files: Sequence[Mapping[str, Any]]) -> None:
        sent = uploaded(self._session, files)
        self._relist()
        self._say(sent)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _show(self, name: str = "Preview", pane: str = "<p>Choose a line to see what it is.</p>") -> None:
        """Show the current page of the folder's entries, or of the search results, and this pane beside it."""
        parts, words = self.parts, self.parts.filter.value
        if self._found is None:
            self._entries = self._folders.entries(self._folder, words, parts.order.value)
            where = f"below {label(self._folder)}" if self._folder else "in this chat"
        else:
            self._entries = [_found_entry(result) for result in self._found.results]
            where = "found by their contents"
        shown = self._entries[self._from : self._from + ROWS]
        with parts.list.hold_sync():
            parts.list.description = f"Files {where}"
            parts.list.index = None
            parts.list.options = [(entry.said, number) for number, entry in enumerate(shown)]
        parts.paging.layout.display = "" if len(self._entries) > ROWS else "none"
        self._pane(name, pane)
        self._say(self._count(len(shown)))

    def _count(self, shown: int) -> str:
        whole = len(self._entries)
        if whole > shown:
            return (
                f"{self._from + 1:,} to {self._from + shown:,} of {whole:,} lines; type a part of a name to see fewer."
            )
        if self._found is not None:
            return f"{whole} file{'s' * (whole != 1)} found."
        if not whole and self.parts.filter.value:
            return "No file below here has these words in its path."
        return f"{whole:,} line{'s' * (whole != 1)}; {len(self._folders):,} files in all, {size(self._folders.bytes)}."

    def _entry(self) -> FolderEntry | None:
        index = self.parts.list.index
        at = None if index is None else self._from + index
        return self._entries[at] if at is not None and at < len(self._entries) else None

    def _file(self) -> WorkspaceFile | None:
        entry = self._entry()
        if entry is None or entry.file is None:
            self._say("Choose a file in the list first.")
            return None
        return entry.file

    def _pane(self, name: str, html: str) -> None:
        """Set the pane. `html` must be safe: text of others in it is escaped."""
        inside = f'<div class="asvc-pane" role="region" tabindex="0" aria-label="{escape(name)}">{html}</div>'
        self.parts.pane.value = inside

    def _copy(self, said: str, why: str) -> None:
        self.parts.copied.value = said
        self.parts.copied.layout.display = ""
        self._say(why)

    def _say(self, said: str) -> None:
        put(self.parts.status, said, "muted", role="status")

    def _wrong(self, said: str) -> None:
        put(self.parts.status, said, "wrong", role="status")


def _found_entry(result: SearchResult) -> FolderEntry:
    file = WorkspaceFile.model_validate(result.model_dump(exclude={"object", "match", "snippets"}))
    return FolderEntry(file.path, file.path, file)
