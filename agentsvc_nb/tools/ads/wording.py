"""The texts of an ad, taken from its brief by rules: labelled lines first, then quotations, headings and sentences.
What only speaks to the maker of the ad is none of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.tools.ads.briefs.languages import LANGUAGES, BriefLanguage
from agentsvc_nb.tools.ads.briefs.orders import without_command
from agentsvc_nb.tools.ads.briefs.parsing import (
    forbids,
    in_lines,
    is_for_makers,
    is_instruction,
    is_labelled,
    labelled,
    names_the_brief,
)
from agentsvc_nb.tools.ads.colors import is_colors

HEADLINE_CHARS: Final = 70
SUBLINE_CHARS: Final = 120
"""Longest sentence that is taken for a headline, and for a subline."""
LABELLED_CHARS: Final = 2_500
"""More than any ad has room for: a text with a label is cut by the layout, which tells of it."""
NO_WORDS: Final = "Made for you"

_ANY_LABEL = re.compile(r"[\w/-][\w /-]{1,23}[*_]*\s?[:：]\s")
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t]+(\S.*)$")
_QUOTED = re.compile(r'"([^"\n]{2,90})"|“([^”\n]{2,90})”|„([^“”\n]{2,90})[“”]|«\s*([^»\n]{2,90}?)\s*»')
_PREFIX = re.compile(
    r"(?i)^(?:(?:the\s+)?(?:creative|campaign|ad|marketing|kampagnen)?[ -]?"
    r"(?:brief(?:ing)?|campaign|kampagne)\b\s*[:–—-]*\s*)+"
)
_SECTION = re.compile(r"(?i)^(?:message|overview|summary|products?|offer|benefits?|about|copy|texts?|headlines?)\W*$")
_BRIEF_ALONE = re.compile(r"(?i)(?:[\w'’-]+\s+){0,3}(?:brief|briefing|copy ?deck)(?:\s+\S+)?")
_SENTENCE = re.compile(r".+?(?:[.!?。！？]+(?=\s|$)|[。！？]|$)")
_ACTIONS: Final = (
    (r"\b(?:sale|% off|discount|deal|offer|rabatt|angebot|promo|soldes|oferta)", "Get the offer"),
    (r"\b(?:webinar|event|workshop|conference|register|ticket)", "Save your seat"),
    (r"\b(?:app|software|saas|trial|platform|tool)\b", "Try it free"),
    (r"\b(?:subscribe|newsletter)", "Subscribe"),
    (r"\b(?:book|hotel|travel|trip|restaurant|appointment)", "Book now"),
    (r"\b(?:shop|buy|product|price|store|order|collection|shoe|tent|bag|coffee|tea)", "Shop now"),
)


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
    brand = clip(_labelled("brand", text), LABELLED_CHARS)
    action = clip(_labelled("action", text).rstrip(". "), LABELLED_CHARS) or _action(text)
    heads = _heads(text)
    given = _distinct([_labelled("subline", text)], LABELLED_CHARS)
    lines = list(dict.fromkeys([*given, *_distinct(_sentences(text), SUBLINE_CHARS)]))
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


def language(text: str) -> BriefLanguage | None:
    """The language of a text, by its frequent words and its letters; None when they hardly tell."""
    words = Counter(re.findall(r"\w+", text[:4_000].casefold()))
    letters = Counter(text[:4_000].casefold())
    scores = {
        one.code: sum(words[word] for word in one.common.split())
        + 2 * sum(words[word] for word in one.telling.split())
        + sum(letters[letter] for letter in one.letters)
        for one in LANGUAGES
    }
    best = max(LANGUAGES, key=lambda one: scores[one.code])
    return best if scores[best.code] > 1 else None


def _heads(text: str) -> list[str]:
    """The headlines: only labelled ones when there are any; else quotations, the title, and the first sentences."""
    given = _distinct((found.rstrip(". ") for found in labelled("headline", text)), LABELLED_CHARS)
    if given:
        return given
    quoted = [next(part for part in found if part) for found in _QUOTED.findall(_allowed(text))]
    titles = [_PREFIX.sub("", found.rstrip("# \t")) for found in _HEADING.findall(text)]
    titles = [title for title in titles[:1] if not _is_no_title(title)]
    heads = _distinct([*quoted[:3], *titles, *_short(_sentences(text))[: 1 if quoted or titles else 2]], HEADLINE_CHARS)
    last = _opening(text) or _subject(text) or _labelled("subline", text) or _labelled("brand", text)
    return heads or _distinct([last], HEADLINE_CHARS) or [NO_WORDS]


def _is_no_title(title: str) -> bool:
    return bool(_SECTION.match(title)) or is_for_makers(title) or names_the_brief(title) or is_instruction(title)


def _allowed(text: str) -> str:
    """The text without what it forbids: `never say "cheap"` is no headline."""
    for sentence in [one for line in text.splitlines() for one in _SENTENCE.findall(line) if forbids(one)]:
        text = text.replace(sentence, "")
    return text


def _opening(text: str) -> str:
    """The first line of a brief if it only looks labelled (`Autumn sale: everything for $5`), else empty."""
    first = next((line.strip(" \t-*_>•") for line in text.splitlines() if line.strip()), "")
    title = _ANY_LABEL.match(first)
    known = title is None or _SECTION.match(title[0]) or is_for_makers(title[0]) or is_labelled(first)
    return "" if known or is_colors(first) or is_instruction(first) else first.rstrip(".")


def _subject(text: str) -> str:
    """What a brief that is only an order (`Create an ad for our summer sale.`) is about; else empty."""
    for line in text.splitlines():
        for sentence in _SENTENCE.findall(line.strip(" \t-*_>•")):
            subject = without_command(sentence).strip(" .")
            if subject and subject != sentence.strip(" .") and not is_instruction(subject) and not is_colors(subject):
                return subject[0].upper() + subject[1:]
    return ""


def _short(sentences: list[str]) -> list[str]:
    """The sentences that are short enough for a headline; all of them when none is."""
    fitting = [one for one in sentences if len(one) <= HEADLINE_CHARS]
    return fitting or sentences


def _sentences(text: str) -> list[str]:
    """Sentences of the prose: no headings, no labelled lines, no instructions."""
    lines = [line.strip(" \t-*_>•") for line in text.splitlines() if not _HEADING.match(line)]
    prose = [line for line in lines if not _ANY_LABEL.match(f"{line} ")]
    found = [sentence.strip() for line in prose for sentence in _SENTENCE.findall(line)]
    return [one.rstrip(".") for one in found if _is_for_the_ad(one)][:40]


def _is_for_the_ad(sentence: str) -> bool:
    if len(sentence.strip("\"'“”")) < 2 or _ANY_LABEL.match(sentence):
        return False
    return not is_colors(sentence) and not is_instruction(sentence) and not _BRIEF_ALONE.fullmatch(sentence)


def _labelled(name: str, text: str) -> str:
    return next(iter(labelled(name, text)), "")


def _action(text: str) -> str:
    """A call to action in the brief's language; in English, the one with the most matching words in the brief."""
    spoken = language(text)
    hits = {action: len(re.findall(pattern, text, re.I)) for pattern, action in _ACTIONS}
    best = max(hits, key=lambda action: hits[action])
    if spoken is None or spoken.code == "en":
        return best if hits[best] else LANGUAGES[0].more
    return spoken.more


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
