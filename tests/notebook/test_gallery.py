"""The gallery: pictures of a real service's chat, and what `edit_image` made of them, pressed as in a page."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
from PIL import Image

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.files.gallery import Pictures, PictureText, found_pictures, gallery_bundle
from agentsvc_nb.notebook.previews.bundle import Thumbnails
from agentsvc_nb.notebook.previews.child import LARGE_BYTES
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.gallery import Gallery, LargePicture
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import offences
from tests.notebook.images import png
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

BRIEF = {"brief": "Headline: Pack light\nSubline: Two kilos.\nCTA: Shop tents\nnavy, orange"}
OURS = re.compile("<(style|button.*|(div|img|figure) (class|id|popover))>")


def picture(path: str, id: str = "1", day: int = 1) -> WorkspaceFile:
    moment = f"2026-11-{day:02}T00:00:00Z"
    return WorkspaceFile(id=id, path=path, media_type="image/png", size_bytes=9, updated_at=moment)


@pytest.fixture(scope="module")
def chat(service: Any) -> str:
    """A chat with an ad, and the ad with another headline."""
    with AgentService(service.api_key, service.base_url) as client:
        made = client.jobs.submit_and_wait("create_images", {"request": BRIEF}, chat="new")
        assert made.files
        edit = {"request": {"path": made.files[0].path, "headline": "Travel far"}}
        assert client.jobs.submit_and_wait("edit_image", edit, chat=made.chat).files
    return made.chat


@pytest.fixture
def session(chat: str) -> Iterator[Session]:
    made = Session("plan.ipynb", journal=Journal(None))
    made.move(chat)
    yield made
    made.close()


def says(gallery: Gallery, words: str) -> None:
    until(lambda: words in gallery.parts.status.value)


def test_an_edited_picture_stands_beside_what_it_was(session: Session) -> None:
    bundle = gallery_bundle(found_pictures(session))
    assert offences(bundle["text/html"]) == []
    alts = re.findall('alt="(.*?)"', bundle["text/html"])
    assert alts == [
        "Before: Pack light · Two kilos. · Shop tents",
        "Travel far · Two kilos. · Shop tents",
        "Pack light · Two kilos. · Shop tents",
    ]


def test_pictures_are_opened_compared_and_closed(session: Session) -> None:
    gallery = Gallery(found_pictures(session))
    parts, enlarged = gallery.parts, gallery.parts.enlarged
    until(lambda: all("data:image/webp" in thumb._style.value for thumb in parts.thumbs[:2]))
    assert [thumb.box.layout.display for thumb in parts.thumbs] == ["", "", *["none"] * 10]
    parts.thumbs[0].button.click()
    until(lambda: enlarged.figure.value.count("<img") == 2)
    assert (parts.grid.layout.display, enlarged.box.layout.display) == ("none", "")
    assert 'alt="Before: Pack light' in enlarged.figure.value
    assert len(enlarged.figure.value) < 2 * LARGE_BYTES * 4 / 3 + 2_000
    enlarged.old.click()
    assert "--asvc-wipe: 100%" in enlarged._wiping.value
    enlarged.wipe.value = 30
    assert "--asvc-wipe: 30%" in enlarged._wiping.value
    enlarged.next.click()
    until(lambda: enlarged.figure.value.count("<img") == 1)
    assert enlarged._comparing.layout.display == "none"
    enlarged.next.click()
    says(gallery, "This is the last picture")
    enlarged.close.click()
    assert (parts.grid.layout.display, enlarged.box.layout.display) == ("", "none")
    assert set(filter(None, (OURS.sub("", found) for found in offences(enlarged.figure.value)))) == set()


def test_pictures_come_a_page_at_a_time() -> None:
    read: list[str] = []

    def content(file: WorkspaceFile) -> bytes:
        read.append(file.path)
        return png()

    gallery = Gallery(Pictures([picture(f"{number:02}.png", day=number + 1) for number in range(20)], content))
    says(gallery, "1 to 12 of 20 pictures")
    gallery.parts.after.click()
    says(gallery, "13 to 20 of 20")
    until(lambda: len(set(read)) >= 8 and "00.png" in read)
    gallery.parts.after.click()
    says(gallery, "the last pictures")
    gallery.parts.before.click()
    assert gallery.parts.thumbs[0].button.description == "1 19.png"


def test_what_it_was_made_from_must_be_there_as_it_was() -> None:
    source = {"path": "a.png", "sha256": "1"}
    files = {"a.png": png(), "b.png": png(edited_from=source), "c.png": png(edited_from={"path": "gone.png"})}

    def found(id: str) -> Pictures:
        shown = [picture("a.png", id), picture("b.png", "2"), picture("c.png", "3")]
        return Pictures(shown, lambda file: files[file.path])

    good, changed = found("1"), found("9")
    by_path = {file.path: file for file in good.files}
    assert good.before(by_path["b.png"])[0] is by_path["a.png"]
    assert good.before(by_path["a.png"]) == (None, "")
    assert changed.before(by_path["b.png"]) == (None, "made from a.png, which has changed since")
    assert good.before(by_path["c.png"]) == (None, "made from gone.png, which is no longer there")


def test_a_picture_that_is_gone_or_none_leaves_a_sentence() -> None:
    def gone(file: WorkspaceFile) -> bytes:
        raise to_ask_error(StefanBrainError("There is no such file.", status=404, code="file_not_found"), "here")

    for read in (gone, lambda file: b"<script>"):
        enlarged = (gallery := Gallery(Pictures([picture("a.png")], read))).parts.enlarged
        gallery.parts.thumbs[0].button.click()
        until(partial(_holds, enlarged, "be shown as a picture"))


def _holds(enlarged: LargePicture, words: str) -> bool:
    return words in enlarged.figure.value


def test_without_a_connection_a_sentence_and_the_thumbnails_stay() -> None:
    pictures = Pictures([picture("a.png")], lambda file: png())
    pictures.seen(pictures.files[0])

    def lost(file: WorkspaceFile) -> bytes:
        raise AskError("The service can't be reached.", "Check the address.")

    pictures._read = lost
    gallery = Gallery(pictures)
    gallery.parts.thumbs[0].button.click()
    says(gallery, "The service can&#x27;t be reached. Check the address.")
    gallery.parts.enlarged.close.click()
    assert "data:image/webp" in gallery.parts.thumbs[0]._style.value


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_names_and_inscriptions_are_text(text: str) -> None:
    data = png(words={"headline": text}, edited_from={"path": f"{text}.png", "sha256": "1"})
    files = [picture(text, "2", 2), picture(f"{text}.png", "1")]
    gallery = Gallery(Pictures(files, lambda file: data))
    gallery.parts.thumbs[0].button.click()
    until(lambda: "<img" in gallery.parts.enlarged.figure.value)
    for html in (gallery.parts.enlarged.figure.value, gallery.parts.status.value):
        assert [found for found in offences(html) if not OURS.fullmatch(found)] == []
    assert "</style" not in gallery.parts.thumbs[0]._style.value[:-8]


def test_a_large_view_is_1200_pixels_and_300_kb_at_most() -> None:
    noise = io.BytesIO()
    Image.effect_noise((1_300, 900), 120).convert("RGB").save(noise, "PNG")
    with Thumbnails() as looking:
        uri, flat, none = (
            looking.large(data) for data in (noise.getvalue(), png(size=(3_000, 10)), b"\x89PNG\r\n\x1a\n")
        )
    assert uri is not None
    data = base64.b64decode(uri.split(",")[1])
    assert len(data) <= LARGE_BYTES
    assert max(Image.open(io.BytesIO(data)).size) <= 1_200
    assert flat is not None
    assert Image.open(io.BytesIO(base64.b64decode(flat.split(",")[1]))).size == (1_200, 4)
    assert none is None


@pytest.mark.parametrize(
    ("words", "edited_from", "found"),
    [
        ({"headline": "A", "subline": 7, "action": "B"}, None, PictureText("A · B")),
        ("headline", ["a"], PictureText()),
        (None, {"path": "a" * 1_001, "sha256": None}, PictureText()),
        (None, {"path": "a.png", "sha256": "1"}, PictureText("", "a.png", "1")),
    ],
)
def test_inscriptions_are_taken_for_what_they_are(words: Any, edited_from: Any, found: PictureText) -> None:
    data = {"a.png": png(words=words, edited_from=edited_from), "b.png": b"no picture"}
    pictures = Pictures([picture("a.png"), picture("b.png")], lambda file: data[file.path])
    assert [pictures.seen(file).said for file in pictures.files] == [found, PictureText()]


LOOKED: Final = """
import sys
from agentsvc_nb.notebook.files.gallery import Pictures, gallery_bundle
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook import samples
from tests.notebook.images import png

made = [png("navy"), samples.wide_picture(), samples.wide_picture(12_000, written=True), png()[:60], b"<svg>", png()]
files = [WorkspaceFile(id=str(n), path=f"{n}.png", media_type="image/png", size_bytes=9) for n in range(len(made))]
del sys.modules["PIL"]  # the tests' own
found = Pictures(files, lambda file: made[int(file.id)])
assert gallery_bundle(found)["text/html"].count("<img") == 2
print([found.known(file).thumb is not None for file in found.files], found.large(files[1]), "PIL" in sys.modules)
"""


def test_pictures_are_decoded_in_a_process_and_one_that_is_too_much_leaves_the_others() -> None:
    ran = subprocess.run([sys.executable, "-c", LOOKED], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[0] == "[True, False, False, False, False, True] None False"


def test_the_magic_shows_a_widget_where_one_is_seen(kernel: Any, chat: str) -> None:
    kernel.cell(f"%agentsvc chat {chat}")
    kernel.cell("%files gallery *edit*", cell_id="c1")
    first, second = kernel.shown.outputs
    assert "A gallery of this notebook's chat: 1 picture." in first["text/plain"]
    assert first["text/html"].count("<img") == 2
    assert "application/vnd.jupyter.widget-view+json" in second
    kernel.cell("%files gallery")
    assert "widget" not in str(kernel.shown.outputs)
