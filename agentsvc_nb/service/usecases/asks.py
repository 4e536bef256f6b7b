"""Asks: a question with a job as its handle, made together with the run that answers (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.records import runs as run_records
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.usecases import jobs, runs
from agentsvc_nb.service.usecases.jobs import Submit
from agentsvc_nb.service.usecases.money import Bill
from agentsvc_nb.service.usecases.runs import Start
from agentsvc_nb.settings import Settings


@dataclass(frozen=True, slots=True)
class Ask:
    """A validated ask: the run to start, the handle to give. `pictures`: how many came along by their addresses;
    `unreached`: a sentence for each that could not be fetched."""

    start: Start
    submit: Submit
    pictures: int = 0
    unreached: tuple[str, ...] = ()


def start(tx: Tx, index: Index, key: KeyRecord, given: Ask, settings: Settings, now: int) -> tuple[JobRecord, bool]:
    """The job, and whether it is new; it `follows` its run. Raises what `jobs.submit` and `runs.begin` raise."""

    def make(bill: Bill, chat: ChatRecord) -> JobRecord:
        run = runs.begin(tx, index, bill, given.start, chat, settings, now)
        for message in given.unreached:
            warning = {"code": "image_not_fetched", "message": message}
            run_records.append(tx, run.run_id, run.attempt, "warning", warning, now)
        if given.pictures:
            run_records.append(tx, run.run_id, run.attempt, "warning", _unseen(given.pictures), now)
        free = replace(bill, hold_microcents=0)  # the run holds already
        return jobs.insert(tx, free, chat.id, None, given.submit, now, follows=run.run_id)

    return jobs.submit(tx, key, given.submit, settings, now, make)


def _unseen(pictures: int) -> dict[str, str]:
    """No agent of this version looks at pictures."""
    which = "The picture was" if pictures == 1 else f"The {pictures} pictures were"
    return {"code": "images_not_seen", "message": f"{which} not looked at: this agent reads text only."}
