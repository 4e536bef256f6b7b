"""Words of a question that are read otherwise than they stand: mistyped ones; those of one header, also where other
words stand between (`loans in 2024` beside `loans_2023` and `loans_2024`); and verbs in the form that a value has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from agentsvc_nb.agents.offline.languages.english import REQUESTS
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import Word, alike, edits
from agentsvc_nb.agents.offline.words import meanings
from agentsvc_nb.documents.plans.profiles import TableProfile

_LETTERS_MIN: Final = 5
_SHORT: Final = 4
"""Shorter words have to have the same letters, in another order."""
_PARTS: Final = ("op", "count", "most", "sup", "than", "distinct", "share", "cmp", "month", "weekday", "top", "bottom")


def mended(asked: Sequence[Word], links: TableLinks) -> tuple[list[Word], tuple[str, ...]]:
    """The words, those mended that nobody writes so, and sentences that tell it."""
    made: list[Word] = []
    told: list[str] = []
    for word in asked:
        meant = _meant(word, links)
        if meant:
            told.append(f"{word.text} was read as {meant}.")
        made.append(Word(meant, (meant,)) if meant else word)
    return made, tuple(told)


def _meant(word: Word, links: TableLinks) -> str:
    """Two words at the same distance are a guess, and so is a word that may be a name."""
    written = word.tokens[0] if len(word.tokens) == 1 and not word.quoted else ""
    language = links.language
    if len(written) < _SHORT or not written.isalpha() or meanings().spells(written) or language.knows(written):
        return ""
    if links.stands(written) or links.links((word,)) or links.is_title(written) or any(links.mistyped(word, language)):
        return ""
    if written in _known(language):
        return ""
    found = _nearest(written, _here(links)) or _nearest(written, _known(language))
    return found if len(written) >= _LETTERS_MIN or sorted(found) == sorted(written) else ""


def _nearest(written: str, words: Iterable[str]) -> str:
    near = {word: far for word in words if (far := edits(written, word)) is not None}
    least = min(near.values(), default=0)
    best = [word for word, far in near.items() if far == least]
    return best[0] if len(best) == 1 else ""


def _here(links: TableLinks) -> frozenset[str]:
    """The longer words of headers, values and titles."""
    return _long(links.value_words() | links.vocabulary | links.title_words)


def _long(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if len(word) >= _SHORT and word.isalpha())


def _known(language: Vocabulary) -> frozenset[str]:
    """What is computed, and nouns of rows; other words of the language are too many to tell which is meant."""
    parts = (phrase for phrase, meant in language.phrases.items() if any(part in _PARTS for part, _ in meant))
    return _long({*(word for phrase in parts for word in phrase), *language.rows})


_NUMBERED: Final = re.compile(r"\d{1,4}|q[1-4]|h[12]")
_PREPOSITIONS: Final = frozenset(("in", "of", "for", "during", "from"))
_VERB_LETTERS_MIN: Final = 3
_BETWEEN_MAX: Final = 2


def with_blanks(question: str, tables: Sequence[TableProfile]) -> str:
    """The question with blanks around a stroke between two headers of a table: `Clicks/Impressions` divides them."""
    for table in tables:
        names = [column.name for column in table.columns if column.name]
        headers = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        for found in dict.fromkeys(re.findall(rf"(?i)(?<!\w)(?:{headers})/(?:{headers})(?!\w)", question)):
            if not any(found.casefold() in name.casefold() for name in names):
                question = question.replace(found, found.replace("/", " / "))
    return question


def gathered(asked: Sequence[Word], links: TableLinks) -> tuple[list[Word], tuple[str, ...]]:
    """The words, and sentences on those that were read otherwise than they stand."""
    if links.language.code != "en":
        return list(asked), ()
    made, told = list(asked), []
    for at, word in enumerate(made):
        if form := _other_form(word, links):
            # Quoted: as a value, and not as a verb that may add no meaning.
            made[at] = Word(form, (form.casefold(),), quoted=True)
            told.append(f"{word.text} was read as {form}.")
    made = _divided_headers(made, links)
    if links.dates():
        return made, tuple(told)  # a year or a quarter may be one of the dates
    for rest, members in _families(links).items():
        places = [at for at in range(len(made)) if _names(made[at : at + len(rest)], rest, links)]
        numbers = [at for at, word in enumerate(made) if len(word.tokens) == 1 and word.tokens[0] in members]
        if len(places) == len(numbers) == 1:
            made = _put_together(made, places[0], len(rest), numbers[0], members)
    return made, tuple(told)


def _divided_headers(words: list[Word], links: TableLinks) -> list[Word]:
    """`copies are available`, where a column is called `Copies available`, and another `Copies`."""
    for header in links.headers.values():
        for at, word in enumerate(words):
            ends = range(at + 2, min(at + 1 + _BETWEEN_MAX, len(words) - 1) + 1)
            end = next((end for end in ends if (*word.tokens, *words[end].tokens) == header), None)
            between = [token for one in words[at + 1 : end] for token in one.tokens] if end else []
            if end and not word.quoted and links.language.light.issuperset(between):
                return [*words[:at], Word(" ".join(header), header), *words[end + 1 :]]
    return words


def _families(links: TableLinks) -> dict[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Headers that differ in a number alone, by their other words and by the number."""
    found: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    for header in links.headers.values():
        numbered = [word for word in header if _NUMBERED.fullmatch(word)]
        rest = tuple(word for word in header if word not in numbered)
        if len(numbered) == 1 and rest:
            found.setdefault(rest, {})[numbered[0]] = header
    return {rest: members for rest, members in found.items() if len(members) > 1}


def _names(words: Sequence[Word], rest: Sequence[str], links: TableLinks) -> bool:
    said = [word.tokens[0] for word in words if len(word.tokens) == 1]
    if len(said) != len(rest) or any(word.quoted for word in words):
        return False
    groups = links.language.alike
    return all(
        alike(one, of) or any({one, of} <= group for group in groups) for one, of in zip(said, rest, strict=True)
    )


def _put_together(
    words: Sequence[Word], at: int, length: int, number: int, members: dict[str, tuple[str, ...]]
) -> list[Word]:
    header = members[words[number].tokens[0]]
    left_out = {number} | ({number - 1} if words[number - 1].tokens[:1] in [(one,) for one in _PREPOSITIONS] else set())
    joined = Word(" ".join(header), header)
    kept = [(place, word) for place, word in enumerate(words) if place not in left_out]
    return [joined if place == at else word for place, word in kept if not at < place < at + length]


def _other_form(word: Word, links: TableLinks) -> str:
    """The one value that is another form of a verb which nothing in the table has: `Won` of `win`."""
    written = word.tokens[0] if len(word.tokens) == 1 and not word.quoted else ""
    if len(written) < _VERB_LETTERS_MIN or links.language.knows(written) or links.stands(written):
        return ""
    if links.links((word,)):
        return ""
    values = {value for value in _single_values(links) if value.casefold() in _forms_of(written)}
    return values.pop() if len(values) == 1 else ""


def _single_values(links: TableLinks) -> Iterator[str]:
    for column in links.table.columns:
        yield from (value for value in column.values if column.kind == "text" and value.isalpha())


def _forms_of(verb: str) -> set[str]:
    base = verb.removesuffix("ing")
    bases = {verb, *((base, base + "e") if base != verb else ())}
    if base != verb and base[-1:] == base[-2:-1]:
        bases.add(base[:-1])
    regular = {one + ending for one in bases for ending in ("ed", "d", "led", "ted")}
    return regular | {form for one in bases for form in _irregular().get(one, ())}


@cache
def _irregular() -> dict[str, frozenset[str]]:
    """Forms of English verbs, by the verb."""
    lines = (line.split() for line in REQUESTS.irregular.split("|"))
    found: dict[str, frozenset[str]] = {}
    for verb, *others in lines:
        found[verb] = found.get(verb, frozenset()) | frozenset(others)
    return found
