"""What a service of a folder would be started with from here: its settings, and the model that it had."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agentsvc_nb.service.folder import DataFolder, LastModel
from agentsvc_nb.service.settings import Settings, variable

KEPT: Final = (
    "It was kept from the folder's last service: to start without it, set AGENTSVC_MODEL=offline, "
    "or `agentsvc restart --model offline`."
)


@dataclass(frozen=True)
class Plan:
    """What a service of a folder would be started with. `kept`: nobody named a model, and it is the folder's last."""

    settings: Settings
    kept: LastModel | None = None

    def elsewhere(self) -> str | None:
        """Why a kept model is not asked: here it has another address, and what was meant for the one that it had
        would go there, perhaps to a stranger."""
        if self.kept is None or ":" not in self.kept.name:  # that is asked nowhere: 80 ms for the imports saved
            return None
        from agentsvc_nb.service.work import agents
        from agentsvc_nb.service.work.agents.language.chosen import address_variable

        here = agents.address(self.settings)
        if here == self.kept.address:
            return None
        name, own = self.kept.name, "its provider's own address"
        return (
            f"The model {name} was kept from the last service in {self.settings.data}, which asked it at "
            f"{self.kept.address or own}; from here it would be asked at {here or own}. Set AGENTSVC_MODEL_URL and "
            f"{address_variable(name)} as they were there, AGENTSVC_MODEL={shlex.quote(name)} if it shall be asked "
            "here, or AGENTSVC_MODEL=offline to go without it."
        )

    def fault(self) -> str | None:
        """What is seen to keep its model from answering, and what to do. It loads the library of a hosted one."""
        from agentsvc_nb.service.work import agents

        if elsewhere := self.elsewhere():
            return elsewhere
        lacking = agents.fault(self.settings)
        return f"{lacking} {KEPT}" if lacking and self.kept else lacking


def plan_of(data: str | Path | None = None, model: str | None = None) -> Plan:
    """What a service of the folder would be started with from here: when no model is named, with the one that it had,
    for with another its runs would end. Raises `SettingsError`."""
    settings = Settings.from_env(os.environ, data=data, model=model)
    if model is None and not os.environ.get(variable("model")) and (last := DataFolder(settings.data).last_model()):
        return Plan(replace(settings, model=last.name), last)
    return Plan(settings)
