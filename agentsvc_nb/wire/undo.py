"""Describe what an undo or redo of a run's file changes did, in sentences for a notebook or a terminal."""

from agentsvc_nb.wire.ids import RUN_BEGINNING
from agentsvc_nb.wire.runs import RunUndo, UndoneFile
from agentsvc_nb.wire.text import label

_REASONS = {
    "changed_since": "left as it is, because it was edited after the run",
    "version_not_kept": "left as it is, because its version from before the run no longer exists",
}


def sentences(undone: RunUndo, command: str, *, redo: bool = False) -> list[str]:
    r"""Return a line about the run, a line about each file, and lines with the commands for further steps. `command` is
    the beginning of these commands.

    >>> files = [UndoneFile(path="new.md", outcome="removed"), UndoneFile(path="a.md", outcome="restored", version=3)]
    >>> done = RunUndo(run_id="0b9c1d2e-3f60", undone_at="2026-11-29T02:00:00Z", files=files)
    >>> print(*sentences(done, "%runs"), sep="\n")
    Run 0b9c1d2e is undone.
    - new.md: removed; its versions are kept
    - a.md: restored, as version 3
    `%runs redo 0b9c1d2e` restores the changes.
    """
    short = undone.run_id[:RUN_BEGINNING]
    if not undone.files:
        return [f"Run {short} made no file changes that can be undone."]
    state = "is undone" if undone.undone_at else "is not undone: its changes are in force"
    lines = [f"Run {short} {state}.", *(f"- {label(file.path)}: {_done(file)}" for file in undone.files)]
    if any(file.reason == "changed_since" for file in undone.files):
        lines.append(f"`{command} {('redo' if redo else 'undo')} {short} --force` also changes the edited files.")
    if undone.undone_at:
        lines.append(f"`{command} redo {short}` restores the changes.")
    return lines


def _done(file: UndoneFile) -> str:
    match file.outcome:
        case "removed":
            return "removed; its versions are kept"
        case "restored":
            return f"restored, as version {file.version}"
        case "unchanged":
            return "unchanged"
    return _REASONS.get(file.reason or "", "left as it is")
