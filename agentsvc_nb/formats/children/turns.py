"""Turns at something scarce, shared fairly between accounts."""

from __future__ import annotations

import asyncio
from collections import Counter, deque


class FairTurns:
    """At most `count` turns are held at a time. A turn that is given back goes to the waiting account that holds the
    fewest; of several, to the one that has waited the longest since its last. Within an account, first come first
    served. For one event loop.

    However many turns an account waits for, another account waits for one of them at most.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, account: str) -> None:
        """Wait for a turn. When the task is cancelled, it does not have one."""
        if self._free:  # then nobody waits
            self._free -= 1
            self._held[account] += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came in the same moment
                self.give_back(account)
            raise

    def give_back(self, account: str) -> None:
        """End a turn of the account."""
        if not self._hand_on():
            self._free += 1
        self._held[account] -= 1  # only now: who gives back comes after those who hold none
        if not self._held[account]:
            del self._held[account]

    def _hand_on(self) -> bool:
        while self._waiting:
            chosen = min(self._waiting, key=lambda account: self._held[account])
            turns = self._waiting.pop(chosen)
            while turns:
                turn = turns.popleft()
                if not turn.cancelled():
                    turn.set_result(None)
                    self._held[chosen] += 1
                    if turns:
                        self._waiting[chosen] = turns  # behind the others
                    return True
        return False
