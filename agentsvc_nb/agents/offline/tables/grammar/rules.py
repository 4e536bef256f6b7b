"""Rules over sequences of items: patterns of their tags, as regular expressions have them of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.agents.offline.tables.grammar.items import Item
from agentsvc_nb.agents.offline.tables.linking import TableLinks

_PIECE: Final = re.compile(r"\((?P<group>[^)]*)\)(?P<times>[?*+]?)|(?P<tag>[\w|]+)(?P<often>[?*+]?)")
_ROUNDS_MAX: Final = 30

Made = Item | Sequence[Item] | None
"""What takes the place of the items that a rule found; None leaves them."""


def pattern(written: str) -> re.Pattern[str]:
    """`not? (column cells)+ one|other` as an expression over tags that end with a blank each."""
    return re.compile(_of(written))


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
    for _ in range(_ROUNDS_MAX):
        before = now
        for one in rules:
            now = _applied(one, now, links)
        if now == before:
            break
    return now


def _applied(one: Rule, items: list[Item], links: TableLinks) -> list[Item]:
    at = 0
    while at < len(items):
        text = "".join(f"{item.tag} " for item in items[at:])
        found = one.pattern.match(text)
        if found and found.end() and (one.ahead is None or one.ahead.match(text, found.end())):
            count = text.count(" ", 0, found.end())
            made = one.make(items[at : at + count], links)
            if made is not None:
                told = tuple(dict.fromkeys(line for item in items[at : at + count] for line in item.told))
                new = [made] if isinstance(made, Item) else list(made)
                new[:1] = [Item(new[0].tag, new[0].value, told)] if new else []
                items = items[:at] + new + items[at + count :]
                continue
        at += 1
    return items


def values(items: Sequence[Item], *tags: str) -> list[Any]:
    """The values of the items with these tags, in order."""
    return [item.value for item in items if item.tag in tags]


def has(items: Sequence[Item], tag: str) -> bool:
    return any(item.tag == tag for item in items)
