"""Read a fetched page in a process with limits: its text, or what a landing page holds.

A page that somebody else wrote may be made to be slow to parse, or to break a parser.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Final

from agentsvc_nb.documents.child_process import LimitedChild, Limits
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched
from agentsvc_nb.tools.support.landing import PageFacts, facts

LIMITS: Final = Limits(memory_bytes=768 * 2**20, cpu_seconds=15, file_bytes=0)
PATIENCE_SECONDS: Final = 20.0
ANSWER_BYTES: Final = 40_000_000


async def read_text(page: Fetched) -> tuple[str, str]:
    """Return the title of a page, and its text as Markdown with absolute links.

    Raises:
        WorkFailure: `no_text`: the page can't be read within the limits.
    """
    found = await _ask({"html": await asyncio.to_thread(page.decode), "url": page.url})
    return found["title"], found["text"]


async def read_facts(page: Fetched) -> PageFacts:
    """Return what a landing page holds. Raises as `read_text`."""
    return PageFacts.model_validate(await _ask({"html": await asyncio.to_thread(page.decode)}))


async def _ask(question: dict[str, str]) -> dict[str, str]:
    """Ask a child, which ends after its answer."""
    answer = await asyncio.to_thread(_ask_child, json.dumps(question).encode())
    found: dict[str, str] = json.loads(answer) if answer.endswith(b"\n") else {"error": "it takes too long to read"}
    if "error" in found:
        raise WorkFailure("no_text", f"The page can't be read: {found['error']}.")
    return found


def _ask_child(question: bytes) -> bytes:
    with LimitedChild(__name__, limits=LIMITS) as child:
        return child.ask(question, PATIENCE_SECONDS, ANSWER_BYTES)


def _answer(question: dict[str, str]) -> str:
    from agentsvc_nb.documents.markup import parse_html
    from agentsvc_nb.documents.page_markdown import to_markdown

    try:
        if "url" not in question:
            return facts(question["html"]).model_dump_json()
        root = parse_html(question["html"])
        return json.dumps({"title": root.get("title", ""), "text": to_markdown(root, question["url"])})
    except ValueError as error:
        return json.dumps({"error": str(error)})


if __name__ == "__main__":
    print(_answer(json.loads(sys.stdin.readline())))
