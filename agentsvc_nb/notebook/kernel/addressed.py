"""Comms that receive messages in the subshell that a page addressed.

For each comm, ipykernel 7.4 remembers the subshell of the last message that was sent through the comm. After a reload,
that subshell may be gone, and the kernel would lose each click (docs/decisions/18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import comm


def hear_as_addressed(own: Any) -> None:
    """Register a proxy for this comm. The proxy remembers no subshell."""
    stand_in: Any = _StandIn(own)
    comm.get_comm_manager().register_comm(stand_in)


class _StandIn:
    """Forward a page's messages to a comm."""

    def __init__(self, own: Any) -> None:
        self.comm_id: str = own.comm_id
        self.target_name: str = own.target_name  # without this, the kernel answers no page that lists the comms
        self.handle_msg = own.handle_msg
        self._own = own

    def handle_close(self, message: Mapping[str, Any]) -> None:
        self._own.handle_close(message)
        self._own.close(deleting=True)  # the manager has already removed the comm
