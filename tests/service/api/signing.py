"""Browsers without a window: an HTTP client that has signed in with the service's link."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import httpx

from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.testing import RunningService

ACCEPTED = {"developerTermsAccepted": True, "developerTermsVersion": TERMS_VERSION}
KEYS = "/api/developers/keys"


@contextlib.contextmanager
def signed_in(service: RunningService) -> Iterator[httpx.Client]:
    """A client with a session cookie; it follows no redirect."""
    with httpx.Client(base_url=service.base_url, timeout=60) as browser:
        assert browser.get(service.sign_in_url).status_code == 303
        yield browser


def page(browser: httpx.Client, path: str, status: int = 200) -> str:
    """The HTML at `path`."""
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text
