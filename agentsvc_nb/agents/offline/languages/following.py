"""What a language says to go on from the question before: `and for Austria?`, `which of them was the best?`"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.formats.normalization import tokens

_LEADS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class FollowingWords:
    """Phrases, divided by `|`: `leads` begin what goes on from the question before, `of_them` speaks of its result,
    `theirs` does within a question, `instead` takes one thing for another, and `compares` asks for both, which is none
    of this. `refers` are words that may stand with a chart of it (`draw it`), `best` and
    `worst` judge, which takes more than a number where less is better."""

    leads: str
    of_them: str
    theirs: str
    instead: str
    compares: str
    refers: str
    best: str
    worst: str

    def without_lead(self, text: str) -> tuple[str, bool]:
        """The text without what begins it, and whether something did."""
        found = re.match(rf"[\s¿¡]*(?:(?:{_any(self.leads)})(?![\w'’])[\s,:]*){{1,{_LEADS_MAX}}}", text, re.IGNORECASE)
        return (text[found.end() :], True) if found else (text, False)

    def without(self, phrases: str, text: str) -> tuple[str, bool]:
        """The text without any of the phrases, and whether it had one."""
        left = re.sub(rf"(?<!\w)(?:{_any(phrases)})(?!\w)", " ", text, flags=re.IGNORECASE)
        return left, left != text

    def only_refers(self, text: str) -> bool:
        """Whether the text says nothing beside what it is about: the result before."""
        known = {*tokens(self.refers), *tokens(self.leads)}
        return all(word in known for word in tokens(text))


def _any(phrases: str) -> str:
    longest_first = sorted(phrases.split("|"), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") for phrase in longest_first)
