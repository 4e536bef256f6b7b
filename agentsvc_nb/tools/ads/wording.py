"""The texts of an ad, taken from its brief by rules: labelled lines first, then quotations, headings and sentences."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.formats.briefs import in_lines, is_labelled, labelled
from agentsvc_nb.tools.ads.colors import is_colors

HEADLINE_CHARS: Final = 70
SUBLINE_CHARS: Final = 120
ACTION_CHARS: Final = 26
BRAND_CHARS: Final = 28

_ANY_LABEL = re.compile(r"[\w/-][\w /-]{1,23}[*_]*\s?[:：]\s")
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t]+(\S.*)$")
_QUOTED = re.compile(r'"([^"\n]{3,90})"|“([^”\n]{3,90})”|„([^“”\n]{3,90})[“”]|«\s*([^»\n]{3,90}?)\s*»')
_PREFIX = re.compile(
    r"(?i)^(?:(?:the\s+)?(?:creative|campaign|ad|marketing|kampagnen)?[ -]?"
    r"(?:brief(?:ing)?|campaign|kampagne)\b\s*[:–—-]*\s*)+"
)
_SECTION = re.compile(
    r"(?i)^(?:audience|target(?: group| audience)?|zielgruppe|message|tone|budget|goals?|ziele?|brief(?:ing)?|overview|"
    r"background|summary|channels?|timing|deliverables|context|objectives?|products?|notes?)\W*$"
)
_SENTENCE = re.compile(r".+?(?:[.!?。！？]+(?=\s|$)|[。！？]|$)")
_ACTIONS: Final = (
    (r"\b(?:sale|% off|discount|deal|offer|rabatt|angebot|promo|soldes|oferta)", "Get the offer"),
    (r"\b(?:webinar|event|workshop|conference|register|ticket)", "Save your seat"),
    (r"\b(?:app|software|saas|trial|platform|tool)\b", "Try it free"),
    (r"\b(?:subscribe|newsletter)", "Subscribe"),
    (r"\b(?:book|hotel|travel|trip|restaurant|appointment)", "Book now"),
    (r"\b(?:shop|buy|product|price|store|order|collection|shoe|tent|bag|coffee|tea)", "Shop now"),
)
_LANGUAGES: Final = {
    "en": ("the and for with of to is your our a", "Learn more"),
    "de": ("der die das und für mit von zu ist bis ein eine nicht den", "Mehr erfahren"),
    "fr": ("le les et pour avec de des est votre une du", "En savoir plus"),
    "es": ("el los y para con de es su una del las", "Más información"),
}


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of one ad; all but the headline may be empty."""

    headline: str
    subline: str = ""
    action: str = "Learn more"
    brand: str = ""


def wordings(brief: str, count: int) -> list[Wording]:
    """The texts of `count` ads: the brief's headlines in turn, in each round with another of its lines as subline.

    >>> wordings("Headline: Pack light\\nCTA: Shop tents", 1)[0].action
    'Shop tents'
    """
    text = _plain(brief)
    brand = clip(_labelled("brand", text), BRAND_CHARS)
    action = clip(_labelled("action", text).rstrip(". "), ACTION_CHARS) or _action(text)
    heads = _heads(text)
    lines = _distinct([_labelled("subline", text), *_sentences(text)], SUBLINE_CHARS)
    made = []
    for number in range(count):
        head = heads[number % len(heads)]
        rest = [line for line in lines if not _same(line, head)]
        made.append(Wording(head, rest[(number // len(heads)) % len(rest)] if rest else "", action, brand))
    return made


def clip(text: str, limit: int) -> str:
    """A text of at most `limit` characters: a longer one is cut between words, which `…` marks."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    at = cut.rfind(" ")
    return (cut[:at] if at > limit // 2 else cut).rstrip(" ,;:–—-.") + "…"


def _heads(text: str) -> list[str]:
    """The headlines: only labelled ones when there are any; else quotations, the title, and the first sentences."""
    given = _distinct((found.rstrip(". ") for found in labelled("headline", text)), HEADLINE_CHARS)
    if given:
        return given
    quoted = [next(part for part in found if part) for found in _QUOTED.findall(text)]
    titles = [_PREFIX.sub("", found.rstrip("# \t")) for found in _HEADING.findall(text)]
    titles = [title for title in titles[:1] if not _SECTION.match(title)]
    heads = _distinct([*quoted[:3], *titles, *_short(_sentences(text))[: 1 if quoted or titles else 2]], HEADLINE_CHARS)
    return heads or _distinct([_opening(text)], HEADLINE_CHARS) or ["Made for you"]


def _opening(text: str) -> str:
    """The first line of a brief if it only looks labelled (`Autumn sale: everything for $5`), else empty."""
    first = next((line.strip(" \t-*_>•") for line in text.splitlines() if line.strip()), "")
    title = _ANY_LABEL.match(first)
    known = title is None or _SECTION.match(title[0]) or is_labelled(first) or is_colors(first)
    return "" if known else first.rstrip(".")


def _short(sentences: list[str]) -> list[str]:
    """The sentences that are short enough for a headline; all of them when none is."""
    fitting = [one for one in sentences if len(one) <= HEADLINE_CHARS]
    return fitting or sentences


def _sentences(text: str) -> list[str]:
    """Sentences of the prose: no headings, no labelled lines."""
    lines = [line.strip(" \t-*_>•") for line in text.splitlines() if not _HEADING.match(line)]
    prose = [line for line in lines if not _ANY_LABEL.match(line)]
    found = [sentence.strip() for line in prose for sentence in _SENTENCE.findall(line)]
    kept = (one for one in found if len(one.strip("\"'“”")) > 1 and not _ANY_LABEL.match(one) and not is_colors(one))
    return [one.rstrip(".") for one in kept][:40]


def _labelled(name: str, text: str) -> str:
    return next(iter(labelled(name, text)), "")


def _action(text: str) -> str:
    """A call to action in the brief's language; in English, the one with the most matching words in the brief."""
    words = Counter(re.findall(r"\w+", text[:4_000].casefold()))
    language = max(_LANGUAGES, key=lambda name: sum(words[word] for word in _LANGUAGES[name][0].split()))
    hits = {action: len(re.findall(pattern, text, re.I)) for pattern, action in _ACTIONS}
    best = max(hits, key=lambda action: hits[action])
    return best if language == "en" and hits[best] else _LANGUAGES[language][1]


def _distinct(texts: Iterable[str], limit: int) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        clipped = clip(text.strip("\"'“”„«»*_ "), limit)
        if clipped:
            found.setdefault(clipped.casefold(), clipped)
    return list(found.values())


def _same(line: str, head: str) -> bool:
    return line.casefold().rstrip("…").startswith(head.casefold().rstrip("…")) or head.casefold() in line.casefold()


def _plain(brief: str) -> str:
    """The brief with each label on a line, without control characters, emphasis and colour codes, which are for the
    palette."""
    text = "".join(char for char in brief if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs"))
    return re.sub(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b|[*`]{1,3}", "", in_lines(text))
