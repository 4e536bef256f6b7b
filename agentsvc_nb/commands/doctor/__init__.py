"""`agentsvc doctor`: looks at everything that a service needs, changes nothing, and says one fix a line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agentsvc_nb import embedded
from agentsvc_nb.commands.doctor import folder, machine, model, service
from agentsvc_nb.commands.doctor.finding import Finding, fail, note, ok, warn
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.plan import plan_of
from agentsvc_nb.settings import SettingsError, data_folder, warnings_for

Check = Callable[[DataFolder], Iterator[Finding]]

CHECKS: Final[Mapping[str, Check]] = {
    "python": machine.python,
    "packages": machine.packages,
    "sqlite": machine.sqlite,
    "data": folder.data,
    "server": service.server,
    "port": service.port,
    "schema": folder.schema,
    "database": folder.database,
    "contents": folder.contents,
    "clock": folder.clock,
}


def doctor(data: Path | None) -> int:
    """Print the findings of each check as they come; 1 when one of them is a failure."""
    place = DataFolder(data_folder(os.environ, data))
    failed = False
    for name, finding in _findings(place):
        print(finding.line(name), flush=True)
        failed |= finding.level == "fail"
    return 1 if failed else 0


def _findings(place: DataFolder) -> Iterator[tuple[str, Finding]]:
    for name, check in {**CHECKS, "settings": _settings, "model": _model}.items():
        try:
            for finding in check(place):
                yield name, finding
        except Exception as error:  # whatever it is, the other checks are still worth their lines
            yield name, fail(f"this could not be looked at ({type(error).__name__}: {error})", "report this as a bug")


def _settings(place: DataFolder) -> Iterator[Finding]:
    try:
        plan = plan_of(place.path)
    except SettingsError as error:
        yield fail(str(error), "correct or unset the variable")
    else:
        yield ok("every AGENTSVC_* variable can be read")
        if described := plan.described():
            yield note(f"the folder keeps {'; '.join(described)}")
        if (ready := embedded.status(place.path)) and (notice := plan.notice(ready)):
            yield note(notice)
    for warning in warnings_for(os.environ):
        yield warn(warning, "unset the variable, or correct its name")


def _model(place: DataFolder) -> Iterator[Finding]:
    try:
        plan = plan_of(place.path)
    except SettingsError:  # told already
        return
    yield from model.planned(plan)
