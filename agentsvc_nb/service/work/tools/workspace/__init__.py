"""What an agent does with the files of its chat. Callers from outside have endpoints for that."""

from __future__ import annotations

from agentsvc_nb.service.ports.tools import Tool
from agentsvc_nb.service.work.tools.workspace.files import ListFiles, ReadFile, SearchFiles, WriteFile
from agentsvc_nb.service.work.tools.workspace.tables import PlotTables, ProfileTable, QueryTables


def tools() -> list[Tool]:
    return [ListFiles(), SearchFiles(), ReadFile(), WriteFile(), ProfileTable(), QueryTables(), PlotTables()]
