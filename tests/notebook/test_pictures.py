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


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "RGBA"), ("JPEG", "RGB"), ("GIF", "L")])
def test_a_picture_becomes_a_webp_of_at_most_256_pixels(kind: str, mode: str) -> None:
    uri = thumbnail(_picture(kind, mode=mode))
    assert uri is not None
    with _opened(uri) as small:
        assert small.size == (256, 256)


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"\x89PNG\r\n\x1a\n" + b"not a picture" * 20,
        _picture()[:300],
    ],
)
def test_what_is_no_picture_has_no_thumbnail(data: bytes) -> None:
    assert thumbnail(data) is None


def test_a_decompression_bomb_is_not_opened() -> None:
    for height, made in ((6_250, True), (6_251, False)):  # at most 40 million pixels
        out = io.BytesIO()
        Image.new("1", (6_400, height)).save(out, "PNG")
        assert (thumbnail(out.getvalue()) is not None) == made


def _file(number: int, media_type: str = "image/png") -> WorkspaceFile:
    return WorkspaceFile(id="0" * 64, path=f"p{number}.png", media_type=media_type, size_bytes=1000)


def test_an_output_has_at_most_12_pictures_and_300_kb_of_them() -> None:
    small, large = _picture(edge=40), _picture(edge=300)
    many = files_bundle([_file(n) for n in range(14)], lambda _: small)["text/html"]
    assert many.count("<img") == file_table.PER_OUTPUT
    heavy = files_bundle([_file(n) for n in range(14)], lambda _: large)["text/html"]
    assert heavy.count("<img") > 0
    assert len(heavy) < file_table.OUTPUT_BYTES + 20_000
    assert offences(heavy) == []


def test_only_what_claims_to_be_a_picture_is_fetched_at_all() -> None:
    fetched: list[str] = []

    def fetch(file: WorkspaceFile) -> bytes | None:
        fetched.append(file.path)
        return None

    huge = _file(3).model_copy(update={"size_bytes": file_table.SOURCE_BYTES + 1})
    html = files_bundle([_file(1), _file(2, "text/html"), huge], fetch)["text/html"]
    assert fetched == ["p1.png"]
    assert "<img" not in html
