"""A wheel of agentsvc-nb for an index leaves the client to agentsvc-client and depends on it (docs/decisions/0033).

From a checkout, editable or not, everything is installed: it needs no index that has agentsvc-client.
"""

from __future__ import annotations

import os
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOR_INDEX: Final = "AGENTSVC_WHEELS_FOR_INDEX"
OF_THE_CLIENT: Final = ("agentsvc_nb/__init__.py", "agentsvc_nb/py.typed", "agentsvc_nb/client", "agentsvc_nb/wire")
"""What agentsvc-client/pyproject.toml takes."""


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard" and os.environ.get(FOR_INDEX):
            self.build_config.target_config["exclude"] = [f"/{path}" for path in OF_THE_CLIENT]
            build_data["dependencies"].append(f"agentsvc-client=={self.metadata.version}")
