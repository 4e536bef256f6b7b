"""Sentences and sections of a brief that speak to whoever makes the ad, and never stand on it."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.formats.briefs.languages import any_of

_MAKING: Final = rf"\b(?:{any_of('making')})\b"
_POLITE = re.compile(rf"(?:{any_of('polite')})\b", re.I)
_GREETING = re.compile(rf"(?:{any_of('greetings')})(?:\b[^.!?]{{0,40}},\s*\Z|\s*,.{{0,40}}\Z|\s*\Z)", re.I)
_WITHOUT_VERB = re.compile(
    rf"(?:(?:{any_of('numbers').replace(' ', '|')})\s+)(?:\w+\s+)?(?:{any_of('pictures')})\s+(?:{any_of('about')})\b",
    re.I,
)
_BIDS = re.compile(
    rf"(?:(?:then|and|also|dann|auch|puis|y)\s+)?(?:(?:{any_of('asking')})\W+)*(?:{any_of('bids')}|{any_of('make')})\b",
    re.I,
)
_FORBIDS = re.compile(rf"(?:{any_of('forbids')})(?!\w)", re.I)
_MUST = re.compile(rf"\b(?:{any_of('must')})\b", re.I)
_OF_MAKING = re.compile(_MAKING, re.I)
_DESCRIBED = re.compile(rf"(?:(?:{any_of('articles')})\s+)?(?:\w+\s+)?{_MAKING}\s+(?:{any_of('relatives')})\b", re.I)
_FILE = re.compile(r"\w\.(?:png|jpe?g|webp|gif|svg|psd|pdf)\b", re.I)
_SECTION = re.compile(rf"\W*(?:\d+[.)]\s*)?(?:{any_of('sections')})\W*", re.I)
_TITLE_OF_A_BRIEF = re.compile(
    r"\b(?:brief(?:ing)?s?|draft|template|entwurf|projekt|project|proyecto|projet|\w*kampagne|campaign|campagne|campaña|v\d+)\b",
    re.I,
)


def is_instruction(sentence: str) -> bool:
    """Whether a sentence speaks to whoever makes the ad. `Keep warm` is for the ad, `Keep the headline short` is not.

    >>> is_instruction("Please use no stock photos"), is_instruction("Use less, live more")
    (True, False)
    """
    said = sentence.strip(" \t\"'“”„«»*_-–•>")
    if _POLITE.match(said) or forbids(said) or _FILE.search(said) or _GREETING.match(said):
        return True
    if _WITHOUT_VERB.match(said):
        return True
    return bool(_OF_MAKING.search(said)) and bool(_BIDS.match(said) or _MUST.search(said))


def forbids(sentence: str) -> bool:
    """Whether a sentence tells the maker of an ad what not to do: what it quotes must not stand there either.

    >>> forbids('Never use the word "cheap" in the copy')
    True
    """
    said = sentence.strip(" \t\"'“”„«»*_-–•>")
    if not _OF_MAKING.search(said):
        return False
    return bool(_FORBIDS.match(said)) or bool(_MUST.search(said) and _FORBIDS.search(said))


def describes(order: str) -> bool:
    """Whether what an order says beside the picture describes how it is to be made.

    >>> describes("a headline that is short"), describes("a summer that never ends")
    (True, False)
    """
    return _DESCRIBED.match(order) is not None


def is_for_makers(heading: str) -> bool:
    """Whether what stands under a heading is for those who make the ad, such as `Target audience`."""
    return _SECTION.fullmatch(heading) is not None


def names_the_brief(heading: str) -> bool:
    """Whether a heading is the title of the document rather than of what it is about, such as `Creative brief v2`."""
    return _TITLE_OF_A_BRIEF.search(heading) is not None
