"""A model that sees looks at pictures and pages of PDFs (`look_at`), on the wire."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

from PIL import Image

from agentsvc_nb.tools.workspace.reading import SIDE
from tests.service.agents.serving import Serving, language_service
from tests.unit.agents.chat_server import Reply

DONE = Reply(("Done.",))


def picture(kind: str, size: tuple[int, int] = (400, 200), pages: int = 1) -> bytes:
    """Red; further pages are blue."""
    made = io.BytesIO()
    more = [Image.new("RGB", size, "blue") for _ in range(pages - 1)]
    Image.new("RGB", size, "red").save(made, kind, **({"save_all": True, "append_images": more} if more else {}))
    return made.getvalue()


def look(path: str, page: int = 1) -> Reply:
    return Reply(calls=(("look_at", json.dumps({"path": path, "page": page})),))


def seen(it: Serving) -> list[Image.Image]:
    """The pictures of the last request, but for those of its first message."""
    parts = [part for message in it.last()[2:] for part in _parts(message)]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def results(it: Serving) -> list[str]:
    return [message["content"] for message in it.last() if message["role"] == "tool"]


def test_a_scanned_pdf_is_said_to_be_one_and_its_pages_are_seen_in_any_turn() -> None:
    read = Reply(calls=(("read_file", json.dumps({"path": "uploads/scan.pdf"})),))
    with language_service(DONE, read, look("uploads/scan.pdf", 2), DONE, model_sees=True) as it:
        chat = it.ask("Keep this.", files=[("scan.pdf", picture("PDF", pages=3))]).chat
        assert "3 pages are pictures" in json.dumps(it.last())
        run = it.ask("What is on page 2?", chat=chat)
        assert run.output == "Done."
        said = results(it)
        assert said[1].startswith("Page 2 of 3 of uploads/scan.pdf. It has no text")
        (page,) = seen(it)
        assert max(page.size) == SIDE
        assert page.convert("RGB").getpixel((50, 50)) in ((0, 0, 254), (0, 0, 255))
        assert [payload["path"] for payload in it.events(run, "file.written")] == ["frames/scan-2.png"]


def test_what_cannot_be_seen_is_told() -> None:
    calls = [look("uploads/a.txt"), look("none.png"), look("uploads/scan.pdf", 9), look("uploads/broken.png")]
    files = [("a.txt", b"text"), ("scan.pdf", picture("PDF")), ("broken.png", picture("PNG")[:60])]
    with language_service(*calls, DONE, model_sees=True) as it:
        assert it.ask("Look.", files=files).output == "Done."
        said = results(it)
        assert "neither a picture nor a PDF" in said[0]
        assert "There is no file 'none.png'" in said[1]
        assert "uploads/scan.pdf has 1 pages." in said[2]
        assert "uploads/broken.png is damaged" in said[3]
        assert seen(it) == []
