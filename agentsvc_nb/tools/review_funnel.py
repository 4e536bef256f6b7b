"""`review_funnel`: fetches a landing page, checks it by rules, and stores it as a landing page of the account."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final
from urllib.parse import urljoin

from pydantic import BaseModel

from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, ToolServices, WorkFailure
from agentsvc_nb.tools.support import landing
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.tools.support.landing import FunnelReview, PageFacts, ReviewFunnelInput, Weight
from agentsvc_nb.wire.limits import MB

PAGE_BYTES: Final = 5 * MB
FILE_BYTES: Final = 5 * MB
FILES_WEIGHED: Final = 40
FILE_SECONDS: Final = 8.0
AT_ONCE: Final = 6
_PAGES: Final = ("text/html", "application/xhtml+xml", "")


class ReviewFunnel(BaseTool):
    """Fetches what any visitor may see. It runs no scripts."""

    name: ClassVar[str] = "review_funnel"
    description: ClassVar[str] = (
        "Fetches a landing page and checks title, headings, calls to action, forms and weight. Stores the page."
    )
    family: ClassVar[str] = "review_funnel"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("fetch_allow", "approve_effects", "approved_hosts")
    requirements: ClassVar[str] = (
        "Needs the network. What a visitor's browser would be sent is looked at; no scripts are run. Addresses of "
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
        fetched = await fetcher.get(given.url, max_bytes=PAGE_BYTES, accept="text/html,*/*;q=0.5")
        if fetched.media_type not in _PAGES:
            raise WorkFailure("fetch_failed", f"{fetched.url[:200]!r} is {fetched.media_type}, not a page.")
        await context.progress(1, 3, "reading the page")
        page = await asyncio.to_thread(landing.facts, fetched.text)
        weight = await self._weight(fetcher, fetched, page, context, given.weigh)
        review = _review(await context.keep_page(given.url), given.url, fetched, page, weight)
        await context.progress(3, 3, "done")
        return Outcome(content=[{"type": "text", "text": _summary(review)}], data=review.model_dump())

    async def _weight(
        self, fetcher: Fetcher, fetched: Fetched, page: PageFacts, context: ToolContext, weigh: bool
    ) -> Weight:
        urls = [urljoin(fetched.url, url) for _, url in page.files][: FILES_WEIGHED if weigh else 0]
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


async def _size(fetcher: Fetcher, url: str) -> int | None:
    """The size of a file on the wire, in bytes; None if it can't be fetched."""
    try:
        found = await fetcher.get(url, max_bytes=FILE_BYTES, seconds=FILE_SECONDS)
    except WorkFailure:
        return None
    return found.transferred if found.status == 200 else None


def _review(page_id: str, url: str, fetched: Fetched, page: PageFacts, weight: Weight) -> FunnelReview:
    return FunnelReview(
        page_id=page_id,
        url=url,
        final_url=fetched.url,
        status=fetched.status,
        redirects=list(fetched.redirects),
        language=page.language,
        title=page.title,
        description=page.description,
        headings=page.headings,
        actions=page.actions,
        forms=page.forms,
        words=page.words,
        images=page.images,
        images_without_alt=page.images_without_alt,
        weight=weight,
        checks=landing.checks(page, fetched.url, fetched.status, len(fetched.redirects), weight),
    )


def _summary(review: FunnelReview) -> str:
    """The failed checks as text, the most severe first."""
    failed = [check for check in review.checks if not check.passed]
    failed.sort(key=lambda check: ("high", "medium", "low").index(check.severity))
    head = (
        f"{review.title or review.final_url}: {len(review.checks) - len(failed)} of {len(review.checks)} checks passed."
    )
    return "\n".join([head, *(f"- {check.severity}: {check.message}" for check in failed)])
