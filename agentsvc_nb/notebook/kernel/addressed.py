"""Comms whose messages arrive in the subshell that a page addressed.

ipykernel 7.4 asks each comm of its own for the subshell of the last message that was sent through it. After a reload
that one may be gone, and each click would be lost (docs/decisions/18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import comm


def hear_as_addressed(own: Any) -> None:
    """Have a stand-in, which remembers no subshell, take the messages to this comm."""
    stand_in: Any = _StandIn(own)
    comm.get_comm_manager().register_comm(stand_in)


class _StandIn:
    """Passes the messages of a page on to a comm."""

    def __init__(self, own: Any) -> None:
        self.comm_id: str = own.comm_id
        self.handle_msg = own.handle_msg
        self._own = own

    def handle_close(self, message: Mapping[str, Any]) -> None:
        self._own.handle_close(message)
        self._own.close(deleting=True)  # the manager has removed it
