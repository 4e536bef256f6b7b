"""Magics for the runs and files of the notebook's chat: `%runs`, `%approve`, `%files` and `%search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from IPython.core.magic import line_magic, magics_class

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.magics.base import MagicsGroup, arg, command, parse_leading_options
from agentsvc_nb.wire.limits import CENTS_MAX
from agentsvc_nb.wire.runs import NewStandingApproval
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import argparse


_NUMBERS: Final = {
    "show": (1, 1),
    "attach": (1, 1),
    "cancel": (1, 99),
    "resume": (1, 1),
    "undo": (1, 1),
    "redo": (1, 1),
    "raise": (2, 2),
}
"""The minimum and maximum number of arguments of an action."""
_MISSING: Final = {"raise": "The run or its new limit in cents is missing; nothing was sent."}


def _cents(given: str) -> float:
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not 0 < found <= CENTS_MAX:
        wanted = f"a number of cents that is more than 0 and at most {CENTS_MAX:,}"
        raise AskError(f"{given!r} is not {wanted}; nothing was sent.", "For example: `%runs raise last 100`")
    return found


@magics_class
class RunsMagics(MagicsGroup):
    """Provides `%runs`."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["show", "attach", "cancel", "resume", "raise", "undo", "redo", "wait"],
            help="what to do (see above); without an action, list the runs",
        ),
        arg("runs", nargs="*", metavar="RUN", help="the id of a run, the beginning of an id, or `last`"),
        arg("--all", action="store_true", help="list the runs of all notebooks on this machine"),
        arg("--max-cents", type=float, metavar="N", help="resume: the cost limit; by default, it stays the same"),
        arg("--force", action="store_true", help="undo, redo: also overwrite files that were changed later"),
        arg(
            "--timeout",
            type=float,
            metavar="SECONDS",
            help="wait, attach: stop waiting after this time; the run continues",
        ),
    )
    def runs(self, args: argparse.Namespace) -> Any:
        """List this notebook's runs and their costs, or do something with a run.

        - `show RUN`: show the current state of a run, or its answer.
        - `attach RUN`: follow an active run until it ends.
        - `cancel RUN ...`: stop runs.
        - `resume RUN`: continue a run that failed because its model was unavailable or it reached a limit.
        - `raise RUN CENTS`: raise the cost limit of an active run.
        - `undo RUN`: revert the changes that a run made to files.
        - `redo RUN`: make the changes again that `undo` reverted.
        - `wait [RUN ...]`: wait until these runs have ended; by default, all active runs of this notebook.

        Example:
            %runs
            %runs show 0b9c1d2e
            %runs resume last --max-cents 100
            %runs raise last 100
            %runs undo last
        """
        from agentsvc_nb.notebook import commands

        session, runs = self.session, args.runs
        least, most = _NUMBERS.get(args.action, (0, 99))
        if not least <= len(runs) <= most:
            raise AskError(
                _MISSING.get(args.action, "The run is missing; nothing was sent.")
                if len(runs) < least
                else f"Too many runs: expected at most {most}; nothing was sent.",
                f"For example: `%runs {args.action} last{' 100' * (args.action == 'raise')}`. List the runs"
                " with `%runs`.",
            )
        match args.action:
            case "show":
                answer = commands.show(session, runs[0])
                self.context.screen().finish(answer.shown)
                return answer
            case "attach":
                return commands.attach(session, runs[0], self.context.screen(), timeout=args.timeout)
            case "cancel":
                return commands.cancel(session, *runs)
            case "resume":
                return commands.resume(session, runs[0], self.context.screen(), max_cents=args.max_cents)
            case "undo" | "redo":
                output = self.context.live_output()
                return commands.undo(session, runs[0], redo=args.action == "redo", force=args.force, output=output)
            case "raise":
                return commands.raise_limit(session, runs[0], _cents(runs[1]))
            case "wait":
                return commands.wait(session, runs, timeout=args.timeout)
        return commands.runs(session, everywhere=args.all)


@magics_class
class ApproveMagics(MagicsGroup):
    """Provides `%approve`."""

    @command(
        line_magic,
        arg("call", nargs="?", metavar="CALL", help="the call, or its run if exactly one of its calls waits"),
        arg("--refuse", action="store_true", help="refuse the call; the agent continues without it"),
        arg("--reason", metavar="TEXT", default="", help="--refuse: the reason to send to the agent"),
        arg("--input", metavar="NAME", help="a dict: call the tool with these arguments instead of the agent's"),
        arg(
            "--for",
            dest="lasts",
            choices=["run", "hour"],
            help="also approve the tool's further calls in this run, or for an hour",
        ),
        arg("--folder", metavar="PATH", help="--for: only calls for files in this folder"),
        arg("--standing", action="store_true", help="list what you approved with --for"),
        arg("--revoke", metavar="ID", help="revoke one of those approvals"),
        arg("--all", action="store_true", help="list the waiting calls of all notebooks on this machine"),
    )
    def approve(self, args: argparse.Namespace) -> Any:
        """List the calls that wait for your approval, with their exact input. With a call, approve it, or refuse it.

        Example:
            %approve
            %approve call_0b9c1d2e
            %approve call_0b9c1d2e --input changed
            %approve call_0b9c1d2e --for run
            %approve --refuse call_0b9c1d2e --reason "Not before Monday"
        """
        from agentsvc_nb.notebook import commands

        if args.folder and not args.lasts:
            raise AskError(
                "--folder is only valid with --for; nothing was sent.", "For example: `--for hour --folder reports`"
            )
        if args.call:
            return commands.approve(
                self.session,
                args.call,
                refuse=args.refuse,
                reason=args.reason,
                changed=None if args.input is None else self._arguments(args.input),
                further=NewStandingApproval(lasts=args.lasts, folder=args.folder) if args.lasts else None,
            )
        if args.refuse or args.reason or args.input or args.lasts:
            raise AskError("The call is missing; nothing was sent.", "For example: `%approve --refuse call_0b9c1d2e`")
        if args.revoke:
            return commands.revoke(self.session, args.revoke)
        if args.standing:
            return commands.standing_approvals(self.session)
        return commands.approvals(self.session, everywhere=args.all)

    def _arguments(self, name: str) -> dict[str, Any]:
        """Return a copy of the dict in the variable `name`. Raises `AskError` if the variable holds no dict."""
        found = self.shell.user_ns.get(name)
        if not isinstance(found, dict):
            raise AskError(
                f"--input {label(name, 80)}: there is no dict with this name; nothing was sent.",
                "Change a copy of the arguments: `%approve -o calls`, then `changed = calls['input'][0] | {...}`.",
            )
        return dict(found)


@magics_class
class FilesMagics(MagicsGroup):
    """Provides `%files` and `%search`."""

    @command(
        line_magic,
        arg(
            "action",
            nargs="?",
            choices=["browse", "put", "get", "preview", "gallery", "versions", "restore"],
            help="what to do (see above); without an action, list the files",
        ),
        arg("paths", nargs="*", metavar="PATH", help="the path of a file, its name, or a glob such as images/*"),
        arg(
            "--to", metavar="PLACE", default=".", help="get: the folder to download to; for one file, also its new name"
        ),
        arg("-f", "--force", action="store_true", help="get: replace an existing file that has other content"),
    )
    def files(self, args: argparse.Namespace) -> Any:
        """List the files of this notebook's chat, or do something with them.

        - `browse`: show a browser for the files.
        - `put PATH ...`: upload local files, folders or globs.
        - `get PATH ...`: download files.
        - `preview PATH`: show the beginning of a file.
        - `gallery [GLOB]`: show the pictures.
        - `versions PATH`: list the versions of a file.
        - `restore PATH [VERSION]`: restore an earlier version of a file; by default, the previous one.

        Example:
            %files
            %files put data/*.csv
            %files get reports/plan.md images/* --to downloads
            %files preview reports/plan.md
            %files gallery
            %files versions prices.csv
            %files restore prices.csv 1
        """
        from agentsvc_nb.notebook import commands
        from agentsvc_nb.notebook.display.results import QuotedText

        session, paths = self.session, args.paths
        match args.action:
            case "browse":
                return commands.files_browse(session, widgets=self.context.widgets)
            case "put":
                return QuotedText(commands.files_put(session, paths))
            case "get":
                return self._get(paths, args.to, force=args.force)
            case "preview":
                return commands.files_preview(session, _one(paths, "preview"))
            case "gallery":
                return commands.files_gallery(session, *paths[:1], widgets=self.context.widgets)
            case "versions":
                return commands.files_versions(session, _one(paths, "versions", "list the versions of"))
            case "restore":
                if len(paths) not in (1, 2):
                    hint = (
                        "For example: `%files restore reports/plan.md 1`. List the versions with"
                        " `%files versions PATH`."
                    )
                    raise AskError("Expected one file and at most one version; nothing was restored.", hint)
                return QuotedText(commands.files_restore(session, *paths))
        return commands.files(session)

    def _get(self, paths: list[str], to: str, *, force: bool) -> str | list[str]:
        from agentsvc_nb.notebook import commands

        if not paths:
            raise AskError(
                "The path of the file is missing; nothing was downloaded.",
                "For example: `%files get reports/plan.md --to downloads`",
            )
        wanted = commands.files_matching(self.session, paths)
        if len(wanted) > 1:
            to = f"{to}/"  # a folder, even if its name looks like the name of a file
        got = [commands.files_get(self.session, path, to, force=force) for path in wanted]
        for file in got:
            if file.same:
                print(f"{file.path} already exists with the same content.")
        return str(got[0].path) if len(got) == 1 else [str(file.path) for file in got]

    @command(
        line_magic,
        arg(
            "words",
            nargs="?",
            metavar="WORDS",
            help='words, "phrases", `or`, -excluded; the last word matches as a prefix',
        ),
        read=parse_leading_options,
    )
    def search(self, args: argparse.Namespace) -> Any:
        """Search the files of this notebook's chat by name and content. Options come before the words.

        Example:
            %search autumn "return on ad spend" -draft
            %search -o found budget or cost
        """
        from agentsvc_nb.notebook import commands

        return commands.search(self.session, args.words or "")


def _one(paths: list[str], action: str, purpose: str | None = None) -> str:
    if len(paths) != 1:
        raise AskError(
            f"Expected exactly one file to {purpose or action}.", f"For example: `%files {action} reports/plan.md`"
        )
    return str(paths[0])
