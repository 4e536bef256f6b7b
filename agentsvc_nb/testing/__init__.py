"""For tests: a real service (`running_service`), and transports that record a service and replay it. For notebooks:
recorded conversations with a model (`replay_conversation`).

Record once against a service, then test notebooks and scripts offline:

    AgentService(key, base_url, transport=Record("tests/prices.jsonl"))
    AgentService("cassettes", transport=Replay("tests/prices.jsonl"))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsvc_nb.testing.cassettes import NotRecorded, Record, Replay
    from agentsvc_nb.testing.conversations import replay_conversation
    from agentsvc_nb.testing.service import RunningService, running_service

__all__ = ["NotRecorded", "Record", "Replay", "RunningService", "replay_conversation", "running_service"]

_MODULES = {
    "NotRecorded": "cassettes",
    "Record": "cassettes",
    "Replay": "cassettes",
    "RunningService": "service",
    "replay_conversation": "conversations",
    "running_service": "service",
}


def __getattr__(name: str) -> Any:
    # Imported on first use, because a replay must not import the service.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value
