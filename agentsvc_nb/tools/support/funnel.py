"""The way of a visitor: where the pages of a funnel lead, and what a page without its scripts does not show. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from agentsvc_nb.tools.support.landing import WORDS_MIN, PageFacts
from agentsvc_nb.wire.limits import URL_CHARS

_DOES: Final = re.compile(
    r"log[-_]?out|sign[-_]?out|abmelden|unsubscribe|delete|remove|add[-_]?to[-_]?cart|\badd=|/cart/(?:add|change)|token=",
    re.I,
)
"""Addresses that may do something when they are only fetched."""
_FILES: Final = re.compile(r"\.(?:pdf|zip|docx?|xlsx?|pptx?|png|jpe?g|gif|webp|svg|mp4|mp3|exe|dmg|apk)$", re.I)


def onward(page: PageFacts, at: str, seen: Collection[str]) -> list[tuple[str, str]]:
    """The pages of the same site that calls to action lead to, as (address, words), in the order of the page; without
    those `seen`, and what may do something when it is fetched.

    >>> onward(facts('<a class=btn href="/buy?size=2#top">Buy now</a>'), "https://shop.example/", ())
    [('https://shop.example/buy?size=2', 'Buy now')]
    """
    found: dict[str, str] = {}
    for action in page.actions:
        url = _address(at, action.url)
        if url and url not in seen and url != urldefrag(at).url and not _DOES.search(url) and not _FILES.search(url):
            found.setdefault(url, action.text)
    return list(found.items())


def _address(at: str, link: str | None) -> str:
    """The whole address of a link within the site; empty for any other."""
    try:
        url = urldefrag(urljoin(at, link or "")).url if link else ""
        same = urlsplit(url)[:2] == urlsplit(at)[:2]
    except ValueError:
        return ""
    return url if same and len(url) <= URL_CHARS and url.isprintable() and " " not in url else ""


def hidden(page: PageFacts) -> list[str]:
    """What of a page can't be known without running its scripts, as sentences; none when nothing says so."""
    found = []
    if page.scripts and page.words < WORDS_MIN:
        found.append(
            f"The server sends {page.words} words and {page.scripts} scripts: what visitors read is made by the "
            "scripts, and was not seen. Neither were its headings, its forms, and where it leads."
        )
    submits = sum(bool(form.fields) for form in page.forms)
    dead = [action.text for action in page.actions if not action.url or action.url in ("#", "javascript:void(0)")]
    if page.scripts and len(dead) > submits:
        shown = ", ".join(repr(text) for text in dead[:3])
        found.append(f"Where these lead is decided by scripts, and was not followed: {shown}.")
    if page.scripts and not page.forms and re.search(r"sign|regist|anmeld|subscri|checkout|kasse", _words(page), re.I):
        found.append("It asks visitors to sign up or to buy and has no form: one may be made by a script.")
    return found


def _words(page: PageFacts) -> str:
    return " ".join(action.text for action in page.actions)
