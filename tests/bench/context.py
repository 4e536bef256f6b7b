"""What is sent to a model in a chat of 60 turns with three tables: tokens by a real tokenizer, and how much of each
request is the beginning of the one before, which providers cache.

The model is a stand-in that reports the tokens of each request as the tokenizer counts them, refuses a request that is
over its context as a server would, and answers by a script; everything else is real. The tokenizer is SmolLM2's (each
digit a token), out of the file that `agentsvc model pull smollm2` gets; beside it OpenAI's, with `bpe-openai`.

python -m tests.bench.context [--quick]
"""

from __future__ import annotations

import csv
import io
import json
import random
import sys
import urllib.request
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import platformdirs

from agentsvc_nb import AgentService
from agentsvc_nb.agents.language.agent import Engine
from agentsvc_nb.cli.models import pull
from agentsvc_nb.testing import running_service
from tests.unit.agents.chat_server import USAGE, ChatServer, Reply

TURNS: Final = 60
CONTEXT: Final = 8_192
ROWS: Final = 2_000
REMEMBERED: Final = 6
"""Requests that a provider's cache has at a time."""
Body = dict[str, Any]


class CountingServer(ChatServer):
    """Answers by what it is asked, counts each request, and refuses what leaves no room for an answer in its context.
    `asked` are the requests that it took."""

    def __init__(self, count: Callable[[str], int], context: int) -> None:
        super().__init__([])
        self.counted: list[int] = []
        self.refused = 0
        self._count, self._context = count, context

    def next(self, body: Body) -> Reply:
        tokens = self._count(as_text(body))
        if tokens > self._context:
            self.refused += 1
            said = f"This model's maximum context length is {self._context} tokens, you requested {tokens}"
            return Reply(status=400, error=said)
        self.asked.append(body)
        self.counted.append(tokens)
        usage = {**USAGE, "prompt_tokens": tokens, "total_tokens": tokens + USAGE["completion_tokens"]}
        return _reply(body, usage)


def _reply(body: Body, usage: dict[str, int]) -> Reply:
    last = body["messages"][-1]
    if not body.get("tools"):
        return Reply(("Ada asks about the sales of 2025 in three tables. So far: Search leads. " * 6,), usage=usage)
    if last["role"] == "tool":
        found = str(last["content"])[:80]
        return Reply((f"By `query_tables`: {found}. " + "That is what the table says of it. " * 11,), usage=usage)
    number = len(body["messages"])
    sql = f"SELECT channel, sum(revenue) AS total FROM sales_1 WHERE cost > {number} GROUP BY 1 ORDER BY 2 DESC"
    return Reply(calls=(("query_tables", json.dumps({"sql": sql})),), usage=usage)


def as_text(body: Body) -> str:
    """What a model reads of a request: its tools, then its messages."""
    tools = [json.dumps(tool["function"], ensure_ascii=False) for tool in body.get("tools", ())]
    said = [f"<|im_start|>{each['role']}\n{_content(each)}<|im_end|>\n" for each in body["messages"]]
    return "\n".join([*tools, *said])


def _content(message: Body) -> str:
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls") or ()]
    return "\n".join([str(message.get("content") or ""), *calls])


def tables() -> Iterator[tuple[str, bytes]]:
    """Three tables of sales."""
    made = random.Random(7)
    for number in (1, 2, 3):
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(["date", "channel", "country", "campaign", "clicks", "cost", "revenue"])
        for _ in range(ROWS):
            day = f"2025-{made.randint(1, 12):02}-{made.randint(1, 28):02}"
            names = (made.choice(("Search", "Social")), made.choice(("DE", "FR", "US")), f"C-{made.randint(1, 99)}")
            money = (f"{made.random() * 900:.2f}", f"{made.random() * 9_000:.2f}")
            rows.writerow([day, *names, made.randint(1, 9_999), *money])
        yield f"sales_{number}.csv", text.getvalue().encode()


def conversation(server: CountingServer, turns: int) -> list[str]:
    """Have the conversation. Returns the status of each run, and how often what was warned of."""
    ended: list[str] = []
    settings: dict[str, Any] = {"model_url": server.url, "model_patience_seconds": 0, "model_context": CONTEXT}
    with (
        running_service("openai-chat:stand-in", **settings) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        chat = None
        for turn in range(turns):
            files = list(tables()) if turn == 0 else []
            asked = f"Question {turn + 1}: which channel had the most revenue where the cost was over {turn}? " * 3
            run = client.runs.start(asked, chat=chat, files=files)
            chat, run = run.chat, client.runs.wait(run.run_id, poll=0.05, timeout=120)
            warned = [each.payload["code"] for each in client.runs.iterate_events(run.run_id) if each.type == "warning"]
            ended.append(" ".join([run.status, run.last_error or "", *warned]).strip())
    return ended


def repeated(requests: list[str]) -> list[int]:
    """How many characters of each request are the beginning of one of the `REMEMBERED` before it."""
    begun = (requests[max(place - REMEMBERED, 0) : place] for place in range(len(requests)))
    return [
        max((_alike(request, each) for each in before), default=0)
        for request, before in zip(requests, begun, strict=True)
    ]


def _alike(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def smollm2() -> tuple[Engine, Callable[[str], int]]:
    """The tokenizer of SmolLM2, in the local engine."""
    cache = platformdirs.user_cache_path("agentsvc-nb-tests")
    engine = Engine(pull(cache / "data", "smollm2"), 512)
    at = engine.start()

    def count(text: str) -> int:
        body = json.dumps({"content": text}).encode()
        headers = {"Authorization": f"Bearer {at.key}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{at.url.removesuffix('/v1')}/tokenize", body, headers)
        with urllib.request.urlopen(asked) as answer:
            return len(json.load(answer)["tokens"])

    return engine, count


def openai() -> Callable[[str], int] | None:
    if find_spec("bpe_openai") is None:
        return None
    encoding = import_module("bpe_openai").get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text))


def main(quick: bool) -> None:
    engine, count = smollm2()
    server = CountingServer(count, CONTEXT)
    try:
        ended = conversation(server, 6 if quick else TURNS)
        requests = [as_text(body) for body in server.asked]
        _show(requests, server, ended, count, openai())
    finally:
        server.close()
        engine.stop()
    assert max(server.counted) <= CONTEXT, "a request was over the context"


def _show(
    requests: list[str],
    server: CountingServer,
    ended: list[str],
    count: Callable[[str], int],
    other: Callable[[str], int] | None,
) -> None:
    known = [count(text[:length]) for text, length in zip(requests, repeated(requests), strict=True)]
    print(f"{len(ended)} turns, {len(requests)} requests, context {CONTEXT:,}; refused as too long: {server.refused}")
    print(f"tokens a request: {min(server.counted):,} to {max(server.counted):,}, in all {sum(server.counted):,}")
    if other is not None:
        print(f"by OpenAI's o200k: in all {sum(map(other, requests)):,}")
    share = sum(known) / sum(server.counted)
    print(f"of them the beginning of a request before: {sum(known):,} ({share:.0%})")
    print("\n| request | tokens | as before |\n|---|---|---|")
    for place in sorted({0, 1, 2, 3, *range(0, len(requests), max(len(requests) // 8, 1)), len(requests) - 1}):
        if place < len(requests):
            print(f"| {place + 1} | {server.counted[place]:,} | {known[place]:,} |")
    print("\nhow the turns ended:")
    for how in sorted(set(ended)):
        print(f"- {ended.count(how)} {how}")


if __name__ == "__main__":
    main("--quick" in sys.argv)
