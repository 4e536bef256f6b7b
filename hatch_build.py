"""The wheel of agentsvc-nb depends on agentsvc-client; the editable installation is both (docs/decisions/0033)."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["dependencies"].append(f"agentsvc-client=={self.metadata.version}")
