"""Thumbnails: small, few, from real pictures only."""

from __future__ import annotations

import base64
import io
import random

import pytest
from PIL import Image

from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.file_table import files_bundle, thumbnail
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import offences


def _picture(kind: str = "PNG", edge: int = 600, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    noise = random.Random(7).randbytes(edge * edge * len(mode))
    Image.frombytes(mode, (edge, edge), noise).save(out, kind)
    return out.getvalue()


def _opened(uri: str) -> Image.Image:
    head, _, data = uri.partition(",")
    assert head == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize(
    ("kind", "mode"), [("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "L"), ("JPEG", "RGB"), ("GIF", "L")]
)
def test_a_picture_becomes_a_webp_of_at_most_256_pixels(kind: str, mode: str) -> None:
    uri = thumbnail(_picture(kind, mode=mode))
    assert uri is not None
    with _opened(uri) as small:
        assert small.size == (256, 256)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"\x89PNG\r\n\x1a\n" + b"not a picture" * 20,
        b"RIFF\x00\x00\x00\x00WAVEfmt ",
        b"GIF89a<script>",
        _picture()[:300],
    ],
)
def test_what_is_no_picture_has_no_thumbnail(data: bytes) -> None:
    assert thumbnail(data) is None


def test_a_decompression_bomb_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    Image.new("1", (7000, 7000)).save(out, "PNG")
    assert len(out.getvalue()) < 10_000
    assert thumbnail(out.getvalue()) is None


def _file(number: int, media_type: str = "image/png") -> WorkspaceFile:
    return WorkspaceFile(id="0" * 64, path=f"p{number}.png", media_type=media_type, size_bytes=1000)


def test_an_output_has_at_most_12_pictures_and_300_kb_of_them() -> None:
    small, large = _picture(edge=40), _picture(edge=1200)
    many = files_bundle([_file(n) for n in range(30)], lambda _: small)["text/html"]
    assert many.count("<img") == file_table.PER_OUTPUT
    heavy = files_bundle([_file(n) for n in range(30)], lambda _: large)["text/html"]
    assert heavy.count("<img") > 0
    assert len(heavy) < file_table.OUTPUT_BYTES + 20_000
    assert offences(heavy) == []


def test_pictures_stand_side_by_side_and_other_files_are_chips() -> None:
    small = _picture(edge=40)
    files = [_file(1), _file(2, "text/html"), _file(3)]
    bundle = files_bundle(files, lambda _: small, caption="Files of this job")
    pictures, _, chips = bundle["text/html"].partition("<ul")
    assert (pictures.count("<figure"), pictures.count("<img"), chips.count("<img")) == (2, 2, 0)
    assert "p1.png<div>1.0 kB</div></figcaption>" in pictures
    assert ">p2.png " in chips
    assert bundle["text/html"].count("Files of this job") == 1
    assert offences(bundle["text/html"]) == []
    assert bundle["text/plain"].count("p1.png") == 1
    assert "<ul" not in files_bundle(files[:1], lambda _: small)["text/html"]
    assert "<figure" not in files_bundle(files)["text/html"]


def test_only_what_claims_to_be_a_picture_is_fetched_at_all() -> None:
    fetched: list[str] = []

    def fetch(file: WorkspaceFile) -> bytes | None:
        fetched.append(file.path)
        return None

    huge = _file(3).model_copy(update={"size_bytes": file_table.SOURCE_BYTES + 1})
    html = files_bundle([_file(1), _file(2, "text/html"), huge], fetch)["text/html"]
    assert fetched == ["p1.png"]
    assert "<img" not in html
