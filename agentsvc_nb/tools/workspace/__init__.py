"""What an agent does with the files of its chat. Callers from outside have endpoints for that."""

from __future__ import annotations

from agentsvc_nb.tools.port import Tool
from agentsvc_nb.tools.workspace.files import ListFiles, ReadFile, SearchFiles, WriteFile
from agentsvc_nb.tools.workspace.tables import PlotTables, ProfileTable, QueryTables


def tools() -> list[Tool]:
    return [ListFiles(), SearchFiles(), ReadFile(), WriteFile(), ProfileTable(), QueryTables(), PlotTables()]
