"""The gallery: pictures of a real service's chat, and what `edit_image` made of them, pressed as in a page."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from agentsvc_nb.notebook.widgets.gallery import NO_PICTURE, Gallery
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import say
from tests.notebook.images import png
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

BRIEF = {"brief": "Headline: Pack light\nSubline: Two kilos.\nCTA: Shop tents\nnavy, orange"}


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


@pytest.fixture
def opened() -> Iterator[Callable[[Pictures], Gallery]]:
    """Opens galleries, whose threads end with the test."""
    made: list[Gallery] = []

    def gallery(pictures: Pictures) -> Gallery:
        made.append(Gallery(pictures))
        return made[-1]

    yield gallery
    for each in made:
        each._worker._pool.shutdown()


Opened = Callable[[Pictures], Gallery]


def says(gallery: Gallery, words: str) -> None:
    until(lambda: words in html.unescape(gallery.front.part("said")["html"]))


def thumbs(gallery: Gallery) -> list[dict[str, Any]]:
    return [gallery.front.part(f"thumb/{place}") for place in range(len(gallery.front.parts("thumb/")))]


def large(gallery: Gallery, images: int) -> dict[str, Any]:
    """The large view, once it has so many pictures, or a sentence instead."""
    return until(
        lambda: gallery.front.part("view"),
        lambda view: len(view["images"]) == images and not view["empty"].startswith("Reading") and _is_read(gallery),
    )


def _is_read(gallery: Gallery) -> bool:
    return gallery._worker._pool._work_queue.empty()


def test_an_edited_picture_stands_beside_what_it_was(session: Session) -> None:
    bundle = gallery_bundle(found_pictures(session))
    assert offences(bundle["text/html"]) == []
    alts = re.findall('alt="(.*?)"', bundle["text/html"])
    assert alts == [
        "Before: Pack light · Two kilos. · Shop tents",
        "Travel far · Two kilos. · Shop tents",
        "Pack light · Two kilos. · Shop tents",
    ]


def test_pictures_are_opened_compared_and_closed(session: Session, opened: Opened) -> None:
    gallery = opened(found_pictures(session))
    until(lambda: all(str(thumb["uri"]).startswith("data:image/webp") for thumb in thumbs(gallery)))
    assert len(thumbs(gallery)) == 2
    say(gallery.front, "view", at=0)
    view = large(gallery, 2)
    assert [alt.split(" · ")[0] for _, alt in view["images"]] == ["Before: Pack light", "Travel far"]
    assert len(json.dumps(view)) < 2 * LARGE_BYTES * 4 / 3 + 2_000
    say(gallery.front, "view", at=1)
    assert large(gallery, 1)["images"][0][1].startswith("Pack light")
    for nothing in (2, -1, "0", None):
        say(gallery.front, "view", at=nothing)
    assert gallery.front.part("view")["at"] == 1
    say(gallery.front, "close")
    assert gallery.front.part("view") is None


def test_pictures_come_a_page_at_a_time(opened: Opened) -> None:
    read: list[str] = []

    def content(file: WorkspaceFile) -> bytes:
        read.append(file.path)
        return png()

    gallery = opened(Pictures([picture(f"{number:02}.png", day=number + 1) for number in range(20)], content))
    says(gallery, "1 to 12 of 20 pictures")
    say(gallery.front, "turn", at=15)
    says(gallery, "13 to 20 of 20")
    assert [thumb["name"] for thumb in thumbs(gallery)] == [f"{number:02}.png" for number in range(7, -1, -1)]
    until(lambda: len(set(read)) >= 8 and "00.png" in read)
    say(gallery.front, "turn", at=0)
    assert thumbs(gallery)[0]["name"] == "19.png"
    assert len(gallery.front.parts("thumb/")) == 12, "no more are held than are seen"


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


def test_a_picture_that_is_gone_or_none_leaves_a_sentence(opened: Opened) -> None:
    def gone(file: WorkspaceFile) -> bytes:
        raise to_ask_error(StefanBrainError("There is no such file.", status=404, code="file_not_found"), "here")

    for read in (gone, lambda file: b"<script>"):
        gallery = opened(Pictures([picture("a.png")], read))
        say(gallery.front, "view", at=0)
        assert large(gallery, 0)["empty"] == NO_PICTURE


def test_without_a_connection_a_sentence_and_the_thumbnails_stay(opened: Opened) -> None:
    pictures = Pictures([picture("a.png")], lambda file: png())
    pictures.seen(pictures.files[0])

    def lost(file: WorkspaceFile) -> bytes:
        raise AskError("The service can't be reached.", "Check the address.")

    pictures._read = lost
    gallery = opened(pictures)
    say(gallery.front, "view", at=0)
    says(gallery, "The service can't be reached. Check the address.")
    assert gallery.front.part("said")["wrong"]
    assert gallery.front.part("view")["images"], "its thumbnail"
    say(gallery.front, "close")
    assert thumbs(gallery)[0]["uri"].startswith("data:image/webp")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_names_and_inscriptions_are_text(text: str, opened: Opened) -> None:
    data = png(words={"headline": text}, edited_from={"path": f"{text}.png", "sha256": "1"})
    files = [picture(text, "2", 2), picture(f"{text}.png", "1")]
    gallery = opened(Pictures(files, lambda file: data))
    say(gallery.front, "view", at=0)
    view = until(lambda: gallery.front.part("view"), lambda view: view["images"])
    assert offences(gallery.front.part("said")["html"]) == []
    shown = [view["name"], view["caption"], *(alt for _, alt in view["images"])]
    shown += [thumb[part] for thumb in thumbs(gallery) for part in ("name", "caption", "alt")]
    assert [part for part in shown if FORBIDDEN.search(part)] == []


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
