"""Receive each message of a page in the subshell to which the page sent it.

ipykernel 7.4 instead remembers, for each comm, the subshell in which the kernel last sent a message. After a reload of
the page, that subshell may no longer exist, and the kernel would lose each click (docs/decisions/18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import comm


def register_proxy(own: Any) -> None:
    """Register a proxy for this comm. Unlike a comm, the proxy has no remembered subshell."""
    proxy: Any = _CommProxy(own)
    comm.get_comm_manager().register_comm(proxy)


class _CommProxy:
    """Forwards a page's messages to a comm."""

    def __init__(self, own: Any) -> None:
        self.comm_id: str = own.comm_id
        self.target_name: str = own.target_name  # without it, the kernel can't answer a page that lists the comms
        self.handle_msg = own.handle_msg
        self._own = own

    def handle_close(self, message: Mapping[str, Any]) -> None:
        self._own.handle_close(message)
        self._own.close(deleting=True)  # the manager has already removed the comm
