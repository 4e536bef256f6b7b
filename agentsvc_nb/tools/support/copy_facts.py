"""Measure the text of an ad, and compare its length with the limits of advertising platforms."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import Check, Filled

COPY_CHARS = 20_000
Platform = Literal[
    "google_search", "meta_feed", "instagram", "linkedin", "x", "tiktok", "pinterest", "youtube", "email", "sms"
]
ClaimKind = Literal["superlative", "number", "guarantee", "free", "scarcity", "comparison", "health", "environment"]
PartText = Annotated[str, StringConstraints(max_length=COPY_CHARS)]


class ReviewCopyInput(BaseModel):
    text: Annotated[Filled, StringConstraints(max_length=COPY_CHARS)] | None = Field(
        default=None, description="The whole text, if it has no parts.", examples=["Pack light. Tents from 49 euros."]
    )
    parts: dict[str, PartText] = Field(
        default_factory=dict,
        max_length=50,
        description="The text by part: `headline`, `description`, `primary_text`, `subject` and so on. Number "
        "further parts of the same kind (`headline_2`).",
    )
    platform: Platform | None = Field(default=None, description="The platform of the ad, whose limits apply.")


class PartFacts(BaseModel):
    name: str
    characters: int = Field(description="The number of characters, as the platform counts them.")
    words: int
    limit: int | None = Field(description="The platform's maximum number of characters; null if it has none.")
    shown: int | None = Field(description="The number of characters that people see at first.")


class Reading(BaseModel):
    sentences: int
    words: int
    words_per_sentence: float
    syllables_per_word: float
    ease: float | None = Field(description="Flesch reading ease in the language's own version: 100 is easy, 0 is hard.")


class Claim(BaseModel):
    text: str
    kind: ClaimKind
    advice: str


class Repeated(BaseModel):
    word: str
    count: int


class Judgement(BaseModel):
    """A language model's judgement of the text of an ad."""

    verdict: Literal["good", "mixed", "poor"]
    strengths: list[str]
    weaknesses: list[str]
    rewrite: str = Field(description="The text as the model would write it.")


class CopyReview(BaseModel):
    language: str | None = Field(description="`en`, `de`, `fr` or `es`; null if unknown.")
    platform: Platform | None
    parts: list[PartFacts]
    reading: Reading
    claims: list[Claim]
    repeated: list[Repeated]
    checks: list[Check]
    judgement: Judgement | None = Field(default=None, description="A language model's judgement; null without one.")
    not_judged: str | None = Field(default=None, description="Why the model gave no judgement.")
    brand_files: list[str] = Field(default=[], description="The brand's files that the model read.")


SMALL_WORDS: Final = {
    "en": "the and for with of to is your our a in on you that it be are we this from no not",
    "de": "der die das und für mit von zu ist bis ein eine nicht den im auf sie wir ihr dem es auch nur ihre",
    "fr": "le la les et pour avec de des est votre une du un en vous nous au aux sur dans pas que",
    "es": "el la los y para con de es su una del las un en que por tu se al no más",
}
_CHARS: Final = 4_000


def guess_language(text: str) -> str | None:
    """Return the language whose common words occur most often in the text. Return None if none occur or two languages
    tie.

    >>> guess_language("Die Zelte für die ganze Familie"), guess_language("12 %")
    ('de', None)
    """
    words = Counter(re.findall(r"[^\W\d_]+", text[:_CHARS].casefold()))
    found = sorted((sum(words[word] for word in SMALL_WORDS[name].split()), name) for name in SMALL_WORDS)
    best, second = found[-1], found[-2]
    return best[1] if best[0] > second[0] else None


WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
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
        "Prove it, or give a number.",
    ),
    "guarantee": (
        r"guarantee[ds]?|risk[- ]free|always|never fails?|100 ?%|proven|garantier\w*|garantie\w*|bewiesen|immer|"
        r"risikofrei|garanti\w*|prouvé\w*|toujours|sans risque|garantizad\w*|probado|siempre",
        "State the terms: who guarantees it, and for how long.",
    ),
    "free": (
        r"free|no cost|complimentary|gratis|kostenlos\w*|umsonst|gratuit\w*|offert\w*",
        "It must cost nothing. Say what happens after a trial.",
    ),
    "scarcity": (
        r"only today|last chance|hurry|limited (?:time|offer|edition)|while stocks? lasts?|ends (?:soon|tonight|today)|"
        r"nur heute|letzte chance|solange der vorrat reicht|nur noch|dernière chance|offre limitée|plus que|"
        r"última oportunidad|solo hoy|oferta limitada",
        "It must be true. Give a date or a number.",
    ),
    "comparison": (
        r"(?:better|cheaper|faster|lighter|more [a-z]+) than|versus|vs\.?|unlike (?:others|other)|besser als|"
        r"günstiger als|schneller als|mieux que|moins cher que|mejor que|más barato que",
        "Name what you compare it with, and keep the source.",
    ),
    "health": (
        r"cures?|heals?|detox\w*|anti-aging|lose weight|weight loss|clinically|medically|heilt|heilend\w*|abnehmen|"
        r"klinisch|guérit|maigrir|cliniquement|cura|adelgazar|clínicamente",
        "Health claims need approval or studies, and platforms restrict them.",
    ),
    "environment": (
        r"eco-friendly|sustainable|climate[- ]neutral|carbon[- ]neutral|green|biodegradable|nachhaltig\w*|"
        r"klimaneutral\w*|umweltfreundlich\w*|durable|écologique\w*|neutre en carbone|sostenible\w*|ecológic\w*",
        "Say exactly what is meant, and how it was measured.",
    ),
    "number": (
        r"[0-9][0-9.,]{0,20}\s?(?:%|percent|prozent|pour cent|por ciento)|[0-9]{1,20}\s?(?:x|times|mal|fois|veces)\b|"
        r"[0-9][0-9.,]{0,20} (?:customers|users|people|kunden|nutzer|clients|clientes)",
        "Keep the source and its date.",
    ),
}
_CLAIM = {kind: re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) for kind, (words, _) in _CLAIMS.items()}
CLAIMS_MAX: Final = 50
REPEATED_MIN: Final = 3
REPEATED_MAX: Final = 20
_STOP: Final = frozenset(" ".join(SMALL_WORDS.values()).split())


def measure_reading(text: str, language: str | None) -> Reading:
    """Return how easy the text is to read. `ease` is None without words, or if no formula for the language exists.

    >>> measure_reading("The cat sat on the mat.", "en").ease
    116.1
    """
    words = WORD.findall(text)
    sentences = sum(bool(WORD.search(part)) for part in _SENTENCE_END.split(text))
    length = len(words) / max(1, sentences)
    weight = sum(count_syllables(word, language) for word in words) / max(1, len(words))
    base, by_length, by_weight = _EASE.get(language or "", (0, 0, 0))
    return Reading(
        sentences=sentences,
        words=len(words),
        words_per_sentence=round(length, 1),
        syllables_per_word=round(weight, 2),
        ease=round(base - by_length * length - by_weight * weight, 1) if base and words else None,
    )


def count_syllables(word: str, language: str | None) -> int:
    """Return the number of syllables, counted as groups of vowels. In English and French, a final `e` does not count.

    >>> [count_syllables(word, "en") for word in ("tent", "camping", "made", "table", "area")]
    [1, 2, 1, 2, 2]
    """
    plain = word.casefold()
    found = len(_VOWELS.get(language or "", _VOWELS["fr"]).findall(plain))
    silent = language in ("en", "fr") and plain.endswith("e") and not re.search(r"(?:[^aeiouy]l|[aeiouy])e$", plain)
    return max(1, found - silent)


def find_claims(text: str) -> list[Claim]:
    """Return the claims in the text that an advertiser may have to prove, in order."""
    found = [
        (match.start(), Claim(text=" ".join(match[0].split()), kind=kind, advice=_CLAIMS[kind][1]))
        for kind, pattern in _CLAIM.items()
        for match in pattern.finditer(text)
    ]
    kept, end = [], 0
    for start, claim in sorted(found, key=lambda pair: (pair[0], -len(pair[1].text))):
        if start >= end:  # skip `free` within the claim `risk-free`
            kept.append(claim)
            end = start + len(claim.text)
    return kept[:CLAIMS_MAX]


def find_repeated_words(text: str) -> list[Repeated]:
    """Return the words that occur at least three times, most frequent first. Common words are left out."""
    words = Counter(word for word in map(str.casefold, WORD.findall(text)) if len(word) > 2 and word not in _STOP)
    often = [(word, count) for word, count in words.most_common(REPEATED_MAX) if count >= REPEATED_MIN]
    return [Repeated(word=word, count=count) for word, count in often]


class LengthLimits(NamedTuple):
    """The number of characters that a platform allows for a part of an ad. The platform rejects texts with more than
    `limit` characters, and hides what follows the first `shown` until people expand the text. None means no such limit.
    """

    limit: int | None = None
    shown: int | None = None


PLATFORM_LIMITS: Final[dict[Platform, dict[str, LengthLimits]]] = {
    "google_search": {
        "headline": LengthLimits(30),
        "long_headline": LengthLimits(90),
        "description": LengthLimits(90),
        "path": LengthLimits(15),
    },
    "meta_feed": {
        "primary_text": LengthLimits(None, 125),
        "headline": LengthLimits(255, 40),
        "description": LengthLimits(None, 30),
    },
    "instagram": {"primary_text": LengthLimits(2_200, 125), "headline": LengthLimits(255, 40)},
    "linkedin": {
        "primary_text": LengthLimits(600, 150),
        "headline": LengthLimits(200, 70),
        "description": LengthLimits(300, 100),
    },
    "x": {"text": LengthLimits(280), "headline": LengthLimits(70)},
    "tiktok": {"text": LengthLimits(100)},
    "pinterest": {"title": LengthLimits(100, 40), "description": LengthLimits(800, 60)},
    "youtube": {
        "title": LengthLimits(100, 70),
        "headline": LengthLimits(15),
        "call_to_action": LengthLimits(10),
        "description": LengthLimits(5_000, 100),
    },
    "email": {"subject": LengthLimits(None, 60), "preheader": LengthLimits(None, 90)},
    "sms": {"text": LengthLimits(None, 160)},
}
_SAME: Final = {
    "title": ("headline",),
    "headline": ("title", "subject"),
    "text": ("primary_text", "description"),
    "primary_text": ("text", "description"),
    "body": ("primary_text", "text", "description"),
    "description": ("primary_text",),
}
_WIDE_COUNT_TWICE: Final = frozenset({"google_search", "x"})
_LINK = re.compile(r"https?://\S+")
LINK_CHARS_ON_X: Final = 23
SMS_CHARS: Final = (160, 70)
_GSM = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€"
)


def measure_part(name: str, text: str, platform: Platform | None) -> PartFacts:
    """Return the length of a part of an ad, such as a headline, and the platform's limits for that part.

    >>> measure_part("headline_2", "Pack light", "google_search").limit
    30
    """
    plain = re.sub(r"[\s_-]*[0-9]+$", "", name.strip().lower()).replace(" ", "_")
    rooms = PLATFORM_LIMITS[platform] if platform else {}
    room = next((rooms[each] for each in (plain, *_SAME.get(plain, ())) if each in rooms), LengthLimits())
    shown = SMS_CHARS[1] if platform == "sms" and not set(text) <= _GSM else room.shown
    count = count_characters(text, platform)
    return PartFacts(name=name, characters=count, words=len(text.split()), limit=room.limit, shown=shown)


def count_characters(text: str, platform: Platform | None) -> int:
    """Return the number of characters as the platform counts them. Some platforms count wide characters twice. X counts
    each link as 23 characters."""
    if platform == "x":
        text = _LINK.sub("x" * LINK_CHARS_ON_X, text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text) if platform in _WIDE_COUNT_TWICE else 0
    return len(text) + wide
