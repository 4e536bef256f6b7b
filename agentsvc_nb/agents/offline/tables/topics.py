"""What the rows of a table are, where neither its title nor a header says the noun: persons of whom its headers tell,
and verbs that only say again what its rows or columns are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from agentsvc_nb.agents.offline.languages.german import GERMAN
from agentsvc_nb.agents.offline.languages.language import in_english
from agentsvc_nb.agents.offline.tables.columns import TableColumns
from agentsvc_nb.agents.offline.tables.question import Word, forms, opened
from agentsvc_nb.agents.offline.words import meanings
from agentsvc_nb.documents.normalization import tokens

_ANYBODY: Final = frozenset(("person", "people"))
_PERSONS: Final = frozenset(
    tokens(
        "employee employees worker workers colleague colleagues staff patient patients student students pupil pupils"
        " member members guest guests visitor visitors respondent respondents participant participants passenger"
        " passengers"
    )
)
_OTHERS: Final = frozenset(tokens("customer customers client clients subscriber subscribers agent agents rep reps"))
"""Nouns of persons of a kind: of two kinds at most one is what the rows are."""
_BESIDES: Final = frozenset(
    tokens(
        "doctor doctors teacher teachers driver drivers author authors manager managers supplier suppliers seller"
        " sellers buyer user users"
    )
)
"""Nouns of persons of whom rows tell, and which are no rows themselves."""
_OF_PERSONS: Final = frozenset(tokens("surname gender sex age birth birthday birthdate"))
"""What headers tell of persons alone."""
_NEAR: Final = 0.43
"""By word vectors: `patient` has 0.59 beside `hospital`, `employee` 0.48 beside `salary`, 0.23 beside `contract`."""
_STEM_MIN: Final = 5
_ENDING_MAX: Final = 4


def is_person(word: str) -> bool:
    """Whether a noun of another language is of persons, who are the rows only of a table about them."""
    return not in_english(word).isdisjoint(_PERSONS | _OTHERS | _BESIDES | _ANYBODY)


def says_rows(word: str, links: TableColumns) -> bool:
    """Whether a noun of another language than English is of persons, and the table is about such."""
    if links.language.code == "en":
        return False
    meant = {word, *in_english(word)}
    kinds = meant & _PERSONS
    if not kinds and meant.isdisjoint(_ANYBODY):
        return False
    about = _topics(links)
    others = (about & (_PERSONS | _OTHERS)) - kinds
    if not kinds:
        return others.isdisjoint(_OTHERS) and not about.isdisjoint(_OF_PERSONS)
    # A table of customers tells nothing of employees, although both have a city.
    if any(not _same(one, kind) for one in others for kind in kinds):
        return False
    near = meanings().of(sorted(kinds)) @ meanings().of(sorted(about)).T
    return float(near.max()) >= _NEAR


def is_plural(word: str) -> bool:
    """Whether a word of a title is rather what there are several of, as `rechnungen` in `rechnungen_2024.csv`."""
    return word.endswith("s") or ((word,) in GERMAN.nouns and word.endswith(("n", "e", "er")))


def _same(one: str, other: str) -> bool:
    return not forms(one).isdisjoint(forms(other)) or {one, other} <= {"staff", "employee", "employees"}


def _topics(links: TableColumns) -> frozenset[str]:
    """The words of the title and of the headers, in English."""
    title = links.title_words
    found = {*title, *(part for word in title for part in opened((word,)))}
    found |= {part for header in links.opened_headers.values() for part in header}
    found |= {meant for word in tuple(found) for form in forms(word) for meant in in_english(form)}
    return frozenset(word for word in found if word.isalpha()) or frozenset(("table",))


def stem_of(word: str, other: str) -> bool:
    """Whether two words differ in their endings alone, as `reservaron` and `reservas` do."""
    shared = next((at for at, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(word), len(other)) if shared is None else shared
    return shared >= _STEM_MIN and max(len(word), len(other)) - shared <= _ENDING_MAX


_PARTICIPLES: Final = {
    "de": re.compile(r"[a-zäöü]+(t|te|ten|en)"),
    "fr": re.compile(r"\w+(é|ée|és|ées|it|its|ites|is|ises|u|us|ue|ues|èrent|ent)"),
    "es": re.compile(r"\w+([ai]d[oa]s?|aron|ieron|ó)"),
}


def is_participle(written: str, code: str) -> bool:
    """Whether the word has the ending of a verb that says what was done."""
    return code in _PARTICIPLES and _PARTICIPLES[code].fullmatch(written) is not None


def told_again(word: str, links: TableColumns) -> Iterator[str]:
    """The columns whose headers have another form of the word."""
    for name, header in links.opened_headers.items():
        verb = word if links.language.code == "de" else ""
        if any(stem_of(word, one) or _is_done_by(verb, one) for one in (*header, *links.headers[name])):
            yield name


_VERB_ENDINGS: Final = ("ete", "te", "et", "t", "en")
_NOUN_ENDINGS: Final = ("ung", "er", "erin")
_ROOT_MIN: Final = 4
_OF_OTHERS: Final = (
    "ver",
    "be",
    "ent",
    "er",
    "zer",
    "ab",
    "an",
    "aus",
    "ein",
    "um",
    "vor",
    "unter",
    "mit",
    "uber",
    "auf",
)
"""With these before it, it is that of another verb: who `kauft` is no `Verkäufer`."""


def _is_done_by(verb: str, noun: str) -> bool:
    """Whether the noun is that of a German verb, as `Leitung` and `Leiterin` are of `leitet`."""
    roots = {verb.removesuffix(ending) for ending in _VERB_ENDINGS if verb.endswith(ending)}
    ends = [root + ending for root in roots if len(root) >= _ROOT_MIN for ending in _NOUN_ENDINGS]
    return any(noun.endswith(end) and not noun.removesuffix(end).endswith(_OF_OTHERS) for end in ends)


_DONE: Final = re.compile(r"\w+(e|ee|es|ees|ad[oa]s?|id[oa]s?|t|ted|led|ed|ion|cion|ung|en)")


def done(word: Word, cells: Iterable[tuple[str, ...]], code: str) -> list[tuple[str, ...]]:
    """The values that say what a verb says was done, as `Cancelada` does for `se cancelaron`."""
    if not is_participle(word.text, code) or len(word.tokens) != 1:
        return []
    return [one for one in cells if len(one) == 1 and stem_of(word.tokens[0], one[0]) and _DONE.fullmatch(one[0])]


_GENDERS: Final = ("gender", "sex")
_FEMALE: Final = (("female",), ("weiblich",))
_MALE: Final = (("male",), ("mannlich",))


def letter_of(asked: tuple[str, ...], links: TableColumns) -> Iterator[tuple[str, str]]:
    """The column of genders, and the letter that it has for `women` or `men`: `H` is a man, and `M` beside it a
    woman."""
    meant = {asked, *links.language.values.get(asked, ())}
    female, male = not meant.isdisjoint(_FEMALE), not meant.isdisjoint(_MALE)
    if female == male:
        return
    for column in links.named(*_GENDERS):
        letters = {value.casefold(): value for value in column.values if len(value) == 1}
        women = next((one for one in ("f", "w", "m" if "h" in letters else "") if one in letters), "")
        men = next((one for one in ("h", "m") if one in letters and one != women), "")
        if women and men:
            yield column.name, letters[women if female else men]
