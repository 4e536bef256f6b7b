"""Run a direct tool while its caller waits (contract §5)."""

from __future__ import annotations

import logging

from pydantic import BaseModel

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Outcome, Tool
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.files import Author, FileRecord
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.service.work.tasks import WorkspaceTask, performed
from agentsvc_nb.wire import ids

log = logging.getLogger(__name__)


async def run(storage: Storage, tool: Tool, given: BaseModel, chat: ChatRecord) -> Outcome:
    """Do the tool's work in the chat's workspace. Never raises for a failure of the tool: `Outcome.error` says so."""
    try:
        task = WorkspaceTask(storage, chat.account, chat.id, Author("output"), ids.new("call"), _report, _written)
        return await performed(tool, given, task)
    except AgentFailure as failure:
        return _failed(failure.code, failure.message)
    except Exception:
        log.exception("the tool %s failed", tool.name)
        return _failed("agent_error", "The tool failed unexpectedly; see the service's log.")


async def _report(done: float, total: float | None, message: str) -> None:
    """Nobody watches: the caller waits for the answer."""


async def _written(record: FileRecord) -> None:
    """The file is in the workspace; there is no event to write."""


def _failed(code: str, message: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": message}], error=(code, message))
