"""Landing pages: added, read and labelled (contract §6)."""

from __future__ import annotations

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import landing_pages
from agentsvc_nb.service.records.landing_pages import PageRecord
from agentsvc_nb.service.rules import labels
from agentsvc_nb.service.rules.addresses import is_web_address
from agentsvc_nb.wire.landing_pages import NewLabels


def add(tx: Tx, account: str, url: str, now: int) -> PageRecord:
    """The account's page at `url`; the same one when it is added again. Raises `invalid_query` for what is no URL."""
    if not is_web_address(url):
        raise Fail("invalid_query", f"{url[:80]!r} is no address of a web page: give http://... or https://...")
    return landing_pages.add(tx, account, url, now)


def get(tx: Tx, account: str, page: str) -> PageRecord:
    record = landing_pages.get(tx, page, account)
    if record is None:
        raise Fail("landing_page_not_found", f"There is no landing page {page[:80]!r}.")
    return record


def write(tx: Tx, account: str, page: str, given: NewLabels) -> PageRecord:
    """Replace a page's labels. Raises `invalid_label`, `landing_page_not_found`, and `version_conflict` with the
    present `version` when somebody else wrote since `expected_version` was read."""
    if fault := labels.fault(given.labels):
        raise Fail("invalid_label", fault[1], field=f"labels.{fault[0]}")
    present = get(tx, account, page)
    record = landing_pages.write(tx, page, account, given.labels, given.expected_version)
    if record is None:
        raise Fail("version_conflict", version=present.version)
    return record
