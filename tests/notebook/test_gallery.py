"""The pictures of a real service's chat, and what `edit_image` made of them: thumbnails, large views, the gallery."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.files.gallery import Pictures, gallery_bundle, pictures_among, static_gallery
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.images import png
from tests.notebook.test_hostile import HOSTILE

pytestmark = pytest.mark.usefixtures("connected")

BRIEF = {"brief": "Headline: Pack light\nSubline: Two kilos.\nCTA: Shop tents\nnavy, orange"}


def picture(path: str, id: str = "1", day: int = 1) -> WorkspaceFile:
    moment = f"2026-11-{day:02}T00:00:00Z"
    return WorkspaceFile(
        id=id, path=path, file_name=path, media_type="image/png", size_bytes=9, updated_at=moment, version=1
    )


def shown(files: Sequence[WorkspaceFile], read: Mapping[str, bytes]) -> Bundle:
    """The static gallery of these files, whose content is `read` by path."""
    return gallery_bundle(Pictures(lambda file: read[file.path]), files, {file.path: file for file in files})


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


def test_an_edited_picture_stands_beside_what_it_was(session: Session) -> None:
    bundle = static_gallery(session)
    assert offences(bundle["text/html"]) == []
    assert re.findall('alt="(.*?)"', bundle["text/html"]) == [
        "Before: Pack light · Two kilos. · Shop tents",
        "Travel far · Two kilos. · Shop tents",
        "Pack light · Two kilos. · Shop tents",
    ]


def test_what_it_was_made_from_must_be_there_as_it_was() -> None:
    source = {"path": "a.png", "sha256": "1"}
    data = {"a.png": png(), "b.png": png(edited_from=source), "c.png": png(edited_from={"path": "gone.png"})}
    pictures = Pictures(lambda file: data[file.path])

    def sources(id: str) -> list[tuple[WorkspaceFile | None, str]]:
        files = {path: picture(path, id if path == "a.png" else path) for path in data}
        return [pictures.source(file, files) for file in files.values()]

    gone = (None, "made from gone.png, which is no longer there")
    assert sources("1") == [(None, ""), (picture("a.png"), ""), gone]
    assert sources("9") == [(None, ""), (None, "made from a.png, which has changed since"), gone]


def test_a_picture_that_is_gone_or_none_leaves_the_others() -> None:
    def read(file: WorkspaceFile) -> bytes:
        if file.path == "gone.png":
            raise to_ask_error(StefanBrainError("There is no such file.", status=404, code="file_not_found"), "here")
        return b"<script>" if file.path == "none.png" else png()

    pictures = Pictures(read)
    files = [picture("gone.png"), picture("none.png"), picture("a.png")]
    assert [bool(found.thumb) for _, found in pictures.thumbnails(files)] == [False, False, True]
    assert [bool(pictures.large(file)) for file in files] == [False, False, True]
    assert gallery_bundle(pictures, files, {})["text/plain"].endswith("… 2 not shown; `%files get PATH` downloads one")

    def lost(file: WorkspaceFile) -> bytes:
        raise AskError("The service can't be reached.")

    with pytest.raises(AskError, match="can't be reached"):
        Pictures(lost).large(files[0])


def test_an_output_has_at_most_12_pictures() -> None:
    files = [picture(f"{number:02}.png", day=number + 1) for number in range(20)]
    assert [file.path for file in pictures_among(files)][:2] == ["19.png", "18.png"], "newest first"
    assert [file.path for file in pictures_among(files, "0[12]*")] == ["02.png", "01.png"]
    with pytest.raises(AskError, match="no pictures that fit x"):
        pictures_among(files, "x")
    bundle = shown(files, {file.path: png() for file in files})
    assert bundle["text/html"].count("<img") == 12
    assert bundle["text/plain"].count(".png") == 20


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_names_and_inscriptions_are_text(text: str) -> None:
    data = png(words={"headline": text}, edited_from={"path": f"{text}.png", "sha256": "1"})
    bundle = shown([picture(text, "2", 2), picture(f"{text}.png")], {text: data, f"{text}.png": data})
    assert offences(bundle["text/html"]) == []
    assert FORBIDDEN.findall(bundle["text/plain"]) == []


LOOKED: Final = """
import sys
from agentsvc_nb.notebook.files.gallery import Pictures
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook import samples
from tests.notebook.images import png

made = [png("navy"), samples.wide_picture(), samples.wide_picture(12_000, written=True), png()[:60], b"<svg>", png()]
files = [WorkspaceFile(id=str(n), path=f"{n}.png", media_type="image/png", size_bytes=9) for n in range(len(made))]
del sys.modules["PIL"]  # the tests' own
pictures = Pictures(lambda file: made[int(file.id)])
print([bool(found.thumb) for _, found in pictures.thumbnails(files)], pictures.large(files[1]), "PIL" in sys.modules)
"""


def test_pictures_are_decoded_in_a_process_and_one_that_is_too_much_leaves_the_others() -> None:
    ran = subprocess.run([sys.executable, "-c", LOOKED], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[0] == "[True, False, False, False, False, True]  False"
