"""Use cases of ad media and their transcripts, and of landing pages and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.media import media_records
from agentsvc_nb.service.media.media_records import MediaFacts, MediaRecord, PageRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.support.fetching import is_web_address
from agentsvc_nb.wire.resources import Label, NewLabels

_LABEL_ROWS: Final = (
    Label(
        name="page_type",
        description="The kind of page.",
        values=["product", "collection", "homepage", "advertorial", "listicle", "quiz", "lead_form", "other"],
    ),
    Label(
        name="goal",
        description="The action that the page asks of a visitor.",
        values=["buy", "subscribe", "sign_up", "book", "request_quote", "download", "read_on"],
    ),
    Label(
        name="offer",
        description="The strongest incentive to act now.",
        values=["discount", "bundle", "free_trial", "free_shipping", "gift", "none"],
    ),
    Label(
        name="audience_stage",
        description="How much a visitor already knows.",
        values=["unaware", "problem_aware", "solution_aware", "product_aware", "customer"],
    ),
    Label(
        name="proof",
        description="The most prominent reason to believe the page.",
        values=["reviews", "testimonials", "press", "study", "numbers", "before_after", "none"],
    ),
    Label(
        name="urgency",
        description="The reason why waiting costs the visitor something.",
        values=["deadline", "low_stock", "seasonal", "none"],
    ),
)

LABELS: Final[dict[str, Label]] = {row.name: row for row in _LABEL_ROWS}
"""The labels of landing pages, by name, with all values that each label may have (docs/api/media.md)."""


def add_page(tx: Tx, account: str, url: str, now: int) -> PageRecord:
    """Return the account's page at `url`, or create it. Raises `invalid_query` for an invalid web address."""
    if not is_web_address(url):
        raise ApiError("invalid_query", f"{url[:80]!r} is not a web address. Use http://... or https://...")
    return media_records.add(tx, account, url, now)


async def save_page(context: UseCaseContext, account: str, url: str) -> PageRecord:
    """Run `add_page` in a new transaction, for a page that a tool found."""
    now = context.now
    return await context.write(lambda tx: add_page(tx, account, url, now))


async def get_page(context: UseCaseContext, account: str, page: str) -> PageRecord:
    """Return the landing page. Raises `landing_page_not_found`."""
    return await context.read(lambda tx: _page_of(tx, account, page))


def _page_of(tx: Tx, account: str, page: str) -> PageRecord:
    record = media_records.get_page(tx, page, account)
    if record is None:
        raise ApiError("landing_page_not_found", f"There is no landing page {page[:80]!r}.")
    return record


async def write_labels(context: UseCaseContext, account: str, page: str, given: NewLabels) -> PageRecord:
    """Replace a page's labels.

    Raises `invalid_label`, `landing_page_not_found`, and, if the page no longer has `expected_version`,
    `version_conflict` with the current `version`.
    """
    for name, value in given.labels.items():
        label = LABELS.get(name)
        if label is None or value not in label.values:
            *others, last = LABELS if label is None else label.values
            wrong = f"There is no label {name[:80]!r}" if label is None else f"{value[:80]!r} is not a value of {name}"
            raise ApiError("invalid_label", f"{wrong}: use {', '.join(others)} or {last}.", field=f"labels.{name[:80]}")

    def use(tx: Tx) -> PageRecord:
        present = _page_of(tx, account, page)
        record = media_records.write(tx, page, account, given.labels, given.expected_version)
        if record is None:
            raise ApiError("version_conflict", version=present.version)
        return record

    return await context.write(use)


def add(tx: Tx, account: str, content: Content, facts: MediaFacts, now: int) -> MediaRecord:
    """Insert a media record for a stored blob. Raises `invalid_query` if `facts.url` is not a web address."""
    if facts.url is not None and not is_web_address(facts.url):
        raise ApiError("invalid_query", f"{facts.url[:80]!r} is not a web address. Use http://... or https://...")
    return media_records.insert(tx, account, content, facts, now)


async def find_or_add(context: UseCaseContext, account: str, content: Content, facts: MediaFacts) -> MediaRecord:
    """Return or create the media record with this content, source and address. Raises what `add` raises."""
    now = context.now
    return await context.write(
        lambda tx: media_records.find_same(tx, account, content, facts) or add(tx, account, content, facts, now)
    )


async def save_transcript(context: UseCaseContext, account: str, media_id: str, transcript: Mapping[str, Any]) -> None:
    await context.write(lambda tx: media_records.set_transcript(tx, media_id, account, transcript))


async def find(context: UseCaseContext, account: str, media_id: str) -> MediaRecord | None:
    return await context.read(lambda tx: media_records.get(tx, media_id, account))


async def get(context: UseCaseContext, account: str, media_id: str) -> MediaRecord:
    """Return the media record. Raises `media_not_found`."""
    record = await find(context, account, media_id)
    if record is None:
        raise ApiError("media_not_found", f"There is no media record {media_id[:80]!r}.")
    return record
