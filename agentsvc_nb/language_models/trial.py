"""Test whether a model answers with the current settings, before a service is started with it. The test runs in a child
process, to keep the model's libraries and key out of the caller's process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsvc_nb.language_models.keys import MODEL_KEY, address_of, config_with_keys
from agentsvc_nb.model_names import key_variable, on_own_server, provider_of
from agentsvc_nb.service.config import ServiceConfig, embedded_environment

if TYPE_CHECKING:
    from agentsvc_nb.agents.language.agent import Language
    from agentsvc_nb.agents.language.model_choice import Fault

_ASKED_FIRST: Final = frozenset({"ANTHROPIC_API_KEY", "OPENAI_API_KEY"})
"""Keys to look for before the provider's library, which takes seconds to load. Only the library knows all others."""
_LAST: Final = 300
"""The maximum number of characters to show of a crashed process's last line of output."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial: the model's answer, or the reason why there is none.

    Attributes:
        answer: the model's answer, or "".
        price: the price in cents per million input and output tokens, or None if it is unknown.
        said: the reason why there is no answer, or "".
        fault: the kind of the reason, or "" if the model was not asked.
        package: the package to install first, or "".
        variable: the environment variable of the missing key, or of the key that was used.
        address: the address of the model's server, or "" for the provider's own address.
        host: the host that can't be reached, or "".
        tools: True if the agent offers tools to the model.
    """

    answer: str = ""
    microcents: int = 0
    price: tuple[float, float] | None = None
    said: str = ""
    fault: Fault | str = ""
    package: str = ""
    variable: str = ""
    address: str = ""
    host: str = ""
    tools: bool = True


def try_model(data: Path, model: str, variables: Mapping[str, str]) -> Trial:
    """Ask the model a test question, with the data folder's settings and `variables` that only the test can see."""
    asked = json.dumps({"data": str(data), "model": model, "variables": dict(variables)})
    # With -P, a file such as `random.py` in the notebook's folder does not shadow a module. The process has its own
    # session, so that an interrupt of the kernel does not reach it. It is killed below.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agentsvc_nb.language_models.trial"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**embedded_environment(os.environ), "PYTHONUTF8": "1"},
        start_new_session=True,
    )
    try:
        told, errors = process.communicate(asked)
    finally:
        process.kill()
        process.wait()
    lines = told.splitlines()
    if process.returncode or not lines:
        last = (errors.strip().splitlines() or [f"exit {process.returncode}"])[-1][:_LAST]
        return Trial(said=f"The model {model} could not be tested: {last}", fault="other")
    found = json.loads(lines[-1])
    return Trial(**{**found, "price": found["price"] and tuple(found["price"])})


def _run_trial(data: str, model: str) -> Trial:
    from agentsvc_nb import agents
    from agentsvc_nb.agents.language.agent import Language
    from agentsvc_nb.settings import SettingsError

    try:
        config = config_with_keys(data, model)
    except SettingsError as error:
        return Trial(said=str(error))
    provider = provider_of(config.settings.model)
    address = address_of(config, provider)
    name = _key_name(config, provider, address)
    if said := config.address_fault():
        return Trial(said=said, variable="" if os.environ.get(name) else name, address=address)
    if name in _ASKED_FIRST and not address and not os.environ.get(name) and find_spec("pydantic_ai"):
        return Trial(said=f"The model {model} needs its provider's key: set {name}.", variable=name, address=address)
    if lacking := agents.missing_requirement(config.settings, config.stored_url):
        return Trial(said=lacking.message, package=lacking.package, variable=lacking.variable, address=address)
    agent = agents.choose(config.settings.model, config.settings, config.stored_url)
    return asyncio.run(_ask(agent, name, address)) if isinstance(agent, Language) else Trial()


def _key_name(config: ServiceConfig, provider: str, address: str) -> str:
    """Return the environment variable from which the model's key is read."""
    name = key_variable(provider)
    own = bool(config.settings.model_url) or (bool(address) and on_own_server(config.settings.model))
    beside = bool(os.environ.get(name)) and not config.stored_url and not config.settings.model_key
    return MODEL_KEY if own and not beside else name


async def _ask(agent: Language, name: str, address: str) -> Trial:
    from agentsvc_nb.tools.port import WorkFailure

    try:
        found = await agent.try_out()
    except WorkFailure as failure:
        from agentsvc_nb.agents.language.errors import fault_of, host_of

        # Some servers repeat the key that they refuse.
        key = os.environ.get(name)
        said = failure.message.replace(key, "[redacted]") if key else failure.message
        fault = fault_of(failure)
        host = host_of(failure) if fault == "network" else ""
        return Trial(said=said, fault=fault, variable=name, address=address, host=host)
    return Trial(found.answer, found.microcents, found.price, variable=name, address=address, tools=found.tools)


def main() -> None:
    asked = json.load(sys.stdin)
    os.environ.update(asked["variables"])
    found = _run_trial(asked["data"], asked["model"])
    print(f"\n{json.dumps(asdict(found))}", flush=True)


if __name__ == "__main__":
    main()
