"""What a SQL statement of the agent may say: one query that reads, of nothing that is withheld.

A check of words, beside what the database itself enforces. What could be read in two ways (comments, backslashes) is
refused rather than understood, so that no dialect sees another statement than this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.notebook.kernel.masking import Rules, telling
from agentsvc_nb.wire.text import label, reveal

Tables = Mapping[str, Sequence[tuple[str, str]]]
"""The columns of each table, with their types; a table's name has its schema before it, unless that is the default."""
SQL_CHARS: Final = 10_000

_PARTS: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<mark>\S)""",
    re.VERBOSE,
)
_UNSURE: Final = re.compile(r"--|/\*|\*/|\\|#|\$(?:[^\W\d]\w*)?\$")
_WRITING = """
    alter analyze attach begin call checkpoint commit copy create deallocate declare delete describe detach do drop
    exec execute explain export grant handler import insert install into load lock merge outfile pivot pragma
    prepare refresh reindex release rename reset revoke rollback savepoint set show summarize truncate uescape
    unpivot update use vacuum
"""
_FORBIDDEN: Final = frozenset(_WRITING.split())
_CATALOGS: Final = re.compile(
    r"(?:pg|lo|sqlite|duckdb|pragma|dblink|xp|sp)_|(?:information|performance)_schema$|dblink"
)
_FUNCTIONS: Final = re.compile(
    r"read_\w+|load_(?:file|extension)|nextval|setval|set_config|current_setting|getvariable|query(?:_table)?"
    r"|\w+_to_xml\w*|sleep|benchmark|get_lock|sys_\w+|utl_\w+|dbms_\w+|columns|glob"
)
_SETS: Final = frozenset({"union", "all", "except", "intersect", "name", "distinct", "("})


class Refused(LookupError):
    """The statement is not run; its text says why."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    @property
    def name(self) -> str:
        """What a word or a quoted name names, in lower case; of anything else what it is."""
        if self.kind == "quoted":
            mark = self.text[0]
            return self.text[1:-1].replace(mark * 2, mark).casefold()
        return self.text.casefold()

    @property
    def names(self) -> bool:
        return self.kind in ("word", "quoted")


_EDGE: Final = _Token("mark", "")


def check(sql: str, tables: Tables, rules: Rules) -> str:
    """The statement, without a semicolon at its end. Raises `Refused` with a sentence for the agent.

    >>> check("select region, sum(amount) from sales group by region;", {}, Rules())
    'select region, sum(amount) from sales group by region'
    >>> check("delete from sales", {}, Rules())
    Traceback (most recent call last):
    ...
    agentsvc_nb.notebook.kernel.statements.Refused: Only one statement that begins with SELECT or WITH is run.
    """
    statement = sql.strip().removesuffix(";").rstrip()
    if len(statement) > SQL_CHARS or reveal(statement) != statement:
        raise Refused(f"The statement has over {SQL_CHARS:,} or invisible characters.")
    if found := _UNSURE.search(statement):
        raise Refused(f"{label(found[0], 20)} can't be in the statement: write it without comments and backslashes.")
    tokens = [_Token(str(found.lastgroup), found[0]) for found in _PARTS.finditer(statement)]
    first = next((token.name for token in tokens if token.text != "("), "")
    if first not in ("select", "with") or any(token.text in (";", "'", '"', "`") for token in tokens):
        raise Refused("Only one statement that begins with SELECT or WITH is run.")
    for before, token, after in _in_turn(tokens):
        _check_word(before, token, after)
        _check_withheld(token, rules)
    _check_whole_rows(tokens, tables, rules)
    return statement


def _in_turn(tokens: Sequence[_Token]) -> Iterator[tuple[_Token, _Token, _Token]]:
    return zip([_EDGE, *tokens], tokens, [*tokens[1:], _EDGE], strict=False)


def _check_word(before: _Token, token: _Token, after: _Token) -> None:
    said = label(token.name, 60)
    if token.kind == "word" and token.name in _FORBIDDEN and before.text != ".":
        raise Refused(f"{said.upper()} can't be in a statement that only reads; quote it if it is a name.")
    if token.names and _CATALOGS.match(token.name):
        raise Refused(f"{said} can't be asked: database_schema tells the tables and columns.")
    if token.names and after.text == "(" and _FUNCTIONS.fullmatch(token.name):
        raise Refused(f"The function {said} can't be used here.")
    if token.kind == "text" and before.name in ("from", "join"):
        raise Refused("A table can't be a text: files are not read here.")


def _check_withheld(token: _Token, rules: Rules) -> None:
    if token.kind == "text":  # some databases take texts for names
        said = token.text[1:-1]
        if rules.hides(said):
            raise Refused(f"{label(said, 60)} can't be asked: the user does not want it to be mentioned.")
    elif token.names and rules.hides(token.name):
        raise Refused(f"{label(token.name, 60)} can't be asked: the user does not want it to be mentioned.")
    elif token.names and telling(token.name):
        raise Refused(f"{label(token.name, 60)} can't be asked: its name says that a credential is in it.")


def is_withheld(column: str, rules: Rules) -> bool:
    """Whether the values of a column of that name are not told."""
    return rules.hides(column) or telling(column)


def _check_whole_rows(tokens: Sequence[_Token], tables: Tables, rules: Rules) -> None:
    """Raise `Refused` for what would have a withheld column of a table without naming it: `*`, or a row as a value."""
    guarded = {
        name.casefold().rpartition(".")[2]
        for name, columns in tables.items()
        if any(is_withheld(column, rules) for column, _ in columns)
    }
    mentioned = guarded & {token.name for token in tokens if token.names}
    if not mentioned:
        return
    why = f"{label(min(mentioned), 60)} has columns that are not told: "
    aliases = set(_aliases(tokens, mentioned))
    for at, (before, token, after) in enumerate(_in_turn(tokens)):
        if token.text == "*" and not (_multiplies(before) or (before.text == "(" and tokens[at - 2].name == "count")):
            raise Refused(f"{why}name the columns that you need, not *.")
        if token.name == "from" and (at == 0 or before.name in _SETS):
            raise Refused(f"{why}begin with SELECT and the columns that you need.")
        in_place = before.name in ("from", "join", ".") or after.text == "."
        if token.names and token.name in mentioned and (not in_place or after.text == "("):
            raise Refused(f"{why}name them after FROM or JOIN, and its columns one by one.")
        if token.names and token.name in aliases and at not in _alias_places(tokens, mentioned) and after.text != ".":
            raise Refused(f"{why}write its columns as {label(token.name, 60)}.column.")


def _multiplies(before: _Token) -> bool:
    """Whether a star after this multiplies."""
    return before.text in (")", "]") or before.kind in ("number", "quoted") or _is_value(before)


def _is_value(token: _Token) -> bool:
    return token.kind == "word" and token.name not in ("select", "distinct", "all")


def _alias_places(tokens: Sequence[_Token], mentioned: Iterable[str]) -> dict[int, str]:
    """Where the tables are given other names, and these."""
    places = {}
    for at, token in enumerate(tokens):
        if not token.names or token.name not in mentioned:
            continue
        after = at + 2 if tokens[at + 1 : at + 2] and tokens[at + 1].name == "as" else at + 1
        if after < len(tokens) and tokens[after].names and tokens[after].name not in _NO_ALIAS:
            if tokens[after + 1 : after + 2] and tokens[after + 1].text == "(":
                raise Refused("A table that has columns which are not told can't be given other names for its columns.")
            places[after] = tokens[after].name
    return places


def _aliases(tokens: Sequence[_Token], mentioned: Iterable[str]) -> list[str]:
    return list(_alias_places(tokens, mentioned).values())


_AFTER_A_TABLE = """
    where join inner left right full cross natural on using group order having limit offset fetch union except
    intersect window qualify tablesample lateral for asof anti semi positional
"""
_NO_ALIAS: Final = frozenset(_AFTER_A_TABLE.split())
