"""How long a notebook waits for its first answer: import, client and one call in a warm kernel, beside two peers; and
in a fresh interpreter beside the least that a program of one's own needs for it: httpx, a pydantic model, a GET.

python -m tests.bench.first_call [--quick]
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Final

from agentsvc_nb.wire.routes import ROUTES
from tests.bench.peer import bare_starlette
from tests.bench.start import Took, as_installed, in_kernel, of_fresh_interpreter

NOTHING: Final = json.dumps({"object": "list", "data": [], "has_more": False, "first_id": None, "last_id": None})
OURS: Final = "from agentsvc_nb import AgentService; AgentService('svc_sk_x', '{}').tools.list()"
PEERS: Final = {
    "openai": "import openai; openai.OpenAI(api_key='x', base_url='{}/v1').models.list()",
    "anthropic": "import anthropic; anthropic.Anthropic(api_key='x', base_url='{}').models.list()",
}
BY_HAND: Final = """
import httpx
from pydantic import BaseModel
class Page(BaseModel):
    data: list[dict]
with httpx.Client() as http:
    Page.model_validate_json(http.get('{}{}').content)
"""
WITHOUT_CLI: Final = "import sys; sys.modules['httpx._main'] = None"
"""As where click and rich are not installed: else httpx imports its command line, which the client keeps it from."""


def main(quick: bool) -> None:
    rounds = 1 if quick else 7
    peers = {name: code for name, code in PEERS.items() if find_spec(name)}
    with (
        as_installed(),
        bare_starlette(ROUTES["tools.list"].path, NOTHING.encode()) as ours,
        bare_starlette("/v1/models", NOTHING.encode()) as theirs,
    ):
        calls = {"agentsvc_nb": OURS.format(ours.base_url)}
        calls |= {name: code.format(theirs.base_url) for name, code in peers.items()}
        print(f"{'':36} {'ms':>7} {'of these processor':>19}")
        for name in calls:
            _show(f"import {name}", partial(of_fresh_interpreter, f"import {name}"), rounds)
        for name, code in calls.items():
            _show(f"{name}, first call in a kernel", partial(in_kernel, code), rounds)
        by_hand = BY_HAND.format(ours.base_url, ROUTES["tools.list"].path)
        alone = {
            "httpx, a pydantic model, one GET": by_hand,
            "the same, no click and rich there": WITHOUT_CLI + by_hand,
        }
        _compare({"agentsvc_nb, first call": calls["agentsvc_nb"], **alone}, 3 * rounds)


def _compare(works: dict[str, str], rounds: int) -> None:
    """By turns in fresh interpreters, so that what the machine does meanwhile falls on all."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, code in works.items():
            _, processor = of_fresh_interpreter(code)
            if turn:  # the first compiles
                found[name].append(1000 * processor)
    print(f"\n{'in a fresh interpreter':36} {'of processor, ms':>16} {'ours to it':>11}")
    ours, *_ = medians = [statistics.median(each) for each in found.values()]
    for name, median in zip(works, medians, strict=True):
        print(f"{name:36} {median:16.1f} {ours / median:11.2f}")


def _show(what: str, measure: Callable[[], Took], rounds: int) -> None:
    measure()  # compiles
    found = [measure() for _ in range(rounds)]
    clock, processor = (statistics.median(column) * 1000 for column in zip(*found, strict=True))
    print(f"{what:36} {clock:7.1f} {processor:19.1f}")


if __name__ == "__main__":
    main("--quick" in sys.argv)
