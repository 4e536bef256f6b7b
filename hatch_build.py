"""What the files of a release have that the tree cannot say by itself.

A wheel of agentsvc-nb for an index leaves the client to agentsvc-client and depends on it (docs/decisions/0033). From a
checkout, editable or not, everything is installed: it needs no index that has agentsvc-client.

An index shows the README without the files that it links to: there its links lead to the repository, at the tag of the
version.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FOR_INDEX: Final = "AGENTSVC_WHEELS_FOR_INDEX"
OF_THE_CLIENT: Final = ("agentsvc_nb/__init__.py", "agentsvc_nb/py.typed", "agentsvc_nb/client", "agentsvc_nb/wire")
"""What agentsvc-client/pyproject.toml takes."""
LINK: Final = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<target>[^)\s]+)\)")
"""A link of Markdown that names a file beside the page."""
SITE: Final = "build/docs.tar.xz"
"""For `agentsvc docs`, if `python -m docs.site` has made it."""


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard" and os.environ.get(FOR_INDEX):
            self.build_config.target_config["exclude"] = [f"/{path}" for path in OF_THE_CLIENT]
            build_data["dependencies"].append(f"agentsvc-client=={self.metadata.version}")
        if version == "standard" and (Path(self.root) / SITE).is_file():
            build_data["force_include"][SITE] = f"agentsvc_nb/{Path(SITE).name}"


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        page = (Path(self.root) / "README.md").read_text("utf-8")
        text = with_absolute_links(page, metadata["urls"]["Source"], f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(page: str, source: str, tag: str) -> str:
    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({source}/{kind}/{tag}/{link['target']})"

    return LINK.sub(absolute, page)
