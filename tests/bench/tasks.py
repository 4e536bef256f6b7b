"""What an analyst's tasks take: calls of a model and of tools, and tokens, by the programs of `tests/agents/tasks` in
a model's place. Plumbing, not intelligence: a model makes other wrong turns.

Tokens are those of all texts of a request (instructions, tools, messages; no pictures) by SmolLM2's tokenizer, for
which each digit is one: what is sent, and how much of it begins as the request before did, which providers cache.

python -m tests.bench.tasks [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from tests.bench.context import repeated, smollm2
from tests.unit.agents.tasks.material import Made
from tests.unit.agents.tasks.office import Done, office
from tests.unit.agents.tasks.work import TASKS
from tests.unit.agents.wires.reply import Body


def as_text(body: Body) -> str:
    """The texts of a request: the instructions and tools first, then the messages."""
    messages = body.get("input") or body["messages"]
    rest = {name: value for name, value in body.items() if name not in ("input", "messages", "model")}
    return "\n".join([*_texts(rest), *_texts(messages)])


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str() if not value.startswith("data:image/"):
            yield value
        case {"type": "base64"}:
            pass
        case dict():
            for name, each in value.items():
                yield name
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)


def row(name: str, done: Done, count: Callable[[str], int]) -> str:
    requests = [as_text(body) for body in done.asked]
    sent = sum(map(count, requests))
    known = sum(count(text[:length]) for text, length in zip(requests, repeated(requests), strict=True))
    calls, wrong = len(done.of("tool.call")), len(done.failures())
    return f"| {name} | {len(requests)} | {calls} | {wrong} | {sent:,} | {known / sent:.0%} |"


def main(quick: bool) -> None:
    engine, count = smollm2()
    try:
        for form in ("anthropic",) if quick else ("anthropic", "responses"):
            print(f"\nin the form of {form}:\n")
            print("| task | calls of the model | of tools | of them failed | tokens sent | sent before |")
            print("|---|---|---|---|---|---|")
            with office(form) as place:
                for name, task in TASKS.items():
                    print(row(name, task(place, Made(f"{name} 1")), count), flush=True)
    finally:
        engine.stop()


if __name__ == "__main__":
    main("--quick" in sys.argv)
