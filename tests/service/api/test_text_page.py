"""The page of a file's text: what an answer quotes is found on it, and nothing of the file becomes part of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote, unquote

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.service.web import chats
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.samples import pdf
from tests.notebook.test_hostile import HOSTILE
from tests.service.api.conftest import Wire
from tests.service.api.signing import page, signed_in
from tests.service.api.test_pages import PNG, upload

BRIEF = "# Audience\n\nYoung families in Köln,\n  who cycle to work.\n\n\nThe <b>budget</b> is 5 & more.\n"


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


def text_page(wire: Wire, browser: httpx.Client, name: str, data: bytes, chat: str | None = None) -> str:
    address = upload(wire, chat or wire.new_chat(), name, data)
    return page(browser, address.replace("/files?", "/text?"))


def lines(text: str) -> list[tuple[str, str]]:
    """The lines that can be pointed at, with their ids."""
    return [(id, unescape(line)) for id, line in re.findall(r'<span id="([^"]+)"[^>]*>([^<]*)\n</span>', text)]


def test_a_text_has_a_place_for_each_line_and_its_passages(wire: Wire, browser: httpx.Client) -> None:
    text = text_page(wire, browser, "brief.md", BRIEF.encode())
    assert lines(text) == [(f"line={number}", line) for number, line in enumerate(BRIEF.splitlines(), 1)]
    passages = re.findall(r'<span class="passage">(.*?)</span></span>', text, re.DOTALL)
    assert [re.findall(r"line=(\d)", passage) for passage in passages] == [["1"], ["2"], ["3", "4"], ["5", "6"], ["7"]]
    assert "<script" not in text


def test_a_table_has_a_place_for_each_row(wire: Wire, browser: httpx.Client) -> None:
    text = text_page(wire, browser, "prices.csv", b'name,note\ntent,"big\nand <b>green</b>"\n\nlamp,1\n')
    rows = re.findall(r'<tr id="(row=\d)"><td>\d</td><td data-is="name">(\w+)</td>', text)
    assert rows == [("row=1", "tent"), ("row=2", "lamp")]
    assert "big\nand &lt;b&gt;green&lt;/b&gt;" in text


def test_numbers_of_a_table_stand_right(wire: Wire, browser: httpx.Client) -> None:
    text = text_page(wire, browser, "prices.csv", b"name,price\ntent,39.00\nlamp,\ncup,1249.50\n")
    assert '<th scope="col">name</th><th scope="col" class="number">price</th>' in text
    assert '<td data-is="name">tent</td><td data-is="price" class="number">39.00</td>' in text


def test_a_paper_has_a_place_for_each_page_and_its_lines(wire: Wire, browser: httpx.Client) -> None:
    text = text_page(wire, browser, "paper.pdf", pdf(["The autumn plan", "The winter plan"]))
    assert re.findall(r'<h2 id="([^"]+)"', text) == ["page=1", "page=2"]
    assert ("page=2,line=1", "The winter plan") in [(id, line.strip()) for id, line in lines(text)]


def test_what_has_no_text_is_shown_or_said(wire: Wire, browser: httpx.Client) -> None:
    chat = wire.new_chat()
    address = upload(wire, chat, "dot.png", PNG)
    assert f'<img class="whole" src="{address}"' in page(browser, address.replace("/files?", "/text?"))
    assert "Files of this kind are not read" in text_page(wire, browser, "x.bin", bytes(range(256)), chat)
    assert "No file" in page(browser, f"/app/chats/{chat}/text?path=nothing", 404)
    page(browser, f"/app/chats/{chat}/text", 400)
    page(browser, "/app/chats/chat_unknown/text?path=x", 404)


def test_a_long_text_is_cut_and_says_so(wire: Wire, browser: httpx.Client) -> None:
    chat, most = wire.new_chat(), chats._LINES
    assert "left out" not in text_page(wire, browser, "all.txt", b"a\n" * most, chat)
    text = text_page(wire, browser, "long.txt", b"a\n" * (most + 1), chat)
    assert "The rest is left out" in text
    assert len(lines(text)) == most
    wide = "\n".join(",".join(f"{row}.{column}" for column in range(1_000)) for row in range(60)).encode()
    assert "The rest is left out" in text_page(wire, browser, "wide.csv", wide, chat)


def test_a_wide_table_is_cut_and_says_so(wire: Wire, browser: httpx.Client) -> None:
    chat = wire.new_chat()
    for name, columns in (("wide.csv", 1_000), ("all.csv", 200)):
        header, row = (",".join(f"{word}{number}" for number in range(columns)) for word in "ab")
        text = text_page(wire, browser, name, f"{header}\n{row}\n{row}\n".encode(), chat)
        assert (text.count('<th scope="col">'), text.count("<td data-is=")) == (1 + 200, 2 * 200)
        assert ("The rest is left out" in text) is (name == "wide.csv")
    assert len(text_page(wire, browser, "commas.csv", b"," * 400_000 + b"a\n" + b"," * 400_000 + b"b", chat)) < 200_000
    heading = b"long " * 20_000 + b",b\n"
    assert len(text_page(wire, browser, "heading.csv", heading + b"1,2\n" * 1_000, chat)) < 1_000_000


def test_of_a_text_that_the_index_cut_the_rest_is_said_to_be_left_out(wire: Wire, browser: httpx.Client) -> None:
    chat, row = wire.new_chat(), b"tent," + b"x" * 994 + b"\n"
    text = text_page(wire, browser, "long.md", b"word " * 199 + b"word\n" + row * 1_000, chat)
    assert "The rest is left out" in text
    text = text_page(wire, browser, "long.csv", b"name,note\n" + row * 1_000, chat)
    assert "The rest is left out" in text
    assert text.count("<tr id=") == 999, "the last row is half there"


def test_hostile_files_add_no_markup_of_their_own(wire: Wire, browser: httpx.Client) -> None:
    chat = wire.new_chat()
    text, table = (text_page(wire, browser, f"x.{ending}", b"a,b\n1,2\n", chat) for ending in ("md", "csv"))
    plainly = {"md": markup_of(text), "csv": markup_of(table)}
    for number, text in enumerate(one for one in HOSTILE if not any("\ud800" <= c <= "\udfff" for c in one)):
        for ending, data in (("md", text), ("csv", f"{text}\n{text},{text}\n"), ("html", f"<!doctype html>{text}")):
            upload(wire, chat, f"{number} {text.replace('/', '_')[:60]}.{ending}", data.encode())
    for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]:
        found = page(browser, f"/app/chats/{chat}/text?path={quote(file['path'])}")
        assert markup_of(found) <= plainly["csv" if "<table>" in found else "md"], file["path"]


def markup_of(text: str) -> set[tuple[str, str]]:
    """The tags and their attributes, those that hold an address with what they lead to outside our pages."""
    found = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            for name, value in [*attrs, ("", "")]:
                ours = re.match(r"/app\b|#main|$", value or "") or name not in ("href", "src", "action")
                found.add((tag, name if ours else f"{name} {value}"))

    Reader().feed(text)
    return found


def test_a_quoted_passage_leads_to_its_place_from_the_chat() -> None:
    with running_service(model="offline") as service, signed_in(service) as browser:
        name = "the brief & more.md"
        with AgentService(service.api_key, service.base_url) as client:
            question = "Who is the audience in Köln?"
            run = client.runs.start(question, files=[(name, BRIEF.encode())], sync=True)
        chat = page(browser, f"/app/chats/{run.chat}")
        address, path = re.findall(r'<a href="([^"]+)"[^>]*><code>([^<]+)</code></a>, line', chat)[0]
        assert unescape(path) == f"uploads/{name}"
        where, _, fragment = unescape(address).partition("#")
        assert where == f"/app/chats/{run.chat}/text?path={quote('uploads/' + name)}"
        assert "Young families" in dict(lines(page(browser, where)))[unquote(fragment)]
        assert f'href="{where}"' in chat, "in the list of files, too"
