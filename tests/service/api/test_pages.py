"""The pages as HTML: what they show, what they do, and what they never let through (docs/web.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.notebook.test_hostile import HOSTILE
from tests.service.api.conftest import Wire
from tests.service.api.signing import page, signed_in
from tests.support.waiting import until

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


def test_every_page_is_locked_up(browser: httpx.Client) -> None:
    for path in (
        "/app",
        "/app/settings",
        "/app/feedback",
        "/app/terms",
        "/app/sign-in",
        "/app/x",
        "/app/static/app.css",
    ):
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


def test_pages_have_an_icon(browser: httpx.Client) -> None:
    """Without one a browser asks for /favicon.ico, and says in its console that there is none."""
    (address,) = re.findall(r'<link rel="icon" [^>]*href="([^"]+)"', browser.get("/app").text)
    icon = browser.get(address)
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
    assert icon.text.startswith("<svg ")


def test_only_who_is_signed_in_can_sign_out(service: RunningService, browser: httpx.Client) -> None:
    assert "Sign out" in page(browser, "/app")
    with httpx.Client(base_url=service.base_url) as stranger:
        for path in ("/app/terms", "/app/api", "/app/x"):
            assert "Sign out" not in stranger.get(path).text


def test_an_unknown_page_is_a_page_and_an_unknown_route_json(browser: httpx.Client) -> None:
    assert "There is no such page" in page(browser, "/app/nothing/here", 404)
    assert "No such chat" in page(browser, "/app/chats/chat_unknown", 404)
    page(browser, "/app/chats/not%20a%20chat", 400)
    page(browser, "/app?before=x", 400)
    wrong = browser.delete("/app/settings")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert browser.get("/api/nothing").json()["error"]["code"] == "not_found"
    assert browser.get("/").headers["location"] == "/app"


def test_the_list_shows_the_chats_last_used_first(wire: Wire, browser: httpx.Client) -> None:
    first, second = (wire.finish(f"say this is {name}")["chat"] for name in ("the first", "the second"))
    wire.finish("say and again", chat=first)
    text = page(browser, "/app")
    assert text.index(first) < text.index(second)
    assert "say and again" in text
    assert "say this is the first" not in text, "only the last message"


def test_long_lists_go_on_with_links(wire: Wire, browser: httpx.Client) -> None:
    chat = wire.finish("say turn 0 of many")["chat"]
    for number in range(1, 32):
        wire.finish(f"say turn {number} of many", chat=chat)
    latest = page(browser, f"/app/chats/{chat}")
    assert "turn 31 of many" in latest
    assert "turn 1 of many" not in latest
    (link,) = re.findall(r'href="(\?last=[0-9a-f-]+)"', latest)
    earlier = page(browser, f"/app/chats/{chat}{link}")
    assert "turn 1 of many" in earlier
    assert "turn 31 of many" not in earlier


def test_the_address_of_a_run_leads_to_it_also_in_a_long_chat(wire: Wire, browser: httpx.Client) -> None:
    first = wire.finish("say the first of many")
    chat = f"/app/chats/{first['chat']}"
    for number in range(30):
        last = wire.finish(f"say number {number}", chat=first["chat"])
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


def test_a_chat_shows_its_turns_as_safe_markdown(wire: Wire, browser: httpx.Client) -> None:
    run = wire.finish("say **bold** and <b>raw</b>\nstep 3\nusage 1000 500")
    text = page(browser, f"/app/chats/{run['chat']}")
    assert "<strong>bold</strong> and &lt;b&gt;raw&lt;/b&gt;" in text
    assert "4 steps" in text
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


def test_the_stream_is_read_with_the_session(wire: Wire, browser: httpx.Client) -> None:
    run = wire.finish("say streamed")
    sse = {"Accept": "text/event-stream"}
    answer = browser.get(f"/app/runs/{run['run_id']}/events", headers={**sse, "Last-Event-ID": "0"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "streamed" in answer.text
    assert "run.ended" in answer.text
    assert browser.get("/app/runs/00000000-0000-0000-0000-000000000000/events", headers=sse).status_code == 404


def test_jobs_are_shown(wire: Wire, browser: httpx.Client) -> None:
    submit = {"chat": "new", "tool": "echo_job", "input": {"steps": 2, "seconds": 0, "files": {"out.txt": "made"}}}
    job = wire("POST", "/jobs", json=submit).json()
    text = until(
        lambda: page(browser, f"/app/chats/{job['chat']}"), lambda found: '<span class="status succeeded">' in found
    )
    assert "echo_job" in text
    assert "out.txt" in text


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
        "x.xhtml": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">' + script,
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


@pytest.fixture(scope="module")
def hostile_page() -> Iterator[str]:
    """The page of a chat in which question, answer and file names are hostile."""
    with running_service() as service, signed_in(service) as browser:
        http = httpx.Client(base_url=service.base_url, headers={"x-api-key": service.api_key}, timeout=60)
        with http:
            sayable = [text for text in HOSTILE if not any("\ud800" <= one <= "\udfff" for one in text)]
            script = "\n".join(f"say {line}" for text in sayable for line in (*text.splitlines(), ""))
            run = http.post(f"{V1}/runs", json={"message": script, "sync": True}).json()
            for text in sayable:
                body: dict[str, Any] = {"files": [("files", (text.replace("/", "_")[:80], text.encode()))]}
                http.post(f"{V1}/files", params={"chat_id": run["chat"]}, **body)
        yield page(browser, f"/app/chats/{run['chat']}")


def test_hostile_text_adds_no_markup_of_its_own(hostile_page: str) -> None:
    ours = re.sub(r'<script src="/app/static/follow.js" defer></script>', "", hostile_page)
    assert not re.findall(r"<(?:script|iframe|style|svg|object|embed|base|math|video|img|meta (?!charset|name))", ours)
    assert not re.findall(r"<[a-z][^>]*\s(?:on\w+|style|srcdoc|formaction)\s*=", ours)
    targets = re.findall(r'<a href="([^"]*)"', ours)
    assert targets
    assert all(re.match(r"(https?://|mailto:|/app\b|#main)", target) for target in targets)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", ours)
