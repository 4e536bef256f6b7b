"""A file of each format that is read is found by its words, with a passage that marks them (docs/api/files.md)."""

from __future__ import annotations

import json

import httpx
import pytest

from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import V1
from tests.notebook import samples
from tests.service.api.conftest import Wire
from tests.support.waiting import until
from tests.unit.documents.word_files import paragraph, word_file

FILES = {
    "plan.txt": (b"The kettle costs 39 euros.", "kettle"),
    "plan.md": (b"# Plan\n\nA **teapot** for travellers.", "teapot"),
    "page.html": (b"<html><script>hidden()</script><body><p>Free <b>shipping</b> today</p></body></html>", "shipping"),
    "spend.csv": ("channel;spend\nS\u00fcche;12\n".encode("latin-1"), "suche"),
    "facts.json": (json.dumps({"claims": ["\u5909\u308f\u308b\u5473"]}).encode(), "\u5909\u308f"),
    "offer.pdf": (samples.pdf(["First page", "Warranty of ten years"]), "warranty"),
    "brief.docx": (word_file(paragraph("Gr\u00f6\u00dfe")), "gro\u00dfe"),
    "budget.xlsx": (samples.workbook([["calc", 1]]), "calc"),
    "deck.pptx": (samples.deck(("Plan", "Say it")), '"say it"'),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_found_by_its_words(name: str, wire: Wire) -> None:
    chat = wire.new_chat()
    every = [("files", (each, content)) for each, (content, _) in FILES.items()]
    assert wire("POST", "/files", params={"chat_id": chat}, files=every).status_code == 200
    query = {"chat_id": chat, "q": FILES[name][1]}
    [found] = until(lambda: wire("GET", "/files/search", params=query).json()["results"])
    assert (found["file_name"], found["match"]) == (name, "content")
    assert any(part["match"] for passage in found["snippets"] for part in passage)


def test_script_and_markup_of_a_page_are_not_its_words(wire: Wire) -> None:
    chat = wire.new_chat()
    wire("POST", "/files", params={"chat_id": chat}, files={"files": ("page.html", FILES["page.html"][0])})
    assert wire("GET", "/files/search", params={"chat_id": chat, "q": "hidden or body"}).json()["results"] == []


def test_what_a_run_wrote_is_found_by_its_words_once_the_run_has_ended(wire: Wire) -> None:
    """Also a text that is too long to be read at once."""
    words = "saffron " + "word " * 20_000
    run = wire("POST", "/runs", json={"message": f"write long.txt {words}"}).json()
    until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["status"], lambda status: status == "completed")
    [found] = wire("GET", "/files/search", params={"chat_id": run["chat"], "q": "saffron "}).json()["results"]
    assert (found["file_name"], found["match"]) == ("long.txt", "content")


def test_a_stop_waits_for_no_document() -> None:
    """Documents that are still to be read do not hold up the service's stop, and are read after its next start."""
    hungry = word_file(paragraph("late") + "<w:p/>" * 300_000)
    with (
        running_service(model="scripted") as running,
        httpx.Client(
            base_url=running.base_url + V1, headers={"Authorization": f"Bearer {running.api_key}"}, timeout=30
        ) as http,
    ):
        chat = http.post("/runs", json={"message": "say x"}).json()["chat"]
        many = [("files", (f"{number}.docx", hungry)) for number in range(3)]
        assert http.post("/files", params={"chat_id": chat}, files=many).status_code == 200
        running.stop()
        running.start()
        query = {"chat_id": chat, "q": "late "}
        until(lambda: len(http.get("/files/search", params=query).json()["results"]), lambda found: found == 3)
