"""The pages as HTML: what they show, what they do, and what they never let through (docs/team.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import quote, unquote

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, page, signed_in
from tests.support.numbers import script
from tests.support.waiting import until

HOSTILE = (
    "<script>alert(1)</script>",
    "</div></details><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><style>*{display:none}</style>",
    '" onmouseover="alert(1)',
    "[a](javascript:alert(1)) <javascript:alert(1)> [b](data:text/html,<script>alert(1)</script>)",
    "![a](https://evil.example/p.png) <iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "| a |\n|---|\n| <b onclick=alert(1)>x</b> |",
    "txt\u202egpj.exe \u2066x\u2069 \x1b[31m \x07",
    "<meta http-equiv=refresh content=0;url=https://evil.example><base href=https://evil.example>",
)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


def test_every_page_is_locked_up(browser: httpx.Client) -> None:
    for path in ("/app", "/app/settings", "/app/feedback", "/app/sign-in", "/app/x", "/app/static/app.css"):
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        text = browser.get(path).text
        assert not re.search(r"<style|\sstyle=|<[^>]*\son\w+=|<script(?! src=\"/app/static/)", text), path


def test_the_address_of_a_run_leads_to_it_also_in_a_long_chat(wire: Wire, browser: httpx.Client) -> None:
    first = wire.finish("say the first of many")
    chat = f"/app/chats/{first['chat']}"
    for number in range(30):
        last = wire.finish(f"say number {number}.", chat=first["chat"])
    latest = page(browser, chat)
    assert "the first of many" not in latest
    (link,) = re.findall(r'href="(\?last=[0-9a-f-]+)"', latest)
    earlier = page(browser, chat + link)
    assert "the first of many" in earlier
    assert "number 29." not in earlier
    origin = str(wire.http.base_url).rstrip("/")
    for run, where in ((last, chat), (first, rf"{chat}\?last=[0-9a-f-]+")):
        assert run["app_url"] == f"{origin}{chat}?run={run['run_id']}"
        location = browser.get(run["app_url"]).headers["location"]
        assert re.fullmatch(rf"{where}#run_{run['run_id']}", location)
        assert f'id="run_{run["run_id"]}"' in page(browser, location)
    assert f'href="{chat}#run_{last["run_id"]}"' in page(browser, "/app")
    elsewhere = wire.finish("say elsewhere")
    page(browser, f"{chat}?run={elsewhere['run_id']}", 404)
    page(browser, f"/app/chats/chat_unknown?run={first['run_id']}", 404)


def test_an_answer_has_the_sources_of_its_numbers(wire: Wire, browser: httpx.Client) -> None:
    shown = page(browser, f"/app/chats/{wire.finish(script())['chat']}")
    assert shown.count('<span class="asvc-number') == 12
    assert 'title="From by_channel: Search, roas = 1.2">1.2</span></td>' in shown
    assert "<summary>11 of 12 numbers traced, 1 not found.</summary>" in shown
    assert "The &lt;b&gt;fee&lt;/b&gt; is 12 %." in shown
    assert " style=" not in shown, "the policy of the pages forbids it"
    assert ".asvc-number" in browser.get("/app/static/answer.css").text


@pytest.mark.rule("`app_url` opens the chat's page at the run.")
def test_a_chat_shows_its_turns_as_safe_markdown(wire: Wire, browser: httpx.Client) -> None:
    run = wire.finish("say **bold** and <b>raw</b>\nstep 3\nusage 1000 500")
    text = page(browser, f"/app/chats/{run['chat']}")
    assert "<strong>bold</strong> and &lt;b&gt;raw&lt;/b&gt;" in text
    assert "0.15 cents" in text
    assert "http-equiv" not in text, "nothing runs, so nothing is refreshed"
    failed = wire.finish("say half\nfail tool_broke The <tool> broke.", chat=run["chat"])
    text = page(browser, f"/app/chats/{failed['chat']}")
    assert "<code>tool_broke</code> The &lt;tool&gt; broke." in text


def test_an_active_turn_shows_what_was_said_so_far_and_refreshes_itself(wire: Wire, browser: httpx.Client) -> None:
    run = wire.start("say before\nrewind\nsay so far\nwait 60")
    path = f"/app/chats/{run['chat']}"
    text = until(lambda: page(browser, path), lambda found: "so far</div>" in found.replace("\n</div>", "</div>"))
    assert f'<noscript><meta http-equiv="refresh" content="3; url={path}"></noscript>' in text
    assert f'data-run="{run["run_id"]}"' in text
    (said,) = re.findall(r"data-text[^>]*>([^<]*)<", text)
    assert said.strip() == "before\nso far", "once: what was said before the rewind no longer counts"
    (stop,) = re.findall(r'action="(/app/runs/[^"]*/cancel)"', text)
    assert browser.post(stop).headers["location"] == f"{path}#run_{run['run_id']}"
    stopped = until(lambda: page(browser, path), lambda found: "http-equiv" not in found)
    assert "cancelled" in stopped
    assert stop not in stopped


def upload(wire: Wire, chat: str, name: str, data: bytes) -> str:
    answer = wire("POST", "/files", params={"chat_id": chat}, files=[("files", (name, data))])
    assert answer.status_code == 200, answer.text
    return f"/app/chats/{chat}/files?path={quote('uploads/' + name)}"


def test_only_harmless_pictures_are_shown_in_place(wire: Wire, browser: httpx.Client) -> None:
    chat = wire.new_chat()
    script = b"<script>alert(1)</script>"
    active = {
        "page.html": b"<!doctype html><html>" + script,
        "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg">' + script + b"</svg>",
        "paper.pdf": b"%PDF-1.4\n",
    }
    for name, data in active.items():
        answer = browser.get(upload(wire, chat, name, data))
        assert answer.headers["content-disposition"].startswith("attachment"), name
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.content == data
    fake = browser.get(upload(wire, chat, "fake.png", b"<html>" + script))
    assert fake.headers["content-type"] == "image/png", "as a picture, which it is not, and never as a page"
    picture = browser.get(upload(wire, chat, "dot.png", PNG))
    assert picture.headers["content-disposition"].startswith("inline")
    assert picture.headers["content-type"] == "image/png"
    text = page(browser, f"/app/chats/{chat}")
    assert len(re.findall("<img ", text)) == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text, "a text's head, as text"
    assert browser.get(f"/app/chats/{chat}/files?path=nothing").status_code == 404


def test_hostile_text_adds_no_markup_of_its_own(wire: Wire, browser: httpx.Client) -> None:
    """Neither of a question, an answer, an error nor a file's name and head."""
    script = "\n".join(f"say {line}" for text in HOSTILE for line in (*text.splitlines(), ""))
    chat = wire.finish(f"{script}\nfail broke {HOSTILE[0]}")["chat"]
    for text in HOSTILE:
        upload(wire, chat, text.replace("/", "_")[:80], text.encode())
    shown = page(browser, f"/app/chats/{chat}")
    check_markup(shown)
    targets = re.findall(r'<a href="([^"]*)"', shown)
    assert targets
    assert all(re.match(r"(https?://|mailto:|/app\b|#main)", target) for target in targets)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", shown)


def check_markup(text: str) -> None:
    """The page has no element and no attribute that does something, but our own script."""
    ours = text.replace('<script src="/app/static/follow.js" defer></script>', "")
    assert not re.findall(r"<(?:script|iframe|style|svg|object|embed|base|math|video|img|meta (?!charset|name))", ours)
    assert not re.findall(r"<[a-z][^>]*\s(?:on\w+|style|srcdoc|formaction)\s*=", ours)


BRIEF = "# Audience\n\nYoung families in Köln,\n  who cycle to work.\n\n\nThe <b>budget</b> is 5 & more.\n"


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


def test_a_quoted_passage_leads_to_its_place_from_the_chat(offline_service: RunningService) -> None:
    with signed_in(offline_service) as browser:
        name = "the brief & more.md"
        with AgentService(offline_service.api_key, offline_service.base_url) as client:
            question = "Who is the audience in Köln?"
            run = client.runs.start(question, files=[(name, BRIEF.encode())], sync=True)
        chat = page(browser, f"/app/chats/{run.chat}")
        address, path = re.findall(r'<a href="([^"]+)"[^>]*><code>([^<]+)</code></a>, line', chat)[0]
        assert unescape(path) == f"uploads/{name}"
        where, _, fragment = unescape(address).partition("#")
        assert where == f"/app/chats/{run.chat}/text?path={quote('uploads/' + name)}"
        assert "Young families" in dict(lines(page(browser, where)))[unquote(fragment)]
        assert f'href="{where}"' in chat, "in the list of files, too"
