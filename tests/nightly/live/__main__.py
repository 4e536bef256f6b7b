"""Ask a provider's real service, with your key.

    python -m tests.nightly.live --provider anthropic --max-cents 50

Twelve scenarios through the whole service, with the recommended model of docs/models.md unless `--model` names another.
Prints a line for each, what it cost, and ends with 0 when all went as they should, 1 when one did not, 2 without a key.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.runs import Run
from tests.nightly.live.scenarios import SCENARIOS, Scenario
from tests.unit.agents.wires.providers import PROVIDERS, Provider

MICROCENTS: Final = 1_000_000
KEYLESS: Final = ("ollama", "completions")
WAIT_SECONDS: Final = 300


def main(arguments: list[str] | None = None) -> int:
    given = _arguments(arguments)
    if lacking := _lacking(given.provider):
        print(lacking, file=sys.stderr)
        return 2
    try:
        return _run_all(given.provider, given.model, given.max_cents)
    except RuntimeError as error:  # the service does not start, and says why
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def _lacking(name: str) -> str | None:
    provider = PROVIDERS[name]
    if name not in KEYLESS and not os.environ.get(provider.key):
        return f"{provider.shown} needs a key: set {provider.key}."
    if name == "completions" and not os.environ.get(provider.address):
        return f"Which server? Set {provider.address}, and its model with --model openai-chat:NAME."
    return None


def _run_all(name: str, model: str | None, max_cents: float) -> int:
    provider = PROVIDERS[name]
    recommended, variables = provider.recommended()
    settings: dict[str, object] = {name.removeprefix("AGENTSVC_").lower(): value for name, value in variables.items()}
    if name in KEYLESS:
        settings["model_sees"] = "yes"
    if name == "completions":
        settings |= {"model_url": os.environ[provider.address], "model_key": os.environ.get(provider.key, "")}
    # A server that asks for no key refuses none.
    played = [each for each in SCENARIOS if each.name != "401" or os.environ.get(provider.key)]
    left, faults = max_cents, 0
    for scenario in played:
        with _serving(model or recommended, scenario, provider, settings) as client:
            left, told = _played(client, scenario, left)
        faults += told is not None
        print(f"{'ok  ' if told is None else 'FAIL'} {scenario.name}{f': {told}' if told else ''}", flush=True)
    print(f"{len(played) - faults} of {len(played)} as they should be, for {max_cents - left:.2f} cents.")
    return 1 if faults else 0


def _played(client: AgentService, scenario: Scenario, left: float) -> tuple[float, str | None]:
    """The cents that are left after a scenario, and what was not as it should be."""
    run: Run | None = None
    for question in scenario.questions:
        if left <= 0:
            return left, "not run: the cents are spent"
        options = scenario.options if run is None else {"chat": run.chat}
        run = _run(client, question, scenario, {**options, "max_cents": left})
        left -= run.usage.cost_microcents / MICROCENTS
    assert run is not None
    return left, scenario.judge(run, [event.type for event in client.runs.iterate_events(run.run_id)])


def _run(client: AgentService, question: str, scenario: Scenario, options: dict[str, Any]) -> Run:
    run_id = client.runs.start(question, **options).run_id
    if scenario.cancels:
        with client.runs.attach(run_id) as stream:
            next((event for event in stream if event.type == "text.delta"), None)
        client.runs.cancel(run_id)
    return client.runs.wait(run_id, timeout=WAIT_SECONDS)


@contextlib.contextmanager
def _serving(model: str, scenario: Scenario, provider: Provider, settings: dict[str, object]) -> Iterator[AgentService]:
    with pytest.MonkeyPatch.context() as patch:
        if scenario.name == "401":
            patch.setenv(provider.key, "wrong")
            settings = {**settings, "model_key": "wrong"} if "model_key" in settings else settings
        name = f"{model}-that-is-not-there" if scenario.name == "404" else model
        with running_service(name, **settings) as service, AgentService(service.api_key, service.base_url) as client:
            yield client


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly.live", description="Ask a provider's real service.")
    parser.add_argument("--provider", choices=PROVIDERS, required=True)
    parser.add_argument("--max-cents", type=float, default=50.0, help="what all of them may cost; 50 unless given")
    parser.add_argument("--model", help="another model than that of docs/models.md")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
