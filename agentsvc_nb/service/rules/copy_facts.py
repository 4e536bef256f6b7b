"""What can be counted in an ad's words: how easy they read, what they claim, what they say twice. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

from agentsvc_nb.service.rules.languages import SMALL_WORDS
from agentsvc_nb.wire.toolset.copywriting import Claim, ClaimKind, Reading, Repeated

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?…。！？]+(?=\s|$)|[。！？]|\n+")
_VOWELS: Final = {
    "en": re.compile(r"[aeiouy]+"),
    "de": re.compile(r"[aeiouyäöü]+"),
    "fr": re.compile(r"[aeiouyàâäéèêëîïôöùûüœ]+"),
    "es": re.compile(r"[aeouáéíóú]+[iy]?|[iuüy]+"),
}
_EASE: Final = {
    "en": (206.835, 1.015, 84.6),  # Flesch
    "de": (180.0, 1.0, 58.5),  # Amstad
    "fr": (207.0, 1.015, 73.6),  # Kandel and Moles
    "es": (206.84, 1.02, 60.0),  # Fernández Huerta
}
_CLAIMS: Final[dict[ClaimKind, tuple[str, str]]] = {
    "superlative": (
        r"best|cheapest|fastest|largest|leading|leader|number one|no\. ?1|#1|unbeatable|unique|perfect|world-class|"
        r"beste[nrms]?|günstigste\w*|schnellste\w*|führende\w*|einzigartig\w*|unschlagbar\w*|nummer 1|nr\. ?1|"
        r"meilleure?s?|leader|unique|imbattable|mejor(?:es)?|líder|único|insuperable",
        "Prove it, or say what you mean with a number.",
    ),
    "guarantee": (
        r"guarantee[ds]?|risk[- ]free|always|never fails?|100 ?%|proven|garantier\w*|garantie\w*|bewiesen|immer|"
        r"risikofrei|garanti\w*|prouvé\w*|toujours|sans risque|garantizad\w*|probado|siempre",
        "Say the terms: who keeps the promise, for how long.",
    ),
    "free": (
        r"free|no cost|complimentary|gratis|kostenlos\w*|umsonst|gratuit\w*|offert\w*",
        "Nothing may have to be paid for it; say what follows after a trial.",
    ),
    "scarcity": (
        r"only today|last chance|hurry|limited (?:time|offer|edition)|while stocks? lasts?|ends (?:soon|tonight|today)|"
        r"nur heute|letzte chance|solange der vorrat reicht|nur noch|dernière chance|offre limitée|plus que|"
        r"última oportunidad|solo hoy|oferta limitada",
        "It has to be true, with a date or a number.",
    ),
    "comparison": (
        r"(?:better|cheaper|faster|lighter|more [a-z]+) than|versus|vs\.?|unlike (?:others|other)|besser als|"
        r"günstiger als|schneller als|mieux que|moins cher que|mejor que|más barato que",
        "Name with what it is compared, and keep the source.",
    ),
    "health": (
        r"cures?|heals?|detox\w*|anti-aging|lose weight|weight loss|clinically|medically|heilt|heilend\w*|abnehmen|"
        r"klinisch|guérit|maigrir|cliniquement|cura|adelgazar|clínicamente",
        "Health claims need approval or studies, and platforms restrict them.",
    ),
    "environment": (
        r"eco-friendly|sustainable|climate[- ]neutral|carbon[- ]neutral|green|biodegradable|nachhaltig\w*|"
        r"klimaneutral\w*|umweltfreundlich\w*|durable|écologique\w*|neutre en carbone|sostenible\w*|ecológic\w*",
        "Say what exactly, and how it was measured.",
    ),
    "number": (
        r"[0-9][0-9.,]{0,20}\s?(?:%|percent|prozent|pour cent|por ciento)|[0-9]{1,20}\s?(?:x|times|mal|fois|veces)\b|"
        r"[0-9][0-9.,]{0,20} (?:customers|users|people|kunden|nutzer|clients|clientes)",
        "Keep the source, and the date of it.",
    ),
}
_CLAIM = {kind: re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) for kind, (words, _) in _CLAIMS.items()}
CLAIMS_MAX: Final = 50
REPEATED_MIN: Final = 3
REPEATED_MAX: Final = 20
_STOP: Final = frozenset(" ".join(SMALL_WORDS.values()).split())


def reading(text: str, language: str | None) -> Reading:
    """How the text reads. `ease` is None for a text without words, or in a language without a formula.

    >>> reading("The cat sat on the mat.", "en").ease
    116.1
    """
    words = _WORD.findall(text)
    sentences = max(1, sum(bool(_WORD.search(part)) for part in _SENTENCE_END.split(text))) if words else 0
    if not words:
        return Reading(sentences=0, words=0, words_per_sentence=0, syllables_per_word=0, ease=None)
    length, weight = len(words) / sentences, sum(syllables(word, language) for word in words) / len(words)
    ease = None
    if language in _EASE:
        base, by_length, by_weight = _EASE[language]
        ease = round(base - by_length * length - by_weight * weight, 1)
    return Reading(
        sentences=sentences,
        words=len(words),
        words_per_sentence=round(length, 1),
        syllables_per_word=round(weight, 2),
        ease=ease,
    )


def syllables(word: str, language: str | None) -> int:
    """Groups of vowels; in English and French an `e` at the end is silent.

    >>> [syllables(word, "en") for word in ("tent", "camping", "made", "table", "area")]
    [1, 2, 1, 2, 2]
    """
    plain = word.casefold()
    found = len(_VOWELS.get(language or "", _VOWELS["fr"]).findall(plain))
    silent = language in ("en", "fr") and plain.endswith("e") and not re.search(r"(?:[^aeiouy]l|[aeiouy])e$", plain)
    return max(1, found - silent)


def claims(text: str) -> list[Claim]:
    """What the text claims and an advertiser may have to prove, in its order."""
    found = [
        (match.start(), Claim(text=" ".join(match[0].split()), kind=kind, advice=_CLAIMS[kind][1]))
        for kind, pattern in _CLAIM.items()
        for match in pattern.finditer(text)
    ]
    kept, end = [], 0
    for start, claim in sorted(found, key=lambda pair: (pair[0], -len(pair[1].text))):
        if start >= end:  # `risk-free` is one claim, not also `free`
            kept.append(claim)
            end = start + len(claim.text)
    return kept[:CLAIMS_MAX]


def repeated(text: str) -> list[Repeated]:
    """Words that come three times or more, small ones left out; the most frequent first."""
    words = Counter(word for word in map(str.casefold, _WORD.findall(text)) if len(word) > 2 and word not in _STOP)
    often = [(word, count) for word, count in words.most_common(REPEATED_MAX) if count >= REPEATED_MIN]
    return [Repeated(word=word, count=count) for word, count in often]


def shouted(text: str) -> list[str]:
    """Words of four letters or more in capitals alone."""
    return [word for word in _WORD.findall(text) if len(word) >= 4 and word.isupper()]


def emoji(text: str) -> int:
    return sum(unicodedata.category(char) == "So" for char in text)
