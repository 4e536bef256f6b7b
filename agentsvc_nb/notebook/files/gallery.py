"""The gallery of the chat's pictures: thumbnails side by side, an edited picture beside its original."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.display.results import Preview
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import content, listed
from agentsvc_nb.notebook.previews.bundle import Thumbnails
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import escape, label, worded

_WORDS: Final = ("headline", "subline", "action", "brand")
_WORDS_CHARS: Final = 300
_PATH_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class PictureText:
    """The metadata stored in a picture.

    `words` is the text drawn on it; `before` is the path and `before_id` the SHA-256 of the picture it was edited from.
    """

    words: str = ""
    before: str = ""
    before_id: str = ""


def inscription(texts: Mapping[str, Any]) -> PictureText:
    """Read our metadata from a picture's text chunks, given by keyword. Malformed ones are ignored."""
    design, before = _parsed(texts.get(DESIGN)), _parsed(texts.get(EDITED_FROM))
    words = design.get("words")
    said = [words.get(name) for name in _WORDS] if isinstance(words, dict) else []
    return PictureText(
        label(" · ".join(text for text in said if isinstance(text, str) and text), _WORDS_CHARS),
        _text(before.get("path")),
        _text(before.get("sha256")),
    )


def _parsed(text: object) -> dict[str, Any]:
    try:
        found = read_json(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _PATH_CHARS else ""


_SEEN_MAX: Final = 240
"""The most pictures whose facts are cached."""

Read = Callable[[WorkspaceFile], bytes]


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """The cached facts of a picture: its thumbnail as a data URI, if it can be shown, and its metadata."""

    thumb: str | None = None
    said: PictureText = field(default_factory=PictureText)


class Pictures:
    """The pictures among the files of a chat, newest first, with cached thumbnails.

    Args:
        files: all files of the chat.
        read: returns the bytes of a file, or raises `AskError`.
        pattern: a glob for the path or file name.

    Raises:
        AskError: no picture matches.
    """

    def __init__(self, files: Iterable[WorkspaceFile], read: Read, pattern: str = "*") -> None:
        self._by_path = {file.path: file for file in files}
        self._read = read
        found = [file for file in self._by_path.values() if file.media_type.startswith("image/")]
        fitting = [file for file in found if _fits(file, pattern)]
        self.files = sorted(fitting, key=lambda file: file.updated_at or "", reverse=True)
        if not self.files:
            of_these = "yet" if pattern == "*" else f"that fit {label(pattern)}"
            raise AskError(f"This chat has no pictures {of_these}.", "`%files` lists its files.")
        self._seen: dict[str, PictureFacts] = {}
        self._looking: Thumbnails | None = None

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Decode all pictures of a `with` block in the same child processes; outside of it, each starts new ones."""
        with Thumbnails() as self._looking:
            try:
                yield
            finally:
                self._looking = None

    def known(self, file: WorkspaceFile) -> PictureFacts | None:
        """Return the cached facts of a picture, or None; sends no request."""
        return self._seen.get(file.path + file.id)

    def seen(self, file: WorkspaceFile) -> PictureFacts:
        """Return the facts of a picture, reading it if they are not cached; empty facts if the file is gone.

        Raises `AskError` when the service fails.
        """
        if (known := self.known(file)) is not None:
            return known
        if len(self._seen) >= _SEEN_MAX:  # all of them: what a page of the gallery shows is soon read again
            self._seen.clear()
        data = self._bytes(file)
        found = PictureFacts()
        if data:
            with self._look() as looking:
                uri, texts = looking.small(data)
            found = PictureFacts(uri, inscription(texts))
        self._seen[file.path + file.id] = found
        return found

    def large(self, file: WorkspaceFile) -> str | None:
        """Return the picture at the size of a page, as a data URI; None if it can't be shown.

        Raises `AskError` when the service fails.
        """
        if not (data := self._bytes(file)):
            return None
        with self._look() as looking:
            return looking.large(data)

    def before(self, file: WorkspaceFile) -> tuple[WorkspaceFile | None, str]:
        """Return the picture that this one was edited from, and an empty text.

        If it was edited from none, or that one is gone or has changed, returns None and the reason (empty for none).
        """
        said = self.seen(file).said
        if not said.before:
            return None, ""
        found = self._by_path.get(said.before)
        if found is None:
            return None, f"made from {label(said.before)}, which is no longer there"
        if found.id != said.before_id:
            return None, f"made from {label(said.before)}, which has changed since"
        return found, ""

    def alt(self, file: WorkspaceFile) -> str:
        """Return the alternative text of a picture: the words on it if known, else its name."""
        seen = self.known(file)
        return (seen and seen.said.words) or label(file.name or file.file_name or file.path)

    def _look(self) -> AbstractContextManager[Thumbnails]:
        return Thumbnails() if self._looking is None else nullcontext(self._looking)

    def _bytes(self, file: WorkspaceFile) -> bytes:
        if not 0 < file.size_bytes <= file_table.SOURCE_BYTES:
            return b""
        try:
            return self._read(file)
        except AskError as failed:
            if failed.error is not None and failed.error.code == "file_not_found":
                return b""
            raise


def _fits(file: WorkspaceFile, pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in (file.path, file.file_name))


def found_pictures(session: Session, pattern: str = "*") -> Pictures:
    """Return the pictures of this notebook's chat whose path or name fits the glob.

    Raises `AskError` when there are none, or the service fails.
    """
    return Pictures(listed(session), lambda file: content(session, file), pattern)


def static_gallery(session: Session, pattern: str = "*") -> Preview:
    """Return a static gallery of at most 12 pictures of the chat that fit the glob, newest first.

    Raises `AskError` when there are none, or the service fails.
    """
    return Preview(gallery_bundle(found_pictures(session, pattern)))


def gallery_bundle(found: Pictures) -> Bundle:
    """Thumbnails with their paths, within the size limit of an output; further pictures by name only."""
    figures, left = list[str](), file_table.OUTPUT_BYTES
    with found.looking():
        for file in found.files[: file_table.PER_OUTPUT]:
            figure = _figure(found, file)
            if figure and len(figure) <= left:
                left -= len(figure)
                figures.append(figure)
    lines = [f"  {label(file.path)}  ({size(file.size_bytes)})" for file in found.files]
    rest = len(lines) - len(figures)
    more = [f"… {rest} not shown; `%files get PATH` fetches one"] if rest else []
    tail = "".join(f'<div style="{MUTED}">{worded(line)}</div>' for line in more)
    return {
        "text/plain": "\n".join([f"{len(lines)} picture{'s' * (len(lines) != 1)}", *lines, *more]),
        "text/html": f"<div>{''.join(figures)}</div>{tail}",
    }


def _figure(found: Pictures, file: WorkspaceFile) -> str:
    if (thumb := found.seen(file).thumb) is None:
        return ""
    before, why = found.before(file)
    old = found.seen(before).thumb if before else None
    shown = f'<img src="{thumb}" alt="{escape(found.alt(file), 300)}">'
    said = caption(file, why)
    if before and old:
        shown = f'<img src="{old}" alt="{escape(f"Before: {found.alt(before)}", 300)}"> → {shown}'
        said = caption(file, f"before: {label(before.path)}")
    return file_table.figure(shown, said)


def caption(file: WorkspaceFile, more: str = "") -> str:
    """Return the caption of a picture: its path, its size, and `more`."""
    return ", ".join(part for part in (label(file.path), size(file.size_bytes), more) if part)
