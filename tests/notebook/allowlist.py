"""What may stand in our HTML, and nothing else: the judge of every hostile string."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from agentsvc_nb.client.cards import IGNORED
from agentsvc_nb.documents.markdown import MEANT

WORD = re.compile(r"[a-z0-9-]+")
TAGS = WORD.findall(
    """a blockquote br caption code del details div em figcaption figure h1 h2 h3 h4 h5 h6 hr img ins
    li mark ol p pre progress s span strong summary table tbody td th thead tr ul"""
)
CLASSES = (
    IGNORED,
    MEANT,
    *WORD.findall(
        """asvc-answer asvc-ask asvc-body asvc-chip asvc-chips asvc-dot asvc-failure asvc-fold asvc-going asvc-good
        asvc-lead asvc-note asvc-number asvc-plan asvc-progress asvc-python asvc-sources asvc-status asvc-step
        asvc-steps asvc-tablebox asvc-wrong"""
    ),
    "asvc-body asvc-unanswered",
    "asvc-number asvc-missing",
    "asvc-fold asvc-computed",
    *(f"asvc-dot asvc-{look}" for look in ("active", "done", "failed", "quiet")),
)
ATTRIBUTES = WORD.findall("alt aria-label href max open rel role scope src start style tabindex target title value")
STYLE = re.compile(
    r"[a-z-]+:(?:repeat\(auto-fit,minmax\((?:min|max|px|[0-9(),%])+,1fr\)\)"
    r"|var\(--jp-[a-z0-9-]+,(?:#[0-9a-f]+|transparent)\)|[a-zA-Z0-9#%. -])+"
)
SOURCE = re.compile(r"data:image/webp;base64,[A-Za-z0-9+/=]+")
LINK = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class _Judge(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            self._attribute(tag, name, value or "")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name == "class" and value in CLASSES:
            return
        if name not in ATTRIBUTES:
            self.found.append(f"<{tag} {name}>")
        if name == "href" and not LINK.fullmatch(value):
            self.found.append(f"href={value}")
        if name == "src" and not (tag == "img" and SOURCE.fullmatch(value)):
            self.found.append(f"src={value}")
        if name == "style" and not all(STYLE.fullmatch(part) for part in value.split(";") if part):
            self.found.append(f"style={value}")

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.found.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.found.append("processing instruction")


def offences(html: str) -> list[str]:
    """Everything in the HTML that is not on the lists, and control or bidirectional characters."""
    judge = _Judge()
    judge.feed(html)
    judge.close()
    return judge.found + [repr(char) for char in FORBIDDEN.findall(html)]
