"""The languages that the offline agent knows, a module of data each, and which of them a question is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from agentsvc_nb.agents.offline.languages import english, french, german, spanish
from agentsvc_nb.agents.offline.languages.language import FollowingWords, Requests, Vocabulary

LANGUAGES: Final[tuple[Vocabulary, ...]] = (english.ENGLISH, german.GERMAN, french.FRENCH, spanish.SPANISH)
FOLLOWING: Final[Mapping[str, FollowingWords]] = {
    "en": english.FOLLOWING,
    "de": german.FOLLOWING,
    "fr": french.FOLLOWING,
    "es": spanish.FOLLOWING,
}
"""What goes on from the question before, by the codes of languages."""
REQUESTS: Final[Mapping[str, Requests]] = {
    "english": english.REQUESTS,
    "german": german.REQUESTS,
    "french": french.REQUESTS,
    "spanish": spanish.REQUESTS,
}
"""What a message wants beside facts, by the names of languages."""


class _Word(Protocol):
    @property
    def tokens(self) -> tuple[str, ...]: ...


def languages_of(words: Sequence[_Word]) -> list[Vocabulary]:
    """The languages that know the most of the words: several where they know as many."""
    known = [sum(language.knows(token) for word in words for token in word.tokens) for language in LANGUAGES]
    return [language for language, count in zip(LANGUAGES, known, strict=True) if count == max(known)]
