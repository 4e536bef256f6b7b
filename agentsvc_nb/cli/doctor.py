"""`agentsvc doctor`: check everything that a service needs, and print one line for each finding. It changes nothing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from agentsvc_nb import clock
from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.colours import colour_word
from agentsvc_nb.cli.connection import json_option, print_json

if TYPE_CHECKING:
    from agentsvc_nb.cli.findings import Finding
    from agentsvc_nb.service.config import StoredSettings
    from agentsvc_nb.service.folder import DataFolder

QUESTION: Final = "hello"
TURN_SECONDS: Final = 120.0
_MODEL_FIX: Final = "fix this problem, or choose another model with AGENTSVC_MODEL"


def add_parsers(commands: Subparsers, data: Parser) -> None:
    doctor = commands.add_parser(
        "doctor", parents=[data, json_option()], help="look for problems that keep the service from working"
    )
    doctor.set_defaults(run=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    """Run all checks, and print findings as soon as they are known. Return exit code 1 if a finding is a failure."""
    import logging

    # No log messages, because findings report every problem.
    logging.getLogger("agentsvc_nb").addHandler(logging.NullHandler())
    found = []
    for name, finding in _findings(arguments.data_folder(args.data)):
        found.append({"check": name, "level": finding.level, "what": finding.what, "fix": finding.fix})
        if not args.json:
            print(colour_word(finding.line(name), finding.level, sys.stdout), flush=True)
    if args.json:
        print_json(found)
    return 1 if any(each["level"] == "fail" for each in found) else 0


def _findings(folder: DataFolder) -> Iterator[tuple[str, Finding]]:
    from dataclasses import replace

    from agentsvc_nb.cli.checks import CHECKS
    from agentsvc_nb.cli.findings import fail
    from agentsvc_nb.cli.own_pip import name_own_pip

    for name, check in {**CHECKS, "settings": check_settings, "programs": check_programs, "model": check_model}.items():
        try:
            for found in check(folder):
                yield name, replace(found, what=name_own_pip(found.what), fix=name_own_pip(found.fix))
        except Exception as error:  # a bug in one check must not hide the findings of the others
            yield name, fail(f"this check failed ({type(error).__name__}: {error})", "report this as a bug")


def check_settings(folder: DataFolder) -> Iterator[Finding]:
    from urllib.parse import urlsplit

    from agentsvc_nb import embedded
    from agentsvc_nb.cli.findings import fail, note, ok, warn
    from agentsvc_nb.service.config import load_config
    from agentsvc_nb.service.http.names import LOOPBACK
    from agentsvc_nb.settings import SettingsError, warnings_for

    try:
        config = load_config(folder.path)
    except SettingsError as error:
        yield fail(str(error), "correct or unset the variable")
    else:
        yield ok("all AGENTSVC_* variables are valid")
        public = [urlsplit(config.settings.public_url).netloc] if config.settings.public_url else []
        names = ", ".join([*LOOPBACK, *public, *config.settings.hosts])
        yield note(f"a service on loopback answers to {names}; AGENTSVC_HOSTS adds names for proxies")
        if described := config.describe():
            yield note(f"the folder stores {'; '.join(described)}")
        if (ready := embedded.status(folder.path)) and (notice := config.notice(ready)):
            yield note(notice)
    for warning in warnings_for(os.environ):
        yield warn(warning, "unset the variable, or correct its name")


def check_programs(_: DataFolder) -> Iterator[Finding]:
    """Check that this machine can create the sandbox in which programs of a language model run."""
    from agentsvc_nb.cli.findings import note, ok
    from agentsvc_nb.tools.programs import confinement

    lacking = confinement.missing_requirement()
    yield (
        ok("programs of a language model run in a sandbox")
        if lacking is None
        else note(f"the tool run_python is unavailable: {lacking}")
    )


def check_model(folder: DataFolder) -> Iterator[Finding]:
    """Check that the model of a notebook's service answers a run, or report which of its requirements is missing."""
    from agentsvc_nb.cli.findings import fail
    from agentsvc_nb.language_models.keys import config_with_keys
    from agentsvc_nb.settings import SettingsError

    try:
        config = config_with_keys(folder.path)
    except SettingsError:  # reported by `check_settings`
        return
    if fault := config.fault():
        yield fail(f"{config.settings.model}: {fault}", _MODEL_FIX)
    else:
        yield try_model(config.settings.model, config.to_store)


def try_model(model: str, kept: StoredSettings) -> Finding:
    """Start a service in a temporary folder, with the settings in `kept`, and ask its model a question."""

    from agentsvc_nb.cli.findings import fail, ok
    from agentsvc_nb.client.errors import StefanBrainError
    from agentsvc_nb.embedded import EmbeddedError

    started = clock.monotonic()
    try:
        status, reason = _ask_new_service(model, kept)
    except (EmbeddedError, StefanBrainError, OSError) as error:
        return fail(f"{model}: {error}", _MODEL_FIX)
    took = clock.monotonic() - started
    if status == "completed":
        return ok(f"{model}: a new service answered after {took:.1f} s")
    return fail(f"{model}: the test run has the status {status} ({reason})", _MODEL_FIX)


def _ask_new_service(model: str, kept: StoredSettings) -> tuple[str, str]:
    """Start the service and a run. Return the run's status, and the reason if it failed, else ""."""
    import tempfile
    from dataclasses import replace
    from pathlib import Path

    from agentsvc_nb import embedded
    from agentsvc_nb.service.config import embedded_environment
    from agentsvc_nb.service.folder import DataFolder

    with tempfile.TemporaryDirectory(prefix="agentsvc-doctor-") as folder:
        replace(kept, settings=embedded_environment(kept.settings)).write(DataFolder(Path(folder)))
        try:
            with embedded.local(folder, model=model) as client:
                run = client.runs.start(QUESTION)
                ended = client.runs.wait(run.run_id, poll=0.2, timeout=TURN_SECONDS)
        finally:
            embedded.stop(folder)
    return ended.status, ended.last_error_message or ended.last_error or ""
