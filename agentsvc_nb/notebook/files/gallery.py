"""The pictures of a chat: thumbnails, large views, the original of an edited picture, and a static gallery."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from agentsvc_nb.documents.lru_cache import LruCache
from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import download, list_files
from agentsvc_nb.notebook.previews.decoding import CannotShow, Decoder, data_uri
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import escape, label, worded

Read = Callable[[WorkspaceFile], bytes]
_LARGE_CHARS: Final = 400_000
"""The maximum length of a large view in base64 characters. It corresponds to 300 kB."""
_CACHED_CHARS: Final = 10_000_000
_WORDS: Final = ("headline", "text", "cta", "brand")
_WORDS_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Picture:
    """The thumbnail and the metadata of a picture file.

    Attributes:
        thumb: the thumbnail as a data URI; empty if the picture can't be shown.
        words: the text that is drawn on the picture.
        source: the path of the original from which this picture was edited; empty if it was not edited.
        source_id: the SHA-256 of the original.
    """

    thumb: str = ""
    words: str = ""
    source: str = ""
    source_id: str = ""

    def alt(self, file: WorkspaceFile) -> str:
        """Return the text drawn on the picture, or otherwise the file's name, as alternative text."""
        return self.words or label(file.name or file.file_name or file.path)


class Pictures:
    """Decodes pictures and caches their thumbnails. `read` returns the bytes of a file or raises `AskError`."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._cache = LruCache[str, Picture](_CACHED_CHARS, lambda picture: len(picture.thumb))

    def thumbnails(self, files: Iterable[WorkspaceFile]) -> Iterator[tuple[WorkspaceFile, Picture]]:
        """Yield each file with its picture as soon as it is decoded. Raises `AskError` when a request fails."""
        with Decoder() as decoder:
            for file in files:
                if (picture := self._cache.get(file.path + file.id)) is None:
                    found = self._decode(decoder, "small", file)
                    picture = self._cache.put(file.path + file.id, _picture(found))
                yield file, picture

    def large(self, file: WorkspaceFile) -> str:
        """Return a picture as a data URI, at most 1,200 pixels wide and high, or an empty text if it can't be shown.

        Raises `AskError` when the request fails.
        """
        with Decoder() as decoder:
            return _uri(self._decode(decoder, "large", file), _LARGE_CHARS)

    def source(self, file: WorkspaceFile, among: Mapping[str, WorkspaceFile]) -> tuple[WorkspaceFile | None, str]:
        """Return the original from which the picture in `file` was edited, and an empty text.

        The original is looked up in `among` (files by path). If it is missing there or was changed, return None and a
        phrase that says so. If the picture was not edited, return None and an empty text.

        Raises `AskError` when the request fails.
        """
        [(_, picture)] = self.thumbnails([file])
        found = among.get(picture.source)
        if not picture.source or (found and found.id == picture.source_id):
            return found, ""
        change = "which was changed later" if found else "which no longer exists"
        return None, f"made from {label(picture.source)}, {change}"

    def _decode(self, decoder: Decoder, scaling: str, file: WorkspaceFile) -> dict[str, Any]:
        if not 0 < file.size_bytes <= file_table.SOURCE_BYTES:
            return {}
        try:
            data = self._read(file)
        except AskError as failed:
            if failed.error is not None and failed.error.code == "file_not_found":
                return {}
            raise
        with TemporaryDirectory(prefix="agentsvc-picture-") as folder, contextlib.suppress(CannotShow):
            (path := Path(folder) / "picture").write_bytes(data)
            return decoder.decode(scaling, path)
        return {}  # one damaged picture must not hide the other pictures


def _picture(found: Mapping[str, Any]) -> Picture:
    """Return the thumbnail and the valid metadata that our tools wrote into the picture's text chunks."""
    texts = found.get("texts")
    design, source = (_parse_text(texts, keyword) for keyword in (DESIGN, EDITED_FROM))
    words = design.get("words")
    said = [words.get(name) for name in _WORDS] if isinstance(words, dict) else []
    return Picture(
        _uri(found),
        label(" · ".join(text for text in said if isinstance(text, str) and text), _WORDS_CHARS),
        _text(source.get("path")),
        _text(source.get("sha256")),
    )


def _parse_text(texts: object, keyword: str) -> dict[str, Any]:
    try:
        found = read_json(texts[keyword]) if isinstance(texts, dict) and keyword in texts else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 1_000 else ""


def _uri(found: Mapping[str, Any], limit: int = 100_000) -> str:
    with contextlib.suppress(CannotShow):
        return data_uri(found.get("picture"), limit)
    return ""


def pictures_among(files: Iterable[WorkspaceFile], pattern: str = "*") -> list[WorkspaceFile]:
    """Return the pictures whose path or name matches the glob, newest first. Raises `AskError` if there are none."""
    found = [file for file in files if file.media_type.startswith("image/")]
    fitting = [file for file in found if any(fnmatch.fnmatch(name, pattern) for name in (file.path, file.file_name))]
    if not fitting:
        of_these = "yet" if pattern == "*" else f"that match {label(pattern)}"
        raise AskError(f"This chat has no pictures {of_these}.", "List its files with `%files`.")
    return sorted(fitting, key=lambda file: file.updated_at or "", reverse=True)


def static_gallery(session: Session, pattern: str = "*") -> Bundle:
    """Return a static gallery of matching pictures, newest first. Raises `AskError` if none match or requests fail."""
    files = list_files(session)
    found = pictures_among(files, pattern)
    return gallery_bundle(Pictures(lambda file: download(session, file)), found, {file.path: file for file in files})


def gallery_bundle(pictures: Pictures, files: Iterable[WorkspaceFile], among: Mapping[str, WorkspaceFile]) -> Bundle:
    """Return an output with up to 12 thumbnails within the size limit of an output, and the names of all pictures."""
    files = list(files)
    figures, left = list[str](), file_table.OUTPUT_BYTES
    for file, picture in pictures.thumbnails(files[: file_table.PER_OUTPUT]):
        if not picture.thumb:
            continue
        image, caption = _image(picture, picture.alt(file)), f"{label(file.path)}, {size(file.size_bytes)}"
        source, why = pictures.source(file, among)
        if source:
            [(_, before)] = pictures.thumbnails([source])
            image = f"{_image(before, f'Before: {before.alt(source)}')} → {image}" if before.thumb else image
            why = f"before: {label(source.path)}"
        figure = file_table.figure(image, ", ".join(filter(None, [caption, why])))
        if len(figure) <= left:
            left -= len(figure)
            figures.append(figure)
    lines = [f"  {label(file.path)}  ({size(file.size_bytes)})" for file in files]
    rest = len(lines) - len(figures)
    more = f"… {rest} not shown. Download a picture with `%files get PATH`." if rest else ""
    return {
        "text/plain": "\n".join([f"{len(lines)} picture{'s' * (len(lines) != 1)}", *lines, more]).rstrip(),
        "text/html": f'<div>{"".join(figures)}</div><div style="{MUTED}">{worded(more)}</div>',
    }


def _image(picture: Picture, alt: str) -> str:
    return f'<img src="{picture.thumb}" alt="{escape(alt, 300)}">'
