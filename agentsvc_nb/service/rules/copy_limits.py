"""How long an ad's texts may be, by platform and part, as the platforms' own help pages have it. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.wire.toolset.copywriting import PartFacts, Platform


@dataclass(frozen=True, slots=True)
class Room:
    """`limit`: what is longer is refused. `shown`: what is longer is cut off in what people see at first."""

    limit: int | None = None
    shown: int | None = None


ROOMS: Final[dict[Platform, dict[str, Room]]] = {
    "google_search": {"headline": Room(30), "long_headline": Room(90), "description": Room(90), "path": Room(15)},
    "meta_feed": {"primary_text": Room(None, 125), "headline": Room(255, 40), "description": Room(None, 30)},
    "instagram": {"primary_text": Room(2_200, 125), "headline": Room(255, 40)},
    "linkedin": {"primary_text": Room(600, 150), "headline": Room(200, 70), "description": Room(300, 100)},
    "x": {"text": Room(280), "headline": Room(70)},
    "tiktok": {"text": Room(100)},
    "pinterest": {"title": Room(100, 40), "description": Room(800, 60)},
    "youtube": {
        "title": Room(100, 70),
        "headline": Room(15),
        "call_to_action": Room(10),
        "description": Room(5_000, 100),
    },
    "email": {"subject": Room(None, 60), "preheader": Room(None, 90)},
    "sms": {"text": Room(None, 160)},
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


def part(name: str, text: str, platform: Platform | None) -> PartFacts:
    """What there is to say about a part's length.

    >>> part("headline_2", "Pack light", "google_search").limit
    30
    """
    room = _room(name, platform)
    shown = SMS_CHARS[1] if platform == "sms" and not set(text) <= _GSM else room.shown
    count = characters(text, platform)
    return PartFacts(name=name, characters=count, words=len(text.split()), limit=room.limit, shown=shown)


def characters(text: str, platform: Platform | None) -> int:
    """Characters as the platform counts them: some count wide ones twice, and one counts every link alike."""
    if platform == "x":
        text = _LINK.sub("x" * LINK_CHARS_ON_X, text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text) if platform in _WIDE_COUNT_TWICE else 0
    return len(text) + wide


def _room(name: str, platform: Platform | None) -> Room:
    if platform is None:
        return Room()
    plain = re.sub(r"[\s_-]*[0-9]+$", "", name.strip().lower()).replace(" ", "_")
    rooms = ROOMS[platform]
    known = next((each for each in (plain, *_SAME.get(plain, ())) if each in rooms), None)
    return rooms[known] if known else Room()
