"""A long listing as a DataFrame: from the service's pages to the table, and the table alone.

python -m tests.bench.frames [--quick]
"""

from __future__ import annotations

import sys
from typing import Any, Final

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.client.models import Listing
from tests.bench.peers import Work, compare, show

PAGE: Final = 1_000
CHAT: Final = "chat_1"


def main(quick: bool) -> None:
    entries, rounds = (1_000, 1) if quick else (10_000, 5)
    pages = [_page(start, min(start + PAGE, entries), entries) for start in range(0, entries, PAGE)]
    client = AgentService("svc_sk_x", "http://service.test", transport=httpx.MockTransport(_service(pages)))
    works = {
        f"{entries:,} entries, listed and to_frame()": _listed(client, entries),
        "to_frame() alone": _framed(client.files.list(CHAT).all()),
        "httpx and pandas, without types": _raw(pages, entries),
    }
    show("processor time", compare(works, 1, rounds))


def _page(start: int, end: int, entries: int) -> dict[str, Any]:
    return {"object": "list", "files": [_entry(n) for n in range(start, end)], "next_after": end < entries and str(end)}


def _entry(number: int) -> dict[str, Any]:
    return {
        "id": f"{number:064x}",
        "path": f"reports/{number:05}.md",
        "name": None,
        "kind": "document",
        "media_type": "text/markdown",
        "size_bytes": number,
        "updated_at": "2026-03-01T12:00:00.000Z",
    }


def _service(pages: list[dict[str, Any]]) -> Any:
    def answer(request: httpx.Request) -> httpx.Response:
        after = int(request.url.params.get("after", "0"))
        page = pages[after // PAGE]
        return httpx.Response(200, json={**page, "next_after": page["next_after"] or None})

    return answer


def _listed(client: AgentService, entries: int) -> Work:
    def work(times: int) -> None:
        for _ in range(times):
            assert len(client.files.list(CHAT).to_frame()) == entries

    return work


def _framed(listing: Listing[Any]) -> Work:
    def work(times: int) -> None:
        for _ in range(times):
            assert len(listing.to_frame()) == len(listing)

    return work


def _raw(pages: list[dict[str, Any]], entries: int) -> Work:
    import pandas as pd

    http = httpx.Client(transport=httpx.MockTransport(_service(pages)), base_url="http://service.test")

    def work(times: int) -> None:
        for _ in range(times):
            rows = [row for n in range(len(pages)) for row in http.get("/", params={"after": n * PAGE}).json()["files"]]
            assert len(pd.DataFrame(rows)) == entries

    return work


if __name__ == "__main__":
    main("--quick" in sys.argv)
