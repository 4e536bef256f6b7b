"""Store standing approvals, with which a person approves further calls of a tool in advance (docs/api/events.md)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.sql import fetch_one, load, public, record
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import Tool
from agentsvc_nb.wire.limits import STANDING_SECONDS
from agentsvc_nb.wire.runs import Lasts, NewStandingApproval, StandingApproval

_sql = load("runs/standing")
FOR_RUN: Final[Sequence[Lasts]] = ("run",)
"""A standing approval of a client tool lasts only for the run: a later run may have another tool of that name."""
NOT_ALLOWED: Final = "This tool needs a separate approval for each call. Leave `lasts` out."


@dataclass(frozen=True, slots=True)
class StandingRecord:
    """A standing approval for calls of one run, or for calls of all runs of the chat until `expires_at` (ms)."""

    id: str
    account: str
    chat: str
    run_id: str | None
    tool: str
    folder: str | None
    created_at: int
    expires_at: int | None

    def public(self) -> StandingApproval:
        return public(StandingApproval, self)


def durations(tool: Tool) -> Sequence[Lasts]:
    """Return how long a standing approval of the tool may last. Return () if each call needs its own approval.

    A tool that has no effect but fetches addresses allows no standing approval, because operators approve hosts in a
    setting instead.
    """
    return ("run", "hour") if tool.effect and not tool.always_waits else ()


def check_folder(given: NewStandingApproval, call_input: Mapping[str, Any]) -> str | None:
    """Return why the standing approval does not cover the call, or None if it does.

    A standing approval for a folder covers only calls whose `path` is in this folder.
    """
    if given.folder is None or _is_inside(call_input, given.folder):
        return None
    return (
        f"The call has no `path` in the folder {given.folder[:200]!r}. Leave `folder` out, or name a folder "
        "that contains the path."
    )


def add(tx: Tx, run: RunRecord, tool: str, given: NewStandingApproval, now: int) -> StandingRecord:
    """Store a standing approval. Remove the account's standing approvals that have expired."""
    tx.run(_sql["delete_ended"], account=run.account, now=now)
    scope = (run.run_id, None) if given.lasts == "run" else (None, now + STANDING_SECONDS * 1000)
    values = {"account": run.account, "chat": run.chat, "tool": tool, "folder": given.folder, "now": now}
    values |= {"run_id": scope[0], "expires_at": scope[1]}
    return record(StandingRecord, fetch_one(tx, _sql["insert"], id=new_id("standing"), **values))


def find(tx: Tx, run: RunRecord, tool: str, call_input: Mapping[str, Any], now: int) -> StandingRecord | None:
    """Return the first standing approval that applies to the call, or None."""
    values = {"account": run.account, "chat": run.chat, "run_id": run.run_id, "tool": tool, "now": now}
    rows = [record(StandingRecord, row) for row in tx.all(_sql["of_chat"], **values)]
    return next((each for each in rows if each.folder is None or _is_inside(call_input, each.folder)), None)


async def list_all(context: UseCaseContext, account: str) -> list[StandingRecord]:
    """Return the account's standing approvals that have not expired, oldest first."""
    now = context.now

    def use(tx: Tx) -> list[StandingRecord]:
        return [record(StandingRecord, row) for row in tx.all(_sql["of_account"], account=account, now=now)]

    return await context.read(use)


async def revoke(context: UseCaseContext, account: str, approval_id: str) -> None:
    """Remove a standing approval. Approved calls remain approved. Raises `standing_approval_not_found`."""
    if not await context.write(lambda tx: tx.run(_sql["delete"], id=approval_id, account=account)):
        raise ApiError("standing_approval_not_found")


def _is_inside(call_input: Mapping[str, Any], folder: str) -> bool:
    """Return whether the call's `path` is inside the folder."""
    path = call_input.get("path")
    if not isinstance(path, str) or "\\" in path:
        return False
    parts, within = (PurePosixPath(posixpath.normpath(text)).parts for text in (path, folder))
    outside = any(part in ("..", "/", "//") for part in (*parts[:1], *within[:1]))
    return not outside and bool(within) and len(parts) > len(within) and parts[: len(within)] == within
