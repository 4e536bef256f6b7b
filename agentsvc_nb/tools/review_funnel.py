"""Define `review_funnel`, a tool that fetches a landing page, checks it by fixed rules, and stores it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import ClassVar, Final

from pydantic import BaseModel

from agentsvc_nb.tools.port import BaseTool, Check, Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support import landing
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher, resolve_link
from agentsvc_nb.tools.support.landing import (
    FunnelPage,
    FunnelReview,
    PageContents,
    PageFacts,
    ReviewFunnelInput,
    Weight,
)
from agentsvc_nb.tools.support.untrusted import read_facts
from agentsvc_nb.wire.limits import FETCH_SECONDS, MB

PAGE_BYTES: Final = 5 * MB
FILES_WEIGHED: Final = 40
FILE_SECONDS: Final = 8.0
AT_ONCE: Final = 6
ACTIONS_SHOWN: Final = 20
_PAGES: Final = ("text/html", "application/xhtml+xml", "")


class ReviewFunnel(BaseTool):
    """Fetches only what any visitor can see. Does not run the page's scripts."""

    name: ClassVar[str] = "review_funnel"
    description: ClassVar[str] = (
        "Fetches a landing page and checks title, headings, calls to action, forms and weight; follows its calls to "
        "action to at most four more pages of the same site. Stores the page."
    )
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("fetch_allow", "approve_effects", "approved_hosts")
    requirements: ClassVar[str] = (
        "Needs the network. It checks what the server sends and runs no scripts; `hidden` says what they may "
        "hide. It does not follow links that may change something, such as a logout. It refuses "
        "addresses of private networks, unless the operator allows them."
    )
    Input: ClassVar[type[BaseModel]] = ReviewFunnelInput
    Output: ClassVar[type[BaseModel] | None] = FunnelReview

    def fetches(self, given: ReviewFunnelInput) -> list[str]:
        return [given.url]

    async def run(self, given: ReviewFunnelInput, context: ToolContext) -> Outcome:
        await context.progress(0, 2, f"reading {given.url[:100]}")
        fetcher = Fetcher(self.services.settings.fetch_allow).within(given.url, context.fetch_only)
        fetched, page = await _read(fetcher, given.url, FETCH_SECONDS)
        await context.progress(1, 2, "weighing its files and following its calls to action")
        weight = await _weigh(fetcher, fetched, page, FILES_WEIGHED if given.weigh else 0)
        following = await _follow(fetcher.within(fetched.url, ()), fetched.url, page, given.pages - 1)
        review = FunnelReview(
            **page.model_dump(include=set(PageContents.model_fields)),
            page_id=await context.keep_page(given.url),
            url=given.url,
            final_url=fetched.url,
            status=fetched.status,
            redirects=list(fetched.redirects),
            weight=weight,
            checks=_checks(fetched, page, weight),
            hidden=landing.describe_hidden(page),
            following=following,
        )
        await context.progress(2, 2, "done")
        return Outcome(content=[{"type": "text", "text": _summary(review)}], data=review.model_dump())


async def _weigh(fetcher: Fetcher, fetched: Fetched, page: PageFacts, most: int) -> Weight:
    """Return the size of a page and of the files that it loads. Fetches at most `most` of these files."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def size(url: str) -> int | None:
        with contextlib.suppress(WorkFailure):
            async with gate:
                found = await fetcher.get(url, max_bytes=PAGE_BYTES, seconds=FILE_SECONDS)
                return found.transferred if found.status == 200 else None
        return None

    urls = [resolve_link(fetched.url, url) or url for _, url in page.files[:most]]
    sizes = dict(zip(urls, await asyncio.gather(*map(size, urls)), strict=True))
    measured = [size for size in sizes.values() if size is not None]
    kinds = [kind for kind, _ in page.files]
    return Weight(
        html_bytes=fetched.transferred,
        total_bytes=fetched.transferred + sum(measured),
        files={kind: kinds.count(kind) for kind in ("script", "style", "image")},
        measured=len(measured),
        unreachable=[url for url, size in sizes.items() if size is None],
    )


async def _follow(fetcher: Fetcher, start: str, page: PageFacts, most: int) -> list[FunnelPage]:
    """Follow a page's calls to action, and those of the pages found, until `most` pages are fetched.

    Fetch pages that need fewer clicks first. `fetcher` must be limited to the site.
    """
    found: dict[str, FunnelPage] = {}
    waiting = [(url, said, start) for url, said in landing.find_next_pages(page, start)]
    while waiting and len(found) < most:
        url, said, source = waiting.pop(0)
        if url not in found and url != start:
            found[url], facts = await _look(fetcher, url, said, source)
            onward = landing.find_next_pages(facts, url) if facts else []
            waiting += [(next_url, text, url) for next_url, text in onward]
    return list(found.values())


async def _read(fetcher: Fetcher, url: str, seconds: float) -> tuple[Fetched, PageFacts]:
    """Fetch a page and return it with its facts. Raises `WorkFailure` if this fails or the page is not HTML."""
    fetched = await fetcher.get(url, max_bytes=PAGE_BYTES, seconds=seconds, accept="text/html,*/*;q=0.5")
    if fetched.media_type not in _PAGES:
        raise WorkFailure("fetch_failed", f"{fetched.url[:200]!r} is {fetched.media_type[:100]}, not an HTML page.")
    return fetched, await read_facts(fetched)


async def _look(fetcher: Fetcher, url: str, said: str, source: str) -> tuple[FunnelPage, PageFacts | None]:
    """Fetch a linked page and return its review and its facts. The facts are None if the page can't be read."""
    looked = FunnelPage(url=url, said=said, source=source, status=None)
    try:
        fetched, page = await _read(fetcher, url, FILE_SECONDS)
    except WorkFailure as failure:
        # The fetcher refuses addresses of other sites.
        looked.fault = "It leads to another site." if failure.code == "address_refused" else failure.message
        return looked, None
    size = fetched.transferred
    weight = Weight(html_bytes=size, total_bytes=size, files={}, measured=0, unreachable=[])
    looked.status, looked.title, looked.hidden = fetched.status, page.title, landing.describe_hidden(page)
    looked.actions = [action.text for action in page.actions[:ACTIONS_SHOWN]]
    looked.fields = sum(len(form.fields) for form in page.forms)
    looked.checks = [check for check in _checks(fetched, page, weight) if not check.passed]
    return looked, page


def _checks(fetched: Fetched, page: PageFacts, weight: Weight) -> list[Check]:
    return landing.check_page(page, fetched.url, fetched.status, len(fetched.redirects), weight)


def _summary(review: FunnelReview) -> str:
    """Return the review as text, with the failed checks, the most severe first."""
    failed = [check for check in review.checks if not check.passed]
    failed.sort(key=lambda check: ("high", "medium", "low").index(check.severity))
    passed, every = len(review.checks) - len(failed), len(review.checks)
    lines = [f"{review.title or review.final_url}: {passed} of {every} checks passed."]
    lines += [f"- {check.severity}: {check.message}" for check in failed]
    lines += [f"- not seen: {sentence}" for sentence in review.hidden]
    for step, page in enumerate(review.following, 2):
        worst = [check.message for check in page.checks if check.severity == "high"]
        said = page.fault or f"{page.title or 'no title'}, {page.fields} fields to fill in. {' '.join(worst)}"
        lines.append(f"- page {step}, by {page.said!r}: {page.url}: {said}".rstrip())
        lines += [f"  - not seen: {sentence}" for sentence in page.hidden]
    return "\n".join(lines)
