"""How many planted errors the check of an answer's numbers finds, how many true numbers it does not find, and its time.

python -m tests.bench.numbers [--quick] [--show] [FILE ...]

A file is a list of answers with their results and planted errors; without one, the sets in `data/`.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.agents.numbers.check import check
from agentsvc_nb.agents.numbers.tables import SourceTable
from agentsvc_nb.agents.numbers.texts import Quote
from agentsvc_nb.wire.runs import AnswerNumber

DATA: Final = Path(__file__).parent / "data"


@dataclass
class Score:
    """Of the planted numbers those `caught` (not found, as they should be); of the true ones those not found."""

    planted: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    true: int = 0
    not_found: int = 0
    unlisted: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def caught_share(self) -> float:
        return self.caught.total() / max(self.planted.total(), 1)

    @property
    def not_found_share(self) -> float:
        return self.not_found / max(self.true, 1)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {self.caught[kind]} of {count}" for kind, count in sorted(self.planted.items()))
        caught = f"{self.caught.total()} of {self.planted.total()} ({self.caught_share:.1%})"
        return (
            f"planted errors not found: {caught}: {kinds}\n"
            f"true numbers not found: {self.not_found} of {self.true} ({self.not_found_share:.1%})"
        )


def checked(case: dict[str, Any]) -> list[AnswerNumber]:
    """Check the answer of a case. A result that a later one replaced is no source."""
    tables = [
        SourceTable(
            one["name"], one["columns"], one["rows"], one.get("labels") or {}, replaced=bool(one.get("earlier"))
        )
        for one in case["results"]
    ]
    quotes = [Quote(one["name"], one["text"], one["name"]) for one in case["files"]]
    return check(case["answer"], case["question"], tables, quotes)


def score(cases: list[dict[str, Any]]) -> Score:
    """Compare what was found with what was planted. Numbers of `ignore` are no claims."""
    result = Score()
    for case in cases:
        found = checked(case)
        wrong: dict[int, dict[str, Any]] = {}
        for planted in case["planted"]:
            at = -1
            for _ in range(planted.get("occurrence", 1)):
                at = case["answer"].index(planted["text"], at + 1)
            result.planted[planted["kind"]] += 1
            inside = [one for one in found if one.start < at + len(planted["text"]) and at < one.end]
            wrong |= {one.start: planted for one in inside}
            if any(one.status == "not_found" for one in inside):
                result.caught[planted["kind"]] += 1
            else:
                said = "; ".join(f"{one.status}: {one.source}" for one in inside) or "not listed"
                result.lines.append(
                    f"{case['id']} MISSED {planted['kind']} {planted['text']} (true {planted['true']}): {said}"
                )
        ignored = set(case["ignore"])
        for one in found:
            if one.start in wrong or one.text in ignored or any(_covers(case["answer"], text, one) for text in ignored):
                continue
            result.true += 1
            if one.status == "not_found":
                result.not_found += 1
                around = case["answer"][max(0, one.start - 70) : one.end + 40].replace("\n", "⏎")
                result.lines.append(f"{case['id']} not found: {one.text}   in: {around}")
    return result


def _covers(answer: str, text: str, number: AnswerNumber) -> bool:
    """Return True if the number is within an occurrence of the text."""
    at = answer.find(text)
    while at >= 0 and at <= number.start:
        if at <= number.start and number.end <= at + len(text):
            return True
        at = answer.find(text, at + 1)
    return False


def large() -> dict[str, Any]:
    """Return an answer with 100 numbers, 10 of which are wrong, and ten results of 1,000 rows and 8 columns."""
    columns = ["city", "revenue_eur", "cost_eur", "orders", "visits", "returns", "avg_rating", "stock"]
    parts = ("Nor", "Sul", "Ost", "Wes", "Bel", "Kar", "Lin", "Mar", "Tol", "Ven")
    cities = [f"{a}{b.lower()}{c.lower()}" for a in parts for b in parts for c in parts]
    results: list[dict[str, Any]] = []
    for number in range(10):
        rows = [
            [city, *((row * 7919 + number * 104729 + column * 1299709) % 100_003 / 7 for column in range(2))]
            + [(row * 31 + number * 17 + column * 101) % 9_973 for column in range(3)]
            + [(row % 50) / 10, row * 3]
            for row, city in enumerate(cities)
        ]
        names = [columns[0], *(f"{name}_{number}" if number else name for name in columns[1:])]
        results.append({"name": f"result_{number}", "columns": names, "rows": rows})
    lines = []
    for row, city in enumerate(cities[:500:10]):
        _, revenue, _, orders, *_ = results[0]["rows"][row * 10]
        lines.append(f"- {city} had {orders + (row % 5 == 0):,} orders and revenue of {revenue:,.2f} euros.")
    answer = "\n".join(lines)
    return {"question": "Which cities?", "results": results, "files": [], "answer": answer}


def main(quick: bool) -> None:
    files = [Path(one) for one in sys.argv[1:] if not one.startswith("-")] or sorted(DATA.glob("numbers*.json"))
    for file in files:
        result = score(json.loads(file.read_text(encoding="utf-8")))
        print(f"{file.name}: {result}")
        if "--show" in sys.argv:
            print("\n".join(result.lines))
    case = large()
    times = []
    for _ in range(3 if quick else 10):
        start = time.process_time()
        checked(case)
        times.append((time.process_time() - start) * 1000)
    print(f"100 numbers, 10 results of 1,000 rows: {min(times):.0f} to {max(times):.0f} ms of processor")


if __name__ == "__main__":
    main("--quick" in sys.argv)
