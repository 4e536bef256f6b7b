"""`ports.Turn` for real: an agent's verbs become events, files and jobs of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from agentsvc_nb.service.actions import jobs as job_actions
from agentsvc_nb.service.actions import money
from agentsvc_nb.service.actions import runs as run_actions
from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.actions.jobs import Submit
from agentsvc_nb.service.actions.money import Bill
from agentsvc_nb.service.ports import AgentFailure, Outcome, StepsExceeded, Tool
from agentsvc_nb.service.records import files, jobs, runs
from agentsvc_nb.service.records.files import Author, FileRecord
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.records.runs import Ending, RunRecord
from agentsvc_nb.service.rules import inputs
from agentsvc_nb.service.rules.prices import cost_microcents
from agentsvc_nb.service.work.event_log import EventLog, LostRun
from agentsvc_nb.service.work.jobs import JobRunner
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.service.work.tasks import WorkspaceTask, file_written
from agentsvc_nb.service.work.workspace import ChatWorkspace
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import STEPS_MAX
from agentsvc_nb.wire.tools import JOB_TERMINAL

JOB_POLL_SECONDS = 15.0
TOKENS_MAX = 10**12  # what a model reports is not trusted further: it must fit the database, and so must its price


class RunTurn:
    """One attempt at one run."""

    state: dict[str, Any] | None
    _steps: int
    _input_tokens: int
    _output_tokens: int
    _uncounted: bool

    def __init__(self, storage: Storage, run: RunRecord, tools: Mapping[str, Tool], job_runner: JobRunner) -> None:
        self.message = run.message
        self.workspace = ChatWorkspace(storage, run.chat)
        self._storage = storage
        self._run = run
        self._tools = tools
        self._jobs = job_runner
        self.log = EventLog(storage, run.run_id, run.attempt)
        self._restore(run.saved())

    @property
    def said(self) -> str:
        return "".join(self._said)

    async def step(self) -> None:
        if self._steps >= STEPS_MAX:
            raise StepsExceeded
        self._steps += 1
        await self.log.append("step.started", {"step": self._steps})

    async def say(self, text: str) -> None:
        self._said.append(text)
        await self.log.speak("text.delta", text)

    async def think(self, text: str) -> None:
        await self.log.speak("thinking.delta", text)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self.log.append("progress", {"done": done, "total": total, "message": message})

    async def warn(self, code: str, message: str) -> None:
        await self.log.append("warning", {"code": code, "message": message})

    async def write(self, path: str, data: bytes) -> None:
        record = await self.workspace.write(path, data, Author("output", run_id=self._run.run_id))
        await self._written(record)

    async def call(self, tool: str, given: dict[str, Any]) -> Outcome:
        call_id = ids.new("call")
        await self.log.append("tool.call", {"call_id": call_id, "tool": tool, "input": given})
        outcome = await self._call(tool, given)
        await self.log.append(
            "tool.result",
            {"call_id": call_id, "tool": tool, "is_error": outcome.error is not None, "content": outcome.content},
        )
        return outcome

    def tools(self) -> Sequence[Tool]:
        return list(self._tools.values())

    def use(self, input_tokens: int, output_tokens: int) -> None:
        self._input_tokens = min(self._input_tokens + input_tokens, TOKENS_MAX)
        self._output_tokens = min(self._output_tokens + output_tokens, TOKENS_MAX)

    def use_uncounted(self) -> None:
        self._uncounted = True

    async def checkpoint(self, state: dict[str, Any]) -> None:
        self.state = state
        await self.log.flush()
        saved = {"state": state, "said": self.said, "counted": self.counted()}
        run_id, attempt = self._run.run_id, self.log.attempt
        if not await self._storage.db.write(lambda tx: runs.checkpoint(tx, run_id, attempt, saved)):
            raise LostRun(run_id)

    async def rewind(self) -> None:
        await self.log.flush()
        run_id, attempt, now = self._run.run_id, self.log.attempt, self._storage.clock.now()
        record = await self._storage.db.write(lambda tx: run_actions.resume(tx, run_id, attempt, now))
        if record is None:
            raise LostRun(run_id)
        self._storage.signals.notify(run_id)
        self.log.attempt = record.attempt
        self._restore(record.saved())

    def counted(self) -> dict[str, Any]:
        """Steps, tokens and cost so far, as `records.runs.Ending` names them."""
        return {
            "steps": self._steps,
            "input_tokens": self._input_tokens,
            "output_tokens": self._output_tokens,
            "cost_microcents": cost_microcents(self._run.model, self._input_tokens, self._output_tokens),
            "uncounted": self._uncounted,
        }

    def ending(self, status: str, **fields: Any) -> Ending:
        return Ending(status, **{**fields, **self.counted()})

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        counted = checkpoint.get("counted", {})
        self.state = checkpoint.get("state")
        self._said = [checkpoint.get("said", "")]
        self._steps = counted.get("steps", 0)
        self._input_tokens = counted.get("input_tokens", 0)
        self._output_tokens = counted.get("output_tokens", 0)
        self._uncounted = counted.get("uncounted", False)

    async def _call(self, name: str, given: dict[str, Any]) -> Outcome:
        tool = self._tools.get(name)
        if tool is None:
            return _failed("tool_not_found", f"There is no tool {name!r}.")
        try:
            checked = tool.Input.model_validate(given)
        except ValidationError as error:
            return _failed("invalid_tool_input", inputs.fault(error)[1])
        if tool.asynchronous:
            return await self._submit_and_follow(tool, given)
        author = Author("output", run_id=self._run.run_id)
        run = self._run
        task = WorkspaceTask(self._storage, run.account, run.chat, author, self.progress, self._written)
        try:
            outcome = await tool.run(checked, task)
        except AgentFailure as failure:
            return _failed(failure.code, failure.message)
        if outcome.uses:
            now = self._storage.clock.now()
            await self._storage.db.write(lambda tx: money.charge_uses(tx, self._run, outcome.uses, now))
        return outcome

    async def _submit_and_follow(self, tool: Tool, given: dict[str, Any]) -> Outcome:
        job = await self._submit(tool, given)
        payload = {"job_id": job.job_id, "family": job.family, "tool": job.tool, "chat": job.chat}
        await self.log.append("job.submitted", payload)
        self._jobs.wake(job.job_id)
        try:
            job = await self._follow(job)
        except BaseException:
            await self._jobs.stop(job.job_id)
            raise
        for path in job.files:
            if record := self._storage.db.read(partial(files.get, chat=job.chat, path=path)):
                await self._written(record)
        error = (job.error["code"], job.error["message"]) if job.error else None
        if error is None and job.status == "cancelled":
            error = ("cancelled", "The job was cancelled.")
        return Outcome(content=job.content, data=job.data, error=error, inline=job.kind != "files")

    async def _submit(self, tool: Tool, given: dict[str, Any]) -> JobRecord:
        run, now = self._run, self._storage.clock.now()
        submit = Submit(tool.name, tool.family, given, Where(chat=run.chat), now)
        bill = Bill(run.account, run.key_id, run.pool)  # the run holds already
        return await self._storage.db.write(lambda tx: job_actions.insert(tx, bill, run.chat, run.run_id, submit, now))

    async def _follow(self, job: JobRecord) -> JobRecord:
        """Wait for the job's end; its progress is the run's."""
        shown = job.progress
        with self._storage.signals.watch(job.job_id) as watch:
            while True:
                found = self._storage.db.read(lambda tx: jobs.get(tx, job.job_id))
                assert found is not None
                if found.progress != shown:
                    shown = found.progress
                    await self.progress(**shown)
                if found.status in JOB_TERMINAL:
                    return found
                await watch.wait(JOB_POLL_SECONDS)

    async def _written(self, record: FileRecord) -> None:
        await self.log.append("file.written", file_written(record))


def _failed(code: str, message: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": message}], error=(code, message))
