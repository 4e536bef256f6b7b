"""A file of each format that is read is found by its words, with a passage that marks them (docs/api/files.md)."""

from __future__ import annotations

import json
from typing import Any

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


def test_a_file_is_found_by_its_words(wire: Wire) -> None:
    chat = wire.new_chat()
    every = [("files", (each, content)) for each, (content, _) in FILES.items()]
    assert wire("POST", "/files", params={"chat_id": chat}, files=every).status_code == 200

    def search(q: str) -> list[Any]:
        found: list[Any] = wire("GET", "/files/search", params={"chat_id": chat, "q": q}).json()["results"]
        return found

    for name, (_, word) in FILES.items():
        [found] = until(lambda word=word: search(word))  # type: ignore[misc]
        assert (found["file_name"], found["match"]) == (name, "content")
        assert any(part["match"] for passage in found["snippets"] for part in passage)
    assert search("hidden or body") == [], "script and markup are not words of a page"
