"""Which language a question is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from agentsvc_nb.agents.offline.languages import english, french, german, spanish
from agentsvc_nb.agents.offline.languages.english import ENGLISH
from agentsvc_nb.agents.offline.languages.following import FollowingWords
from agentsvc_nb.agents.offline.languages.french import FRENCH
from agentsvc_nb.agents.offline.languages.german import GERMAN
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.languages.spanish import SPANISH

LANGUAGES: Final[tuple[Vocabulary, ...]] = (ENGLISH, GERMAN, FRENCH, SPANISH)
FOLLOWING: Final[Mapping[str, FollowingWords]] = {
    "en": english.FOLLOWING,
    "de": german.FOLLOWING,
    "fr": french.FOLLOWING,
    "es": spanish.FOLLOWING,
}
"""What goes on from the question before, by the codes of languages."""


class _Word(Protocol):
    @property
    def tokens(self) -> tuple[str, ...]: ...


def languages_of(words: Sequence[_Word]) -> list[Vocabulary]:
    """Those that know the most of the words."""
    known = [sum(language.knows(token) for word in words for token in word.tokens) for language in LANGUAGES]
    return [language for language, count in zip(LANGUAGES, known, strict=True) if count == max(known)]
