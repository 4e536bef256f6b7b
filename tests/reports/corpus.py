"""The documents of `data/documents.jsonl`, rebuilt from public bug reports; the data are invented."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from tests.reports.cases import DATA


@dataclass(frozen=True, slots=True)
class Case:
    """A document. Its text has the strings of `has`, in their order, and none of `lacks`; `says` is in `unreadable`,
    which is empty without it."""

    name: str
    source: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    says: str = ""

    def build(self) -> bytes:
        """Return its content."""
        return (DATA / "documents" / self.name).read_bytes()


CASES: Final = [Case(**json.loads(line)) for line in (DATA / "documents.jsonl").read_text("utf-8").splitlines()]
