"""The items of a question, and rules over sequences of them: patterns of their tags, as regular expressions have them
of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.agents.offline.tables.linking import TableLinks


@dataclass(frozen=True, slots=True)
class Item:
    """A part of a question: its `tag` says what it is, `value` which one."""

    tag: str
    value: Any = None
    told: tuple[str, ...] = ()
    plural: bool = False
    """Of a column: whether it was named in the plural, unlike its header."""
    of: bool = False
    """Of a column, and of rows: whether something else is said to be theirs, as `the highest price of products`."""


_PIECE: Final = re.compile(r"\((?P<group>[^)]*)\)(?P<times>[?*+]?)|(?P<tag>[\w|]+)(?P<often>[?*+]?)")
_ROUNDS_MAX: Final = 30

Made = Item | Sequence[Item] | None
"""What takes the place of the items that a rule found; None leaves them."""


def pattern(written: str) -> re.Pattern[str]:
    """`not? (column cells)+ one|other` as an expression over tags that end with a blank each."""
    # In the text of an item list each tag ends with a blank: a rule begins where a tag does, and its tags are whole.
    return re.compile(rf"(?<!\S)(?=\S){_of(written)}")


def _of(written: str) -> str:
    made = ""
    for piece in _PIECE.finditer(written):
        if piece["group"] is not None:
            made += f"(?:{_of(piece['group'])}){piece['times']}"
        else:
            made += f"(?:(?:{piece['tag']}) ){piece['often']}"
    return made


@dataclass(frozen=True, slots=True)
class Rule:
    """`make` gets the items that the pattern fits."""

    pattern: re.Pattern[str]
    make: Callable[[Sequence[Item], TableLinks], Made]
    ahead: re.Pattern[str] | None = None


def rule(written: str, make: Callable[[Sequence[Item], TableLinks], Made], ahead: str = "") -> Rule:
    return Rule(pattern(written), make, pattern(ahead) if ahead else None)


def reduced(items: Sequence[Item], rules: Sequence[Rule], links: TableLinks) -> list[Item]:
    """The items after all rules, each applied wherever it fits, from left to right, until none does."""
    now = list(items)
    text = _text(now)
    # What a rule makes may be what an earlier one looks for, so all are tried anew until nothing changes.
    for _ in range(_ROUNDS_MAX):
        before = now
        for one in rules:
            if one.pattern.search(text):
                now = _applied(one, now, text, links)
                text = _text(now)
        if now == before:
            break
    return now


def _applied(one: Rule, items: list[Item], text: str, links: TableLinks) -> list[Item]:
    at = 0
    while found := one.pattern.search(text, at):
        first, count = text.count(" ", 0, found.start()), found[0].count(" ")
        if one.ahead is None or one.ahead.match(text, found.end()):
            made = one.make(items[first : first + count], links)
            if made is not None:
                new = _telling(made, items[first : first + count])
                items = items[:first] + new + items[first + count :]
                # Not behind it: what was made may fit the rule together with what follows.
                text, at = _text(items), found.start()
                continue
        at = text.index(" ", found.start()) + 1
    return items


def _text(items: Sequence[Item]) -> str:
    return "".join(f"{item.tag} " for item in items)


def _telling(made: Item | Sequence[Item], of: Sequence[Item]) -> list[Item]:
    """What was made, with what there is to be told of the items it was made of."""
    told = tuple(dict.fromkeys(line for item in of for line in item.told))
    # The first item carries them on: where each line came from is not asked later.
    new = [made] if isinstance(made, Item) else list(made)
    return [Item(new[0].tag, new[0].value, tuple(dict.fromkeys((*told, *new[0].told)))), *new[1:]] if new else []


def values(items: Sequence[Item], *tags: str) -> list[Any]:
    """The values of the items with these tags, in order."""
    return [item.value for item in items if item.tag in tags]


def has(items: Sequence[Item], tag: str) -> bool:
    return any(item.tag == tag for item in items)
