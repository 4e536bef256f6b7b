"""Calls of direct tools: what stands before and after the tool's own work (contract §5)."""

from __future__ import annotations

from collections.abc import Mapping

from agentsvc_nb.service.actions import chats, money
from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.actions.money import Bill
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.settings import Settings


def begin(tx: Tx, key: KeyRecord, where: Where, settings: Settings, now: int) -> tuple[Bill, ChatRecord]:
    """Who pays, and the chat to work in. Raises as a submit."""
    chats.check_known(tx, where, key.account)
    bill = money.check(tx, key, settings, now)
    return bill, chats.resolve(tx, where, key.account, now, shared=True)


def end(tx: Tx, bill: Bill, uses: Mapping[str, int], now: int) -> None:
    """Bill what was used."""
    money.charge_uses(tx, bill, uses, now)
