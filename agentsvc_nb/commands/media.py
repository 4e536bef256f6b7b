"""`agentsvc media add`: a file becomes a blob and a row, beside a running service (docs/api/media.md)."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any, Final, cast, get_args

from agentsvc_nb.formats import media_types, recordings
from agentsvc_nb.formats import recordings as grammar
from agentsvc_nb.formats.media_types import HEAD_BYTES
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.records.media import Facts, MediaRecord
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.usecases import media
from agentsvc_nb.service.usecases.accounts import ACCOUNT
from agentsvc_nb.wire.limits import CAPTIONS_BYTES
from agentsvc_nb.wire.media import MediaKind

_ENDINGS: Final = (".srt", ".vtt")


def add(folder: DataFolder, file: Path, *, url: str | None = None, captions: Path | None = None) -> MediaRecord:
    """Store `file` with what is known of it: its kind by its content, its duration, and its captions as transcript.

    Raises `Fail` for what is no video, sound or picture, for captions that can't be read, and for a bad `url`.
    """
    media_type = _media_type(file)
    kind = cast(MediaKind, media_type.partition("/")[0])
    transcript = _transcript(captions or (None if kind == "image" else _beside(file)))
    length = recordings.seconds(file) or _end(transcript)
    facts = Facts(kind, "upload", url, None if kind == "image" else length, transcript)
    with open_beside(folder) as database:
        content = _stored(LocalBlobs(folder.blobs), file, media_type)
        now = time.time_ns() // 1_000_000
        return database.write_now(lambda tx: media.add(tx, ACCOUNT, content, facts, now))


def _media_type(file: Path) -> str:
    with file.open("rb") as opened:
        media_type = media_types.media_type(opened.read(HEAD_BYTES)) or ""
    if media_type.partition("/")[0] not in get_args(MediaKind):
        raise ApiError("unsupported_attachment", f"{file} does not hold a video, a sound or a picture.")
    return media_type


def _stored(blobs: LocalBlobs, file: Path, media_type: str) -> Content:
    blob = blobs.create()
    try:
        with file.open("rb") as opened:
            shutil.copyfileobj(opened, blob, 1024 * 1024)
        blob.keep()
    except BaseException:
        blob.discard()
        raise
    return Content(media_types.safe_name(file.name), media_type, blob.size_bytes, blob.sha256)


def _beside(file: Path) -> Path | None:
    """`ad.srt`, `ad.vtt` or `ad.mp4.vtt` beside `ad.mp4`."""
    names = [found for ending in _ENDINGS for found in (file.with_suffix(ending), file.with_name(file.name + ending))]
    return next((name for name in names if name.is_file()), None)


def _transcript(file: Path | None) -> dict[str, Any] | None:
    """The stored form: language, text and segments."""
    if file is None:
        return None
    with file.open("rb") as opened:
        data = opened.read(CAPTIONS_BYTES + 1)
    try:
        found = grammar.read(data)
    except ValueError as error:
        raise ApiError("unsupported_attachment", f"{file} can't be used: {error}.") from None
    segments = [segment.model_dump() for segment in found.segments]
    return {"language": found.language, "text": found.text, "segments": segments}


def _end(transcript: dict[str, Any] | None) -> float | None:
    """When the last one stops speaking."""
    return max(segment["end_s"] for segment in transcript["segments"]) if transcript else None
