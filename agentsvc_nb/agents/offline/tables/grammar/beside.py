"""What stands beside a word of a question, before it or behind it, that decides what the word may mean."""

from __future__ import annotations

from collections.abc import Sequence

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary
from agentsvc_nb.agents.offline.tables.grammar.meanings import may_be_called, phrase_of
from agentsvc_nb.agents.offline.tables.linking import SPAN_MAX, TableLinks
from agentsvc_nb.agents.offline.tables.question import Word


def asks_for_any(words: Sequence[Word], start: int, language: Vocabulary) -> bool:
    """Whether one of several is asked for, and none of them named: `name a song`, but not `give me a breakdown`."""
    spans = (length for length in range(2, PHRASE_MAX + 1) if not start or words[start - 1].tokens == (",",))
    ends = (start + length for length in spans
            if any(part == "anyone" for part, _ in language.phrases.get(phrase_of(words[start : start + length]), ()))
            )  # fmt: skip
    return any(not _says_how(words[end : end + PHRASE_MAX], language) for end in ends)


def _says_how(words: Sequence[Word], language: Vocabulary) -> bool:
    """Whether a phrase of the language comes next, as `a list of`."""
    lengths = range(1, len(words) + 1)
    return any(language.phrases.get(phrase_of(words[:length])) for length in lengths)


def is_compared(words: Sequence[Word], start: int, language: Vocabulary) -> bool:
    """Whether a number in words stands behind a comparator."""
    if not any(part == "number" for part, _ in language.phrases.get(words[start].tokens, ())):
        return False
    before = (phrase_of(words[max(start - length, 0) : start]) for length in range(1, PHRASE_MAX + 1))
    return any(part == "cmp" for phrase in before for part, _ in language.phrases.get(phrase, ()))


def is_out_of(words: Sequence[Word], start: int, language: Vocabulary) -> bool:
    phrase = phrase_of(words[start : start + 2])
    return ("among", "out") in language.phrases.get(phrase, ())


def in_one(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> int:
    """The words between an amount with a superlative and what it is the most in: `the most wins in a year`."""
    lengths = range(min(PHRASE_MAX, len(words) - start - 1), 1, -1)
    phrases = ((length, phrase_of(words[start : start + length])) for length in lengths)
    length = next((length for length, one in phrases if ("in_one", "") in language.phrases.get(one, ())), 0)
    if not length or not any(link.cell is None for link in links.links(words[start - 1 : start])):
        return 0
    spans = (words[at:end] for at in range(start) for end in range(at + 1, min(start, at + PHRASE_MAX) + 1))
    most = any(part in ("most", "sup") for span in spans for part, _ in language.phrases.get(phrase_of(span), ()))
    of = words[start + length : start + length + 1]
    is_period = any(part == "period" for part, _ in language.phrases.get(phrase_of(of), ()))
    is_rows = any(map(links.is_title, phrase_of(of)))
    return length if most and (is_period or is_rows or any(link.cell is None for link in links.links(of))) else 0


def asks_for_rows(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> bool:
    """Whether `which` asks for rows: `which orders have no coupon` wants their names, and not how many they are."""
    asked = ("wh", "thing") in language.phrases.get(words[start].tokens, ())
    nouns = words[start + 1].tokens if asked and start + 1 < len(words) else ()
    return any(links.is_title(noun) or may_be_called(noun, links) for noun in nouns)


def is_verb_next(words: Sequence[Word], language: Vocabulary) -> bool:
    return bool(words) and len(words[0].tokens) == 1 and words[0].tokens[0] in language.light


def divides_share(words: Sequence[Word], start: int, language: Vocabulary) -> bool:
    """Whether a verb says something of that of which the share is asked for: `what share of orders were returned`."""
    if not any(part == "copula" for part, _ in language.phrases.get(words[start].tokens, ())):
        return False
    spans = (words[at : at + length] for at in range(start) for length in (1, 2))
    return any(part == "share" for span in spans for part, _ in language.phrases.get(phrase_of(span), ()))


def begins(before: Sequence[Word], language: Vocabulary) -> bool:
    """Whether nothing was said yet."""
    return all(one.tokens[:1] in [(), (",",)] or one.tokens[0] in language.light for one in before)


def value_follows(words: Sequence[Word], links: TableLinks, language: Vocabulary) -> bool:
    """Whether a value comes next, but for a light word before it."""
    at = 1 if len(words) > 1 and words[0].tokens[:1] in [(one,) for one in language.light] else 0
    spans = (words[begin:end] for begin in {0, at} for end in range(begin + 1, min(begin + SPAN_MAX, len(words)) + 1))
    return any(link.cell is not None for span in spans for link in links.links(span))
