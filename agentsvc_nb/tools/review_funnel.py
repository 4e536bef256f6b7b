"""`review_funnel`: fetches a landing page, checks it by rules, and stores it as a landing page of the account."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from pydantic import BaseModel

from agentsvc_nb.tools.port import BaseTool, Check, Outcome, ToolContext, ToolServices, WorkFailure
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
from agentsvc_nb.wire.limits import MB

PAGE_BYTES: Final = 5 * MB
FILE_BYTES: Final = 5 * MB
FILES_WEIGHED: Final = 40
FILE_SECONDS: Final = 8.0
AT_ONCE: Final = 6
ACTIONS_SHOWN: Final = 20
_ACCEPT: Final = "text/html,*/*;q=0.5"
_PAGES: Final = ("text/html", "application/xhtml+xml", "")


class ReviewFunnel(BaseTool):
    """Fetches what any visitor may see. It runs no scripts."""

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
        "Needs the network. What a visitor's browser would be sent is looked at; no scripts are run, and `hidden` says "
        "what that may hide. Links that may do something, such as one that logs out, are not followed. Addresses of "
        "private networks are refused, unless the operator allows them."
    )

    Input: ClassVar[type[BaseModel]] = ReviewFunnelInput
    Output: ClassVar[type[BaseModel] | None] = FunnelReview

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._fetcher = Fetcher(services.settings.fetch_allow)

    def fetches(self, given: ReviewFunnelInput) -> list[str]:
        return [given.url]

    async def run(self, given: ReviewFunnelInput, context: ToolContext) -> Outcome:
        await context.progress(0, 3, f"fetching {given.url[:100]}")
        fetcher = self._fetcher.within(given.url, context.fetch_only)
        fetched = await fetcher.get(given.url, max_bytes=PAGE_BYTES, accept=_ACCEPT)
        if fetched.media_type not in _PAGES:
            raise WorkFailure("fetch_failed", f"{fetched.url[:200]!r} is {fetched.media_type}, not a page.")
        await context.progress(1, 3, "reading the page")
        page = await read_facts(fetched)
        weight = await self._weight(fetcher, fetched, page, context, given.weigh)
        following = await self._follow(fetcher.within(fetched.url, ()), fetched.url, page, given.pages, context)
        review = FunnelReview(
            **page.model_dump(include=set(PageContents.model_fields)),
            page_id=await context.keep_page(given.url),
            url=given.url,
            final_url=fetched.url,
            status=fetched.status,
            redirects=list(fetched.redirects),
            weight=weight,
            checks=_checks(fetched, page, weight),
            hidden=landing.hidden(page),
            following=following,
        )
        await context.progress(3, 3, "done")
        return Outcome(content=[{"type": "text", "text": _summary(review)}], data=review.model_dump())

    async def _follow(
        self, fetcher: Fetcher, start: str, page: PageFacts, pages: int, context: ToolContext
    ) -> list[FunnelPage]:
        """The pages that calls to action lead to, those of the first page first; `fetcher` reaches that site alone."""
        found: list[FunnelPage] = []
        seen = {start}
        waiting = [(url, said, start) for url, said in landing.onward(page, start, seen)]
        while waiting and len(found) < pages - 1:
            url, said, source = waiting.pop(0)
            if url in seen:
                continue
            seen.add(url)
            await context.progress(2, 3, f"following {said[:100]!r}")
            looked, facts = await _look(fetcher, url, said, source)
            found.append(looked)
            if facts is not None:
                waiting += [(next_url, text, url) for next_url, text in landing.onward(facts, url, seen)]
        return found

    async def _weight(
        self, fetcher: Fetcher, fetched: Fetched, page: PageFacts, context: ToolContext, weigh: bool
    ) -> Weight:
        urls = [resolve_link(fetched.url, url) or url for _, url in page.files][: FILES_WEIGHED if weigh else 0]
        await context.progress(2, 3, f"weighing {len(urls)} files")
        gate = asyncio.Semaphore(AT_ONCE)

        async def size(url: str) -> int | None:
            async with gate:
                return await _size(fetcher, url)

        sizes = dict(zip(urls, await asyncio.gather(*map(size, urls)), strict=True))
        measured = [bytes_ for bytes_ in sizes.values() if bytes_ is not None]
        kinds = [kind for kind, _ in page.files]
        return Weight(
            html_bytes=fetched.transferred,
            total_bytes=fetched.transferred + sum(measured),
            files={kind: kinds.count(kind) for kind in ("script", "style", "image")},
            measured=len(measured),
            unreachable=[url for url, bytes_ in sizes.items() if bytes_ is None],
        )


async def _look(fetcher: Fetcher, url: str, said: str, source: str) -> tuple[FunnelPage, PageFacts | None]:
    """Return a page, and its facts; None when it can't be fetched or is none."""
    looked = FunnelPage(url=url, said=said, source=source, status=None)
    try:
        fetched = await fetcher.get(url, max_bytes=PAGE_BYTES, seconds=FILE_SECONDS, accept=_ACCEPT)
    except WorkFailure as failure:
        # The fetcher reaches that site alone.
        looked.fault = "It leads to another site." if failure.code == "address_refused" else failure.message
        return looked, None
    looked.status = fetched.status
    if fetched.media_type not in _PAGES:
        looked.fault = f"It is {fetched.media_type[:100]}, not a page."
        return looked, None
    page, size = await read_facts(fetched), fetched.transferred
    weight = Weight(html_bytes=size, total_bytes=size, files={}, measured=0, unreachable=[])
    looked.title, looked.hidden = page.title, landing.hidden(page)
    looked.actions = [action.text for action in page.actions[:ACTIONS_SHOWN]]
    looked.fields = sum(len(form.fields) for form in page.forms)
    looked.checks = [check for check in _checks(fetched, page, weight) if not check.passed]
    return looked, page


def _checks(fetched: Fetched, page: PageFacts, weight: Weight) -> list[Check]:
    return landing.checks(page, fetched.url, fetched.status, len(fetched.redirects), weight)


async def _size(fetcher: Fetcher, url: str) -> int | None:
    """The size of a file on the wire, in bytes; None if it can't be fetched."""
    try:
        found = await fetcher.get(url, max_bytes=FILE_BYTES, seconds=FILE_SECONDS)
    except WorkFailure:
        return None
    return found.transferred if found.status == 200 else None


def _summary(review: FunnelReview) -> str:
    """The failed checks as text, the most severe first."""
    failed = [check for check in review.checks if not check.passed]
    failed.sort(key=lambda check: ("high", "medium", "low").index(check.severity))
    head = (
        f"{review.title or review.final_url}: {len(review.checks) - len(failed)} of {len(review.checks)} checks passed."
    )
    lines = [head, *(f"- {check.severity}: {check.message}" for check in failed)]
    lines += [f"- not seen: {sentence}" for sentence in review.hidden]
    for step, page in enumerate(review.following, 2):
        worst = [check.message for check in page.checks if check.severity == "high"]
        said = page.fault or f"{page.title or 'no title'}, {page.fields} fields to fill in. {' '.join(worst)}"
        lines.append(f"- page {step}, by {page.said!r}: {page.url}: {said}".rstrip())
        lines += [f"  - not seen: {sentence}" for sentence in page.hidden]
    return "\n".join(lines)
