"""A file of each kind is shown for what its bytes say; what can't be shown is a sentence."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from agentsvc_nb.notebook.previews import decoding
from agentsvc_nb.notebook.previews.decoding import CannotShow
from tests.notebook import samples
from tests.notebook.previewed import harmless, preview
from tests.reports.corpus import encrypted

SEEN = {
    "chart.png": ("1,200 × 800 pixels", 'alt="chart.png, 1,200 × 800 pixels"'),
    "photo.jpg": ("1,200 × 800 pixels", "<figcaption"),
    "plan.pdf": ("page 1 of 4: The autumn plan", 'alt="plan.pdf, page 3 of 4: Dates"'),
    "prices.parquet": ("text     number", ">12.5</td>"),
    "prices.xlsx": ("text     number", ">chair</td>"),
    "brief.docx": ("# Autumn", "<h1>Autumn</h1>\n<p>Spend 5 * 3 in #1</p>"),
    "deck.pptx": ("From Monday", "<h1>Dates</h1>\n<p>In October</p>"),
    "prices.csv": ("text     number", ">chair</td>"),
    "facts.json": ('"paid": true', "&quot;channels&quot;: ["),
    "notes.md": ("one **bold** word", "<strong>bold</strong>"),
    "page.html": ("<h1 style=", "&lt;h1 style="),
    "logo.svg": ("<svg", "&lt;svg"),
    "jingle.wav": ("A sound", '<audio controls preload="metadata" src="data:audio/wav;base64,'),
    "brief.txt": ("which is a guess)", "Straße"),
    "model.bin": ("Files of this kind can't be shown", "downloads it"),
}


@pytest.mark.parametrize("name", samples.HONEST)
def test_a_file_is_shown_by_its_kind(name: str) -> None:
    text, shown = harmless(preview(name, samples.HONEST[name]()))
    in_text, in_html = SEEN[name]
    assert in_text in text
    assert in_html in shown
    assert "another kind" not in text


def test_a_name_that_lies_is_told_and_the_file_shown_for_what_it_is() -> None:
    text, shown = harmless(preview("logo.png", b"<!doctype html><h1>Hello</h1>", "image/png"))
    assert "Its name ends with .png, but its content is another kind" in text
    assert "&lt;h1&gt;Hello" in shown
    text, shown = harmless(preview("page.pdf", samples.picture(), "application/pdf"))
    assert "Its name ends with .pdf, but its content is another kind: PNG picture." in text
    assert "<img" in shown


@pytest.mark.parametrize("name", ["chart.png", "plan.pdf", "prices.xlsx"])
def test_a_damaged_file_is_a_sentence_and_how_to_have_it(name: str) -> None:
    data = samples.HONEST[name]()
    text, shown = harmless(preview(name, data[:40] + bytes(len(data) // 2)))
    assert "damaged" in text or "can't be read" in text
    assert f"%files get {name}" in text
    assert "agentsvc-preview" not in text, "no path of this machine"
    assert "<img" not in shown


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.json", b'{"a": ', "not valid JSON"),
        ("a.json", b"[" * 20_000, "nested too deeply"),
        ("a.csv", b'a,b\n"never closed', "never closed"),
        ("a.csv", 'x;y\n"a\nb";1,5\n'.encode("utf-16"), "a b   1.5"),
        ("a.txt", b"\xff\xfea\0b\0", "ab\n(in utf-16)"),
        ("a.mp4", samples.MP4_HEAD, "A video"),
    ],
)
def test_what_is_half_there_is_shown_as_far_as_it_goes(name: str, data: bytes, said: str) -> None:
    assert said in harmless(preview(name, data))[0]


def test_of_a_long_file_the_beginning_is_shown() -> None:
    rows = b"n,word\n" + b"".join(b"%d,lamp\n" % n for n in range(20_000))
    assert "the first 20 of 20,000 rows" in harmless(preview("a.csv", rows))[0]
    assert "the first 20 rows of 6.0 MB, read by its beginning" in harmless(preview("a.csv", rows, size=6_000_000))[0]
    assert "the first 4,000 of 5,000 characters" in harmless(preview("a.txt", b"x" * 5_000))[0]
    wide = ",".join(map(str, range(1_000)))
    assert "980 more columns" in harmless(preview("a.csv", f"{wide}\n{wide}".encode()))[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", (b'"' + b'""' * 100 + b'",') * 20 * 25),
        ("a.json", json.dumps([{'"' * 300: '"' * 300}] * 500).encode()),
        ("a.md", b"|a" * 400 + b"|\n" + b"|-" * 400 + b"|\n" + b"|\n" * 1_000),
        ("a.html", b"<p>" + b'"&<' * 90_000),
        ("a.wav", samples.sound(40)),
        ("noise.png", samples.picture("PNG", (900, 900), "RGBA")),
    ],
)
def test_no_output_is_larger_than_300_kb(name: str, data: bytes) -> None:
    harmless(preview(name, data))


def test_pictures_are_turned_as_the_camera_was_held_and_of_moving_ones_the_first_is_seen() -> None:
    held = Image.Exif()
    held[0x0112] = 6
    out = io.BytesIO()
    Image.new("RGB", (400, 200)).save(out, "JPEG", exif=held)
    shown = harmless(preview("a.jpg", out.getvalue()))[1]
    (made,) = re.findall(r"data:image/webp;base64,([A-Za-z0-9+/=]+)", shown)
    with Image.open(io.BytesIO(base64.b64decode(made))) as picture:
        assert picture.height == 2 * picture.width
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue", "green")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    assert "the first of 3 frames" in harmless(preview("a.gif", out.getvalue()))[0]


def test_a_decoder_that_was_ended_is_begun_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (place := tmp_path / "a").write_bytes(samples.picture())
    with decoding.Decoder() as decoder:
        with monkeypatch.context() as patch:
            patch.setattr(decoding, "SECONDS", 0.001)
            with pytest.raises(CannotShow, match="too long"):
                decoder.decode("medium", place)
        found = decoder.decode("medium", place)
        assert found["width"] == 1_200


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.png", samples.wide_picture, "It has 20,000 × 20,000 pixels"),
        ("a.pdf", lambda: samples.pdf(["The plan"], 5_000), "5,000 pages"),
        ("a.docx", lambda: encrypted("EncryptedPackage"), "It needs a password"),
        ("a.xlsx", lambda: samples.bomb(1, 2_000_000_000), "unpacks to more than 800 MB"),
        ("a.xlsx", lambda: samples.workbook([["a"]], far=True), "too much memory"),
    ],
)
def test_what_is_made_to_cost_much_is_a_sentence_or_its_beginning(
    name: str, make: Callable[[], bytes], said: str
) -> None:
    """What it costs is measured by `tests.bench.previews`; the decoder's own limits hold whatever it is given."""
    assert said in harmless(preview(name, make()))[0]
