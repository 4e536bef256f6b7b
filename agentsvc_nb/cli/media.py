"""`agentsvc media` and `agentsvc pages`: add media and pages for ad tools, without a service (docs/api/media.md)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import json_option, print_either

if TYPE_CHECKING:
    from agentsvc_nb.service.files.file_records import Content
    from agentsvc_nb.service.media.media_records import MediaRecord
    from agentsvc_nb.service.ports import Blobs
    from agentsvc_nb.wire.resources import MediaKind

_COPY_BYTES: Final = 1024 * 1024


def add_parsers(commands: Subparsers, data: Parser) -> None:
    media = commands.add_parser("media", help="manage the media of ads").add_subparsers(
        required=True, metavar="COMMAND"
    )
    add = media.add_parser(
        "add", parents=[data, json_option()], help="store a video, sound or picture, and print its id"
    )
    add.add_argument("file", type=Path, metavar="FILE", help="a video, sound or picture")
    add.add_argument("--url", help="the address from which the file comes")
    add.add_argument("--duration", type=_seconds, metavar="SECONDS", help="the length of the video or sound in seconds")
    add.add_argument(
        "--transcript", type=Path, metavar="FILE", help="a JSON file with the transcript, in the format of the API"
    )
    add.set_defaults(run=_add_media)


def add_page_parsers(commands: Subparsers, data: Parser) -> None:
    pages = commands.add_parser("pages", help="manage landing pages").add_subparsers(required=True, metavar="COMMAND")
    add = pages.add_parser(
        "add", parents=[data, json_option()], help="add a landing page and print its id; a known URL keeps its id"
    )
    add.add_argument("url", metavar="URL", help="the page's address, with https://")
    add.set_defaults(run=_add_page)


def _add_media(args: argparse.Namespace) -> int:
    record = _store_media(args)
    print_either(record.public(), record.id, args.json)
    length = "" if record.duration_s is None else f", {record.duration_s:.1f} s"
    transcript = "with a transcript" if record.transcript else "without a transcript"
    print(f"{record.kind} ({record.media_type}{length}), {transcript}", file=sys.stderr)
    return 0


def _add_page(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts.accounts import ACCOUNT
    from agentsvc_nb.service.media import media

    now = arguments.now()
    with arguments.database(args.data) as database:
        record = database.write_now(lambda tx: media.add_page(tx, ACCOUNT, args.url, now))
    print_either(record.public(), record.id, args.json)
    return 0


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1_000_000:
        raise ValueError
    return value


def _store_media(args: argparse.Namespace) -> MediaRecord:
    """Store the file with its duration, its transcript and its kind, which is recognised by its content.

    Raises `ApiError` if the file is not a video, sound or picture, or if the transcript or the URL is invalid.
    """
    import asyncio

    from agentsvc_nb.service.accounts.accounts import ACCOUNT
    from agentsvc_nb.service.config import load_config
    from agentsvc_nb.service.media import media
    from agentsvc_nb.service.media.media_records import MediaFacts
    from agentsvc_nb.service.store import create_blobs

    # Turn the cache off, because a running service would not count the files that this process adds to it.
    settings = load_config(arguments.existing_folder(args.data).path).settings.model_copy(
        update={"blobs_cache_bytes": 0}
    )
    file: Path = args.file
    media_type = _media_type(file)
    kind = cast("MediaKind", media_type.partition("/")[0])
    transcript = None if args.transcript is None else _transcript(args.transcript)
    facts = MediaFacts(kind, "upload", args.url, args.duration, transcript)
    with arguments.database(args.data) as database:
        content = asyncio.run(_store(create_blobs(settings), file, media_type))
        now = arguments.now()
        return database.write_now(lambda tx: media.add(tx, ACCOUNT, content, facts, now))


def _media_type(file: Path) -> str:
    from typing import get_args

    from agentsvc_nb.documents import media_types
    from agentsvc_nb.service.api_error import ApiError
    from agentsvc_nb.wire.resources import MediaKind

    with file.open("rb") as opened:
        media_type = media_types.media_type(opened.read(media_types.HEAD_BYTES)) or ""
    if media_type.partition("/")[0] not in get_args(MediaKind):
        raise ApiError(
            "unsupported_attachment", f"{file} does not contain a video, a sound or a picture, so it was not stored."
        )
    return media_type


async def _store(blobs: Blobs, file: Path, media_type: str) -> Content:
    from agentsvc_nb.documents import media_types
    from agentsvc_nb.service.files.file_records import Content

    blob = blobs.create()
    try:
        with file.open("rb") as opened:
            while piece := opened.read(_COPY_BYTES):
                blob.write(piece)
        await blob.commit()
    except BaseException:
        blob.discard()
        raise
    return Content(media_types.safe_name(file.name), media_type, blob.size_bytes, blob.sha256)


def _transcript(file: Path) -> dict[str, Any]:
    """Return the transcript in a JSON file, which must have the API's format: language, text and segments."""
    from pydantic import ValidationError

    from agentsvc_nb.documents.json_reading import read_object
    from agentsvc_nb.service.api_error import ApiError
    from agentsvc_nb.wire.limits import TRANSCRIPT_BYTES, TRANSCRIPT_SEGMENTS
    from agentsvc_nb.wire.resources import Transcript

    with file.open("rb") as opened:
        data = opened.read(TRANSCRIPT_BYTES + 1)
    try:
        if len(data) > TRANSCRIPT_BYTES:
            raise ValueError(f"a transcript must not exceed {TRANSCRIPT_BYTES:,} bytes.")
        found = Transcript.model_validate({**read_object(data), "media_id": ""})
        if not 0 < len(found.segments) <= TRANSCRIPT_SEGMENTS:
            raise ValueError(f"a transcript must have 1 to {TRANSCRIPT_SEGMENTS:,} `segments`.")
        if any(segment.start_s < 0 or segment.end_s < segment.start_s for segment in found.segments):
            raise ValueError("a segment must not end before it starts (`start_s`, `end_s`).")
    except ValidationError:
        why = 'expected {"language": "de", "segments": [{"start_s": 0, "end_s": 1.5, "text": "..."}]}.'
        raise ApiError("unsupported_attachment", f"{file} is not a transcript: {why}") from None
    except ValueError as error:
        raise ApiError("unsupported_attachment", f"{file} is not a transcript: {error}") from None
    text = found.text or " ".join(segment.text for segment in found.segments)
    segments = [segment.model_dump() for segment in found.segments]
    return {"language": found.language, "text": text, "segments": segments}
