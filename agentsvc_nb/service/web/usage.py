"""Usage by key and month, a line each (contract §7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from agentsvc_nb.service.records.usage import UsageRecord

_KINDS = {"tokens": "tokens", "picture": "pictures", "web_search": "web searches"}


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What one key used in one UTC month; `what` as words."""

    month: str
    key: str
    what: str
    microcents: int


def lines(records: Iterable[UsageRecord], names: Mapping[str, str]) -> list[UsageLine]:
    """The bill's lines, in the order of the records; `names` are the keys' by id."""
    found = []
    for (month, key_id), group in groupby(records, key=lambda record: (record.month, record.key_id)):
        parts = list(group)
        what = ", ".join(f"{part.quantity:,} {_KINDS.get(part.kind, part.kind)}" for part in parts)
        microcents = sum(part.microcents for part in parts)
        found.append(UsageLine(month, names.get(key_id, key_id), what, microcents))
    return found
