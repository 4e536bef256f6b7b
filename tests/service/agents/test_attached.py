"""What a model is told of attached texts: short ones whole, of long ones an outline, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agentsvc_nb.wire.runs import CENT
from tests.service.agents.serving import Serving, serving
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Reply

SECTION = "# Part {}\n\n" + "The quick brown fox jumps over the lazy dog. " * 1_500 + "\n\n"
BOOK = "".join(SECTION.format(number) for number in range(1, 21))
"""1.4 MB."""
DONE = Reply(("Done.",), writes=50)


@pytest.fixture(scope="module")
def it() -> Iterator[Serving]:
    with serving(PROVIDERS["anthropic"]) as serves:
        yield serves


def asked(it: Serving, place: int = -1) -> str:
    """The messages of a request."""
    body = it.server.asked[place]
    return json.dumps(body.get("messages", body.get("input")))


def test_a_long_text_costs_little_and_is_read_where_it_matters(it: Serving) -> None:
    at = BOOK.index("# Part 7")
    read = Reply(calls=(("read_file", json.dumps({"path": "uploads/book.md", "start": at, "length": 500})),), writes=50)
    run = it.ask("What is Part 7 about?", read, DONE, files=[("book.md", BOOK.encode())])
    assert run.output == "Done."
    assert len(asked(it, 0)) < 12_000
    assert f"- {at}: # Part 7" in asked(it, 0)
    assert json.dumps(BOOK[at : at + 500])[1:-1] in asked(it)
    assert f"[characters {at} to {at + 500} of " in asked(it)
    assert run.usage.cost_microcents < 8 * CENT


def test_no_text_is_sent_twice(it: Serving) -> None:
    rules, note = b"Always answer in verse, friend.", b"The code is 4711, friend."
    files = [("AGENTS.md", rules), ("a.txt", note), ("b.txt", note)]
    chat = it.ask("What is it?", DONE, files=files).chat
    assert (json.dumps(it.server.asked[0]).count("in verse, friend"), asked(it).count("4711, friend")) == (1, 1)
    it.ask("And now?", DONE, chat=chat, files=[("a.txt", note)])
    assert "4711" not in asked(it)
    assert "uploads/a.txt" in asked(it)
    it.ask("And now?", DONE, chat=chat, files=[("a.txt", b"The code is 4712.")])
    assert "4712" in asked(it), "a text with the name of another one is told"
