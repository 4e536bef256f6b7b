"""What the rows of a table may be called, beside what its title says: nouns of daily life, by the headers that go with
them."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import Word, alike, forms

_SIGNS_MIN: Final = 2
_ROOT_LETTERS: Final = 6


def is_topic(word: str, links: TableLinks) -> bool:
    """Whether the word is one of the title's, so that it only says again what the table is about."""
    return any(alike(word, one) or word + "s" == one for one in links.title_words)


def may_be_called(word: str, links: TableLinks) -> bool:
    """Whether the rows may be called by a noun: the title or the identifier has its root, or headers have two of the
    words that go with it; and neither a column nor another table is called so."""
    signs = links.language.rows.get(word, frozenset())
    rooted = _has_root(word, links)
    if (not signs and not rooted) or any(alike(word, one) for one in links.elsewhere):
        return False
    # Forms of one word are one sign.
    met = {min(forms(sign), key=len) for sign in signs if any(alike(one, sign) for one in links.vocabulary)}
    return (len(met) >= _SIGNS_MIN or rooted) and not links.links((Word(word, (word,)),))


def _has_root(word: str, links: TableLinks) -> bool:
    """Whether title or identifier have a word of the same root, as `responses` is of `respondents`."""
    titles = {*links.title_words, *links.titles}
    return len(word) >= _ROOT_LETTERS and any(one[:_ROOT_LETTERS] == word[:_ROOT_LETTERS] for one in titles)
