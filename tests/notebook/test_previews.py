"""A file of each kind is shown for what its bytes say; what can't be shown is a sentence."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from agentsvc_nb.documents import child_process
from agentsvc_nb.documents.decoding import DecodedText, decode
from agentsvc_nb.notebook.display.file_table import OUTPUT_BYTES
from agentsvc_nb.notebook.previews import decoding
from agentsvc_nb.notebook.previews.decoding import CannotShow
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES, WHOLE_BYTES
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


@pytest.mark.parametrize("name", samples.HONEST)
def test_an_empty_file_is_said_to_be_empty(name: str) -> None:
    head, sentence = harmless(preview(name, b""))[0].splitlines()
    assert head == f"{name} · 0 B"
    assert sentence == "The file is empty."


@pytest.mark.parametrize("name", ["chart.png", "photo.jpg", "plan.pdf", "prices.parquet", "prices.xlsx"])
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
        ("a.json", b"9" * 9_000, "not valid JSON"),
        ("a.csv", b'a,b\n"never closed', "never closed"),
        ("a.csv", b"\n\n", "no rows"),
        ("a.csv", 'x;y\n"a\nb";1,5\n'.encode("utf-16"), "a b   1.5"),
        ("a.txt", b"\xff\xfea\0b\0", "ab\n(in utf-16)"),
        ("a.txt", "Zürich".encode("utf-8-sig"), "Zürich"),
        ("a.mp4", samples.MP4_HEAD, "A video"),
        ("a.avif", b"\0\0\0\x18ftypavif", "can't be shown"),
        ("a.zip", b"PK\x03\x04" + bytes(90), "can't be shown"),
    ],
)
def test_what_is_half_there_is_shown_as_far_as_it_goes(name: str, data: bytes, said: str) -> None:
    assert said in harmless(preview(name, data))[0]


def test_of_a_long_file_the_beginning_is_shown() -> None:
    rows = b"n,word\n" + b"".join(b"%d,lamp\n" % n for n in range(100_000))
    assert "the first 20 of 100,000 rows" in harmless(preview("a.csv", rows))[0]
    assert "the first 20 rows of 6.0 MB, read by its beginning" in harmless(preview("a.csv", rows, size=6_000_000))[0]
    lines = b'{"n": 1}\n' * 100_000
    assert "the beginning of 900 kB" in harmless(preview("a.jsonl", lines))[0]
    tree = json.dumps([{"n": n, "words": ["a", "é"]} for n in range(50_000)], ensure_ascii=False).encode()
    assert "the beginning of 1.8 MB" in harmless(preview("a.json", tree))[0]
    assert "the first 4,000 of 5,000 characters" in harmless(preview("a.txt", b"x" * 5_000))[0]
    assert "the beginning of 300 kB" in harmless(preview("a.txt", "é".encode() * 150_000))[0]
    wide = ",".join(map(str, range(1_000)))
    assert "980 more columns" in harmless(preview("a.csv", f"{wide}\n{wide}".encode()))[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Le garçon a mangé à l'école près du café.", "cp1252"),
        ("name;preis\nStühle;12 €\n", "cp1252"),
        ("Привет, мир! Как дела сегодня?", "cp1251"),
        ("Καλημέρα κόσμε, τι κάνεις σήμερα;", "cp1253"),
        ("日本語のテキストです。これは長い文章。", "shift_jis"),
        ("这是一个简单的中文文本，用于测试。", "gb18030"),
    ],
)
def test_the_encoding_of_text_is_guessed(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), cut=False) == DecodedText(text, encoding.replace("_", "-"), guessed=True)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", (b'"' + b'""' * 100 + b'",') * 20 * 25),
        ("a.csv", (b"\xf0\x9f\x8e\xa8" * 300 + b",") * 400),
        ("a.json", json.dumps([{'"' * 300: '"' * 300}] * 500).encode()),
        ("a.json", json.dumps([["<"] * 200] * 500).encode()),
        ("a.md", b"|a" * 400 + b"|\n" + b"|-" * 400 + b"|\n" + b"|\n" * 1_000),
        ("a.md", b"<" * 50_000),
        ("a.html", b"<p>" + b'"&<' * 90_000),
        ("a.wav", samples.sound(20)),
        ("a.wav", samples.sound(40)),
        ("a.txt", b"'" * 200_000),
        ("noise.png", samples.picture("PNG", (900, 900), "RGBA")),
    ],
)
def test_no_output_is_larger_than_300_kb(name: str, data: bytes) -> None:
    harmless(preview(name, data))


def test_noise_is_made_smaller_until_it_fits() -> None:
    out = io.BytesIO()
    Image.effect_noise((1_500, 1_500), 120).convert("RGB").save(out, "PNG")
    shown = harmless(preview("noise.png", out.getvalue()))[1]
    assert OUTPUT_BYTES / 100 < len(shown) < OUTPUT_BYTES / 2


def test_pictures_are_turned_as_the_camera_was_held_and_of_moving_ones_the_first_is_seen() -> None:
    held = Image.Exif()
    held[0x0112] = 6
    out = io.BytesIO()
    Image.new("RGB", (400, 200)).save(out, "JPEG", exif=held)
    assert "data:image/webp" in harmless(preview("a.jpg", out.getvalue()))[1]
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue", "green")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    assert "the first of 3 frames" in harmless(preview("a.gif", out.getvalue()))[0]


def test_what_needs_the_whole_file_has_a_largest_size() -> None:
    text, _ = harmless(preview("a.pdf", samples.pdf() + b" " * HEAD_BYTES, size=WHOLE_BYTES + 1))
    assert "files of this kind are shown up to 50 MB" in text


def test_a_larger_sound_or_video_says_how_to_play_it() -> None:
    text, shown = harmless(preview("a.mp4", samples.MP4_HEAD + bytes(HEAD_BYTES)))
    assert "are played here up to 200 kB" in text
    assert "<video" not in shown


def test_a_decoder_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "SECONDS", 0.001)
    assert "takes too long or too much memory" in harmless(preview("a.png", samples.picture()))[0]


def test_a_decoder_that_was_ended_is_begun_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (place := tmp_path / "a").write_bytes(samples.picture())
    with decoding.Decoder() as decoder:
        with monkeypatch.context() as patch:
            patch.setattr(decoding, "SECONDS", 0.001)
            with pytest.raises(CannotShow, match="too long"):
                decoder.decode("medium", place)
        found = decoder.decode("medium", place)
        pid = decoder._child and decoder._child.pid
        assert decoder.decode("medium", place) == found
        assert decoder._child
        assert decoder._child.pid == pid, "one process for both"


@pytest.mark.parametrize("name", ["größe", "summer 夏", "two\nlines", os.fsdecode(b"\xff")])
def test_a_file_is_found_wherever_it_is(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(child_process, "ENVIRONMENT", (*child_process.ENVIRONMENT, "PYTHONIOENCODING"))
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")  # as on Windows
    (place := tmp_path / name).write_bytes(samples.picture())
    assert decoding.decode("medium", place)["width"] == 1_200


@pytest.mark.parametrize("answer", ["[]", "7", "null", '"error"', "", "{", "[" * 100_000])
def test_an_answer_that_is_none_is_a_sentence(answer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "answers.py").write_text(f"import sys\nfor _ in sys.stdin:\n    print({answer!r}, flush=True)\n")
    monkeypatch.setattr(decoding, "CHILD", "answers")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "Its decoder gave no answer that can be read" in harmless(preview("a.png", samples.picture()))[0]


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.png", samples.wide_picture, "It has 20,000 × 20,000 pixels"),
        ("a.jpg", lambda: samples.picture("JPEG", (20_000, 20_000), "L"), "20,000 × 20,000 pixels"),
        ("a.pdf", lambda: samples.pdf(["The plan"], 5_000), "5,000 pages"),
        ("a.docx", lambda: samples.word("<w:p>" * 5_000), "It is damaged"),
        ("a.docx", lambda: samples.word(samples.paragraph("word " * 100) * 50_000), "its text, the beginning"),
        ("a.docx", lambda: samples.word("<!--" + "x" * 60_000_000), "It is damaged"),
        ("a.docx", lambda: encrypted("EncryptedPackage"), "It needs a password"),
        ("a.docx", lambda: b"PK\x03\x04" + bytes(26) + b"word/document.xml" + bytes(90), "It is damaged"),
        ("a.xlsx", lambda: samples.bomb(1, 2_000_000_000), "unpacks to more than 800 MB"),
        ("a.xlsx", lambda: samples.bomb(300, 1_000), "can't be read"),
        ("a.xlsx", lambda: samples.workbook([["a"]], far=True), "too much memory"),
    ],
)
def test_what_is_made_to_cost_much_is_a_sentence_or_its_beginning(
    name: str, make: Callable[[], bytes], said: str
) -> None:
    """What it costs is measured by `tests.bench.previews`; the decoder's own limits hold whatever it is given."""
    assert said in harmless(preview(name, make()))[0]
