"""Define the use case "undo or redo the changes that a run made to files" (docs/api/runs.md "Undo").

There is no log of undos. Undo changes the files that have the content from after the run. Redo changes the files that
have the content from before the run. Therefore both can be repeated.
"""

from __future__ import annotations

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files import file_records, files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.runs import run_records, runs
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.runs import TERMINAL, RunUndo, UndoneFile

_SERVICE_FOLDER = "logs/"
"""The folder with the service's own records of the chat. An undo does not change these records."""


class _VersionMissing(Exception):
    """The service no longer stores the version of the file from before the run."""


async def undo(context: UseCaseContext, account: str, run_id: str, *, redo: bool, force: bool) -> RunUndo:
    """Undo a run's changes to files: restore the files' versions from before the run.

    With `redo`, restore the versions from after the run. Skip files that somebody has changed meanwhile, unless `force`
    is True.

    Raises what `runs.get` raises, and `run_not_finished`.
    """
    now = context.now

    def use(tx: Tx) -> RunUndo:
        run = runs.get_in_tx(tx, account, run_id)
        if run.status not in TERMINAL or job_records.is_active_in(tx, run.run_id):
            raise ApiError("run_not_finished")
        paths = sorted({change.path for change in file_records.list_changes(tx, run.run_id)})
        changed = [
            _undo_file(tx, context.index, run, path, redo=redo, force=force, now=now)
            for path in paths
            if not path.startswith(_SERVICE_FOLDER)
        ]
        undone_at = run.undone_at
        if any(each.outcome != "left" for each in changed):
            undone_at = None if redo else undone_at or now
            run_records.set_undone(tx, run.run_id, undone_at)
        at = None if undone_at is None else rfc3339(undone_at)
        return RunUndo(run_id=run.run_id, chat=run.chat, undone_at=at, files=changed)

    found = await context.write(use, long=True)
    context.workers.wake_readings()
    return found


def _undo_file(tx: Tx, index: Index, run: RunRecord, path: str, *, redo: bool, force: bool, now: int) -> UndoneFile:
    current = file_records.get(tx, run.chat, path)
    found = {version.version: version for version in file_records.versions(tx, run.chat, path)}
    removed = file_records.removed_versions(tx, run.chat, path)
    made = found[max(number for number, version in found.items() if version.changed_by == run.run_id)]
    try:
        before = _find_before(made, found, removed)
    except _VersionMissing:
        if redo and current is not None and current.sha256 == made.sha256:
            return UndoneFile(path=path, outcome="unchanged", version=current.version)
        return UndoneFile(path=path, outcome="left", reason="version_not_kept", version=_number(current))
    start, goal = (before, made) if redo else (made, before)
    if _content(current) == _content(goal):
        return UndoneFile(path=path, outcome="unchanged", version=_number(current))
    if _content(current) != _content(start) and not force:
        return UndoneFile(path=path, outcome="left", reason="changed_since", version=_number(current))
    if goal is None:
        files.remove(tx, index, run.chat, path)
        return UndoneFile(path=path, outcome="removed")
    written = files.put_version(tx, index, goal, run.run_id if redo else None, now)
    return UndoneFile(path=path, outcome="restored", version=written.version)


def _find_before(made: FileRecord, found: dict[int, FileRecord], removed: set[int]) -> FileRecord | None:
    """Return the file's version from before the run and its redos, or None if the file did not exist then.

    Raises `_VersionMissing`.
    """
    number = made.version - 1
    while number in found and number not in removed and found[number].changed_by == made.changed_by:
        number -= 1
    if number == 0 or number in removed:
        return None
    if number not in found:
        raise _VersionMissing
    return found[number]


def _content(file: FileRecord | None) -> str | None:
    return None if file is None else file.sha256


def _number(file: FileRecord | None) -> int | None:
    return None if file is None else file.version
