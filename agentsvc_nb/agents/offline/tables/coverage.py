"""Words of a question that a calculation did not use. A result that leaves any out is withheld: no bold number is
shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.columns import heads, likeness, named_values, parts, share_a_stem
from agentsvc_nb.agents.offline.tables.conditions import dated, months
from agentsvc_nb.agents.offline.tables.grouping import entity, is_row, repeats, wanted
from agentsvc_nb.agents.offline.tables.measures import Plan, Unclear
from agentsvc_nb.agents.offline.tables.results import expression
from agentsvc_nb.agents.offline.words import LIGHT, STOP, content_words, meanings, stem, stems
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.formats.tables.plain import Table

_GENERIC: Final = frozenset(
    map(stem, ("column", "columns", "value", "values", "spalte", "wert", "werte", "row", "rows", *ops.ROWS))
)


def unknown_words(table: Table, text: str) -> list[str]:
    """The words (`words.content_words`) that name neither an operation, nor the table, nor anything in it."""
    values = {word for one in named_values(table, text) for word in stems(one.shown)}
    dates = map(stem, named) if (named := months(text)) and dated(table, text) else ()
    known = {*stems(table.path), *values, *_GENERIC, *dates}
    return [word for word in content_words(text) if not _known(word, known) and not _column_names(table, word)]


def guessed(table: Table, text: str, used: Collection[int]) -> list[tuple[str, str]]:
    """The words that only resemble the name of a column in `used`, each with that name."""
    named = {stem(part) for name in table.columns for part in tokens(name.replace("_", " "))} | set(stems(table.path))
    slips = [word for word in content_words(text) if not _known(word, named)]
    pairs = ((word, index) for word in slips for index in used if likeness(table.columns[index], stems(word)))
    return [(word, table.columns[index]) for word, index in pairs]


def missing(table: Table, text: str) -> str:
    """The capitalised name after `in`, `for` or `from` that occurs nowhere in the table, so that no result is about it;
    empty when there is none."""
    after = set(ops.CONDITION.findall(" ".join(tokens(text))))
    names = [word for word in content_words(text) if word[0].isupper() and not text.lstrip().startswith(word)]
    names = [word for word in names if after & set(tokens(word))]
    unknown = unknown_words(table, text) if names else []
    return next((word for word in names if word in unknown), "")


def explained(table: Table, text: str, used: Collection[int]) -> int:
    """How many words of the question the table explains: words of its name, of used columns, of values and dates."""
    names = {stem(part) for index in used for part in tokens(table.columns[index].replace("_", " "))}
    values = {word for one in named_values(table, text) for word in stems(one.shown)}
    dates = map(stem, named) if (named := months(text)) and dated(table, text) else ()
    return len({*names, *values, *dates, *stems(table.path.rsplit("/", 1)[-1])} & set(stems(text)))


def asked(text: str) -> int:
    """How many words of the question a calculation has to explain: all that are not operations."""
    return len({word for word in content_words(text) if not all(ops.is_operation(token) for token in tokens(word))})


def no_group(table: Table, folded: str) -> str:
    """The word after `per` or `by` that names nothing in the table; empty when there is none."""
    for found in ops.BY.finditer(folded):
        word = next((word for word in found[1].split() if word not in STOP), "")
        known = not word or word in ops.NO_COLUMN or word.isdigit() or stem(word) in stems(table.path)
        if not known and not _column_names(table, word) and not named_values(table, word):
            return word
    return ""


def _known(word: str, known: Collection[str]) -> bool:
    return all(
        token in STOP or token.isdigit() or ops.is_operation(token) or stem(token) in known for token in tokens(word)
    )


def _column_names(table: Table, word: str, but: Collection[int] = ()) -> bool:
    """Whether the word is like a part of a column's name."""
    asked = set(stems(word))
    return any(
        likeness(part, asked) for index, name in enumerate(table.columns) if index not in but for part in parts(name)
    )


_CLITIC: Final = re.compile(r"['’](\w{1,2})\b")


def unused(made: Plan, text: str) -> list[str]:
    """The words that change or narrow the question and that the calculation did not use, as they were written;
    neighbours are joined."""
    words, written = tokens(text), _written(text)
    folded = " ".join(words)
    used = _used(made, text, words, folded)
    bound = {place for places in ops.matched(ops.BINDING, folded) if not places <= used for place in places}
    left = {place for place, word in enumerate(words) if word not in STOP and place not in used} | bound
    left |= _unanswered(made, folded)
    shown = written if len(written) == len(words) else words
    return [" ".join(shown[place] for place in run) for run in _together(left)]


def _used(made: Plan, text: str, words: Sequence[str], folded: str) -> set[int]:
    """The places (from 0) of the words that the calculation used, or that carry no meaning of their own."""
    said = [stem(word) for word in words]
    binding = _places(ops.BINDING, folded)
    named = _names(made, text, said)
    title = stems(made.table.path)
    slips = {token for word, _ in made.guessed for token in tokens(word) if token not in meanings()}
    plain = {
        place
        for place, word in enumerate(words)
        if said[place] in named
        or likeness(word, title)
        or word in slips
        or word in LIGHT
        or is_row(made.table, word)
        or any(share_a_stem(word, name) or ops.UNIT_WORDS.get(word) == name for name in named)
    }
    found = plain - binding
    found |= {place for one in made.filters for place in one.at} | _operating(made, folded)
    found |= {place for column in _columns(made) for place in _runs(said, stems(_spaced(made.table.columns[column])))}
    return found | {len(tokens(text[: clitic.start()])) for clitic in _CLITIC.finditer(text)}


def _places(pattern: re.Pattern[str], folded: str) -> set[int]:
    return {place for places in ops.matched(pattern, folded) for place in places}


def _operating(made: Plan, folded: str) -> set[int]:
    """The places of the words from which the operations, the grouping and the implied columns were read."""
    named = {made.operation, made.extreme} | ({"min", "max"} if made.turned else set())
    patterns = [ops.OPERATIONS[name] for name in named & set(ops.OPERATIONS)]
    patterns += [ops.OPERATIONS["sum"]] if _adds_nothing(made) else []
    patterns += [ops.GROUPING] if made.group is not None or (made.measure and made.measure.quotient) else []
    patterns += [ops.COUNTING] if made.operation == "count" or made.measure else []
    patterns += [ops.MOST_OF] if made.operation == "count" and made.extreme else []
    patterns += [ops.FORMULAS] if made.measure and made.measure.formula else []
    different = made.operation == "count" and made.measure is None and made.subject is not None
    patterns += [ops.DISTINCT] if made.distinct is not None or different else []
    patterns += [ops.TOP] if made.first else []
    patterns += [ops.VALUE] if made.operation in ("min", "max", "mean", "median") else []
    found = {place for pattern in patterns for place in _places(pattern, folded)}
    return (found - _unfit(made, folded)) | _implying(made, folded)


def _implying(made: Plan, folded: str) -> set[int]:
    """The places of the words that imply a measured or compared column: `cheapest` a price, `weighs` a weight."""
    compared = {part for one in made.filters for part in parts(made.table.columns[one.column])}
    said = compared | (set(parts(made.measure.name)) if made.measure else set())
    return {place for words, names in ops.SAID_OF if said & set(names) for place in _places(words, folded)}


def _unfit(made: Plan, folded: str) -> set[int]:
    """The places of superlatives that do not go with the measure: the oldest by weight, the best of prices."""
    if made.measure is None:
        return set()
    said = {*tokens(_spaced(made.measure.name)), *parts(made.measure.name)}
    found = {place for words, names in ops.IMPLIED if not said & set(names) for place in _places(words, folded)}
    if made.turned:
        found |= _places(ops.MOST, folded)
    elif said & ops.PLACES:
        found |= _places(ops.OPERATIONS["max"], folded) | _places(ops.OPERATIONS["min"], folded)
    return found | (_places(ops.BEST, folded) if said & ops.LESS_IS_BETTER else set())


def _adds_nothing(made: Plan) -> bool:
    """Whether `total` adds nothing to the calculation: the largest total of single rows is the largest value."""
    if made.operation in ("mean", "median"):
        return False
    repeated = made.entity is not None and repeats(made.table, made.entity)
    return made.group is not None or made.operation not in ("min", "max") or not repeated


def _columns(made: Plan) -> set[int]:
    """The columns that have a part in the result."""
    measured = made.measure.columns if made.measure else ()
    named = made.entity if made.operation in ("min", "max") and made.group is None else None
    others = (made.group, made.distinct, made.subject, named)
    return {*measured, *(one.column for one in made.filters), *(index for index in others if index is not None)}


def _names(made: Plan, text: str, said: Collection[str]) -> set[str]:
    """The stems of the words in the used columns' names. A column of numbers counts only if its main noun (`heads`) was
    said: `units` does not name `unit_price`."""
    counted = {one.column for one in made.filters} & {made.distinct}  # a column limited to one value has none to count
    columns = {index: made.table.columns[index] for index in _columns(made) - counted}
    if not _implying(made, " ".join(tokens(text))):
        # Half of a name is enough for a group or an entity: `product` for `product_id`.
        whole = {made.group, made.distinct, made.entity} - {made.subject}
        numbers = set(made.table.numbers) - whole
        columns = {index: name for index, name in columns.items() if index not in numbers or _says(heads(name), said)}
    return {word for name in columns.values() for word in stems(_spaced(name))}


def _says(words: Collection[str], said: Collection[str]) -> bool:
    return not words or any(likeness(word, said) for word in words)


def _unanswered(made: Plan, folded: str) -> set[int]:
    """The places of `who`, `when` or `which channel` when the result is a bare number, or names something else."""
    naming_ = made.operation in ("min", "max") or bool(made.extreme)
    asked, direct = ops.ASKED.search(folded), wanted(made.table, folded)
    nameless = asked and not asked["who"] and entity(made.table, folded) is None
    if asked and (not naming_ or nameless or asked["other"]):
        return set(ops.places(folded, asked.span()))
    measured = made.measure.columns if made.measure else ()
    if not naming_ and made.group is None and direct is not None and direct not in measured:
        return {min(places) for places in ops.matched(ops.WHICH, folded)}
    return set()


def _written(text: str) -> list[str]:
    """The tokens of a text as they were written."""
    return re.findall(r"[^\W_]+", text)


def _together(left: Collection[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in sorted(left):
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _spaced(column: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).replace("_", " ")


def _runs(said: list[str], name: list[str]) -> Iterator[int]:
    """The places of two or more neighbours that are neighbours in a column's name, too: there, `over` is part of a
    name."""
    pairs = {(name[at], name[at + 1]) for at in range(len(name) - 1)}
    for place in range(len(said) - 1):
        if (said[place], said[place + 1]) in pairs:
            yield from (place, place + 1)


_MATCHES_SHOWN: Final = 3
_CELLS_SEARCHED: Final = 10_000


def withheld(readings: Sequence[Plan], left: Sequence[str]) -> Unclear:
    """Why there is no result: words of the question that the calculation did not use."""
    first = readings[0]
    named = ", ".join(f"“{escape(words)}”" for words in left)
    why = f"I did not use: {named}. So this is no result, only what I could compute without that:"
    return Unclear(
        first.table, f"{why}\n\n{_listed(readings)}{_matches(first, left)}", first.fit, first.explained, withheld=True
    )


def ambiguous(readings: Sequence[Plan]) -> Unclear:
    """Why there is no result: the question has several readings with different results."""
    first = readings[0]
    why = "The question can mean each of these, which differ. Say “total”, “average”, “rows” or “different” to tell:"
    return Unclear(first.table, f"{why}\n\n{_listed(readings)}", first.fit, first.explained, withheld=True)


def _listed(readings: Sequence[Plan]) -> str:
    return "\n".join(f"- {code(expression(one))}" for one in readings)


def _matches(made: Plan, left: Sequence[str]) -> str:
    """Where the unused words occur in the table; the names of its columns when they occur nowhere."""
    found = [line for words in left for word in words.split() if (line := _match(made, word))]
    if found:
        return "\n\n" + "; ".join(dict.fromkeys(found)) + "."
    names = ", ".join(map(escape, made.table.columns[:20])) + (", …" if len(made.table.columns) > 20 else "")
    return f"\n\nThe columns of {code(made.table.path)} are {names}."


def _match(made: Plan, word: str) -> str:
    wanted, columns = set(stems(word)), made.table.columns
    named = [escape(name) for name in columns if wanted & set(map(stem, parts(name)))]
    if named:
        return f"“{escape(word)}” may be the column {' or '.join(named[:_MATCHES_SHOWN])}"
    rows = made.table.rows[:_CELLS_SEARCHED]
    held = (
        f"{escape(cell)} ({escape(name)})"
        for row in rows
        for name, cell in zip(columns, row, strict=True)
        if wanted & set(stems(cell))
    )
    cells = list(dict.fromkeys(held))[:_MATCHES_SHOWN]
    return f"“{escape(word)}” stands in {', '.join(cells)}" if cells else ""
