"""Put one small fault at a time into a copy of the package, and see that the tests notice.

    python -m tests.nightly.mutants [--near] [NAME ...]

For each mutant the tests run that are nearest to it, then, if they pass, those of the README's command, and at last
those that `.ci/run` adds. With `--near` only the nearest run. Prints a row a mutant, with the first test that failed.
Fails unless the README's command notices five of six, and CI all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("agentsvc_nb", "docs", "notebooks", "tests", "README.md", "pyproject.toml")
README: Final = ("tests/unit", "tests/service", "tests/notebook")
CI: Final = ("tests/docs", "tests/faults", "tests/reports", "tests/browser")
FIRST_FAILURE: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A fault: `old`, which stands once in a module of the package, becomes `new`. `near`: the tests to run first, one
    after another."""

    name: str
    module: str
    old: str
    new: str
    near: tuple[str, ...]

    def changed(self) -> str:
        """Return the module with the fault."""
        text = (ROOT / "agentsvc_nb" / self.module).read_text("utf-8")
        if (found := text.count(self.old)) != 1:
            raise SystemExit(f"{self.module} has {found} times {self.old!r}: adapt the mutant {self.name!r}.")
        return text.replace(self.old, self.new)


def mutants() -> Iterator[Mutant]:
    for near, module, faults in FAULTS:
        for name, old, new in faults:
            yield Mutant(name, module, old, new, tuple(near.split()))


_ACTIVE: Final = "status IN ('queued', 'running', 'cancelling')"
_FENCE: Final = "WHERE run_id = :run_id AND attempt = :attempt AND "
FAULTS: Final[tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...]] = (
    # -- runs, events and fences
    (
        "tests/service/api/test_events.py tests/unit/service",
        "service/runs/events.sql",
        (
            ("an event is read twice", "id > :after ORDER", "id >= :after ORDER"),
            ("ids of events have gaps", "last_event + :events", "last_event + 2 * :events"),
            ("an event of an earlier attempt is written", f"{_FENCE}ended_at", "WHERE run_id = :run_id AND ended_at"),
        ),
    ),
    (
        "tests/unit/service/test_run_worker.py tests/unit/service tests/faults/test_kill.py",
        "service/runs/runs.sql",
        (
            (
                "an earlier attempt ends a run",
                f"{_FENCE}{_ACTIVE} RETURNING",
                f"WHERE run_id = :run_id AND {_ACTIVE} RETURNING",
            ),
            (
                "an earlier attempt writes a checkpoint",
                f"ELSE 0 END\n{_FENCE}",
                "ELSE 0 END\nWHERE run_id = :run_id AND ",
            ),
            ("a takeover has no attempt of its own", "SET attempt = attempt + 1,", "SET attempt = attempt,"),
            ("a run's hold for charges stays", "charge_hold_microcents = 0 WHERE", "charge_hold_microcents = 1 WHERE"),
        ),
    ),
    (
        "tests/service/api/test_every_route.py",
        "service/runs/runs.sql",
        (
            (
                "a run of another account is found",
                "AND account = :account\n\n-- name: shown",
                "AND account <> ''\n\n-- name: shown",
            ),
            (
                "a run of another account is shown",
                "{shown} FROM run WHERE run_id = :run_id AND account = :account",
                "{shown} FROM run WHERE run_id = :run_id",
            ),
        ),
    ),
    (
        "tests/unit/service/test_run_worker.py tests/unit/service tests/service/api",
        "service/jobs/jobs.sql",
        (
            (
                "an earlier attempt ends a job",
                f"WHERE job_id = :job_id AND attempt = :attempt AND {_ACTIVE} RETURNING",
                f"WHERE job_id = :job_id AND {_ACTIVE} RETURNING",
            ),
        ),
    ),
    (
        "tests/service/api/test_starts.py tests/service/api",
        "service/runs/runs.py",
        (
            ("a start forgets its key", "idempotency.remember(tx, scope, record.run_id)", "pass"),
            ("a chat has two turns at once", "    check_free(tx, chat.id)\n", ""),
        ),
    ),
    (
        "tests/unit/service/test_use_cases.py tests/service/api/test_every_route.py tests/service/api",
        "service/accounts/idempotency.sql",
        (
            ("keys of two accounts meet", "WHERE account = :account AND kind", "WHERE kind"),
            ("a key counts on the next day", "AND utc_day = :utc_day AND key = :key\n\n", "AND key = :key\n\n"),
        ),
    ),
    # -- money
    (
        "tests/service/api/test_money.py tests/unit/service/test_holds.py tests/unit/service",
        "service/accounts/usage.sql",
        (
            (
                "the hold of a run that failed is not released",
                f"FROM run WHERE account = :account AND pool = :pool\n        AND {_ACTIVE}",
                "FROM run WHERE account = :account AND pool = :pool\n        AND status <> 'completed'",
            ),
            (
                "the hold of a direct call is not released",
                "DELETE FROM direct_call WHERE call_id = :call_id",
                "UPDATE direct_call SET worker_id = worker_id WHERE call_id = :call_id",
            ),
            ("a second bill replaces the first", "usage.microcents + excluded.microcents", "excluded.microcents"),
        ),
    ),
    (
        "tests/service/api/test_money.py tests/service/api/test_run_limits.py tests/service/api/test_limits.py",
        "service/accounts/money.py",
        (
            ("work starts without room for its hold", "if room < bill.hold_microcents or room <= 0:", "if room <= 0:"),
            ("a budget does not count holds", "if billed + held >= budget_cents", "if billed >= budget_cents"),
            ("a run goes over its limit", "spent + next_call <= max_microcents", "spent <= max_microcents"),
            ("one request too few is let in", "if observed > limit:", "if observed >= limit:"),
            (
                "a suspended account goes on",
                'if state == "suspended" or (state == "throttled" and not held):',
                'if state == "throttled" and not held:',
            ),
        ),
    ),
    (
        "tests/unit/service/test_run_worker.py tests/unit/service tests/faults",
        "service/runs/tool_calls.py",
        (
            (
                "a call that is moved twice is billed twice",
                'ends = outcome is not None and (before is None or before.state != "done")',
                "ends = outcome is not None",
            ),
        ),
    ),
    # -- who may do what
    (
        "tests/service/api/test_access.py tests/service/api",
        "service/http/routing.py",
        (
            (
                "a scope is not looked at",
                "if key.scopes and not route.scopes & set(key.scopes):",
                "if not route.scopes:",
            ),
        ),
    ),
    (
        "tests/service/api/test_keys_http.py tests/service/cli tests/service/api",
        "service/accounts/accounts.py",
        (
            (
                "a deleted key opens",
                'if record is None or record.revoked_at is not None:\n        raise ApiError("unauthorized")',
                'if record is None:\n        raise ApiError("unauthorized")',
            ),
            ("a suspended key opens", "if record.suspended_at is not None:", "if record.suspended_at == 0:"),
        ),
    ),
    (
        "tests/service/api/test_sign_in.py tests/service/api",
        "service/http/access.py",
        (
            (
                "another site's page uses the session",
                'all(map(names.has_origin, request.headers.getlist("origin")))',
                "True",
            ),
        ),
    ),
    (
        "tests/service/api/test_names.py",
        "service/http/names.py",
        (("a rebound name is answered to", "if name not in self.hosts or len(port)", "if len(port)"),),
    ),
    # -- tools and approvals
    (
        "tests/service/api/test_approval.py tests/service/api",
        "service/runner/tool_calls.py",
        (
            ("an approval is skipped", "or await self._needs_approval(tool, given):", "and not tool:"),
            (
                "a refused call is made",
                'if call.state == "refused":\n                return _build_refusal(call)\n            # A person',
                "# A person",
            ),
            (
                "a changed call is made as it was asked",
                "            given = _read_input(tool, call)\n            if isinstance(given, Outcome):",
                "            if isinstance(given, Outcome):",
            ),
            (
                "an address that carries data out is fetched",
                "return bool(fetched) and not (",
                "return not fetched and not (",
            ),
            (
                "a call with an effect is made again",
                'if call.state == "begun" and not repeatable(tool):',
                "if not tool:",
            ),
        ),
    ),
    (
        "tests/unit/service/test_use_cases.py tests/service/api/test_approval.py tests/service/api",
        "service/runs/standing.sql",
        (
            (
                "a standing approval outlives its hour",
                "AND (run_id = :run_id OR expires_at > :now)",
                "AND (run_id = :run_id OR expires_at > 0)",
            ),
            (
                "a standing approval counts in any chat",
                "WHERE account = :account AND chat = :chat",
                "WHERE account = :account",
            ),
            (
                "a standing approval of another account is revoked",
                "WHERE id = :id AND account = :account",
                "WHERE id = :id",
            ),
        ),
    ),
    (
        "tests/service/api/test_undo.py",
        "service/runs/undoing.py",
        (
            (
                "an undo takes back what was changed since",
                "!= _content(start) and not force",
                "!= _content(start) and not path",
            ),
        ),
    ),
    (
        "tests/service/api/test_run_limits.py tests/service/api",
        "service/runs/runs.py",
        (("a limit is lowered", "if max_microcents < least:", "if max_microcents < 0:"),),
    ),
    (
        "tests/unit/tools/test_fetching.py tests/unit/tools tests/service/api",
        "tools/support/fetching.py",
        (
            (
                "an address within the network is fetched",
                "not all(is_public(address) for address in addresses)",
                "not any(is_public(address) for address in addresses)",
            ),
            ("a fetch reaches any port", "not allowed and port not in WEB_PORTS", "not allowed and port < 0"),
        ),
    ),
    (
        "tests/unit/tools/test_program_escapes.py tests/unit/tools tests/nightly/escapes",
        "tools/programs/confinement.py",
        (("a program may write the root", '"--remount-ro", "/"', '"--dir", "/tmp"'),),
    ),
    (
        "tests/notebook/test_databases.py tests/notebook",
        "notebook/kernel/duckdb_database.py",
        (
            ("a query is not judged", "            if not approved:\n                self._check(sql, rules)\n", ""),
            ("a query may write", "BEGIN TRANSACTION READ ONLY", "BEGIN TRANSACTION"),
        ),
    ),
    # -- files
    (
        "tests/service/api/test_file_versions.py tests/service/api",
        "service/files/files.sql",
        (
            (
                "a version is not kept",
                "FROM file WHERE chat = :chat AND path = :path\n\n-- name: drop_versions",
                "FROM file WHERE chat = :chat AND path = :path AND version > 1\n\n-- name: drop_versions",
            ),
            ("a list of files repeats one", "path > :after ORDER BY path", "path >= :after ORDER BY path"),
            (
                "an upload of another account is attached",
                "WHERE id = :id AND account = :account AND",
                "WHERE id = :id AND",
            ),
        ),
    ),
    (
        "tests/service/api/test_downloads.py tests/service/api",
        "service/http/contents.py",
        (("a range lacks its last byte", 'int(part["last"]) + 1, size)', 'int(part["last"]), size)'),),
    ),
    # -- tables and numbers
    (
        "tests/unit/documents tests/unit/offline tests/reports",
        "documents/tables/reading.py",
        (
            ("a total row counts", "if out := totals.totals | headings:", "if out := headings:"),
            (
                "a cut table is computed",
                "if sheet.rows_left_out:\n            raise",
                "if sheet.rows_left_out < 0:\n            raise",
            ),
            ("hidden rows are not told", "        _hidden_sentence(rows, sheet),\n", ""),
        ),
    ),
    (
        "tests/unit/documents tests/unit/offline tests/reports",
        "documents/tables/layout.py",
        (
            (
                "a title is the header",
                "if count_filled(row) >= need and not is_banner(row)",
                "if count_filled(row) >= 1",
            ),
            ("a note below the table is a row", "while end > 1 and width > 2:", "while end < 0:"),
        ),
    ),
    (
        "tests/unit/documents tests/unit/offline tests/reports",
        "documents/tables/values.py",
        (
            (
                "1.234,5 is one and a bit",
                'return mark if one.count(mark) == 1 else ""',
                'return other if one.count(mark) == 1 else ""',
            ),
            ("1,234 is 1", 'digits = digits.replace(group, "")', "digits = digits.partition(group)[0]"),
            ("a day is a month", "day_first = firsts > seconds", "day_first = firsts < seconds"),
        ),
    ),
    (
        "tests/unit/documents tests/unit/offline tests/reports",
        "documents/tables/workbooks.py",
        (
            ("a merged cell counts once", "row[at] = rows[top][left]", "row[at] = row[at]"),
            ("15 % is 0.15", "(Decimal(repr(number)) * 100)", "(Decimal(repr(number)) * 1)"),
        ),
    ),
    (
        "tests/unit/offline tests/reports",
        "agents/offline/sql.py",
        (
            (
                "a negation drops rows without a value",
                '({column} IS NULL OR NOT {among})"\n            case "in"',
                '(NOT {among})"\n            case "in"',
            ),
        ),
    ),
    # -- what untrusted text may do
    (
        "tests/notebook/test_hostile.py tests/notebook",
        "wire/text.py",
        (
            (
                "a cell is not escaped",
                "return html.escape(label(text, limit), quote=True)",
                "return label(text, limit)",
            ),
            ("a terminal is controlled", '_NEWLINE.sub("\\n", _ANSI.sub("", text))', '_NEWLINE.sub("\\n", text)'),
        ),
    ),
    (
        "tests/notebook/test_hostile.py tests/notebook",
        "documents/markdown.py",
        (("an answer's HTML is shown", '{"html": False}', '{"html": True}'),),
    ),
    (
        "tests/service/api/test_pages.py tests/service/api",
        "service/web/__init__.py",
        (("a page is not escaped", "autoescape=True", "autoescape=False"),),
    ),
    (
        "tests/notebook/test_redaction.py tests/notebook",
        "notebook/redaction.py",
        (
            (
                "a variable called token is told",
                '_LAST_WORDS: Final = _words("pass pin auth key token',
                '_LAST_WORDS: Final = _words("pass pin auth key',
            ),
        ),
    ),
    # -- the client
    (
        "tests/unit/client/test_retry.py tests/unit/client/test_deadlines.py tests/unit/client",
        "client/core.py",
        (
            (
                "a POST without a key is sent again",
                "return not self.starts_work and self.rewindable",
                "return self.rewindable",
            ),
            ("a deadline is not kept", "other.deadline = min(self.deadline,", "other.deadline = max(self.deadline,"),
            ("a key is sent again on the next day", "and not (request.key and self.io.today() != day)", ""),
            ("the key is in an error", "body = self.origin.remove_key(response.body)", "body = response.body"),
        ),
    ),
    (
        "tests/unit/client",
        "client/options.py",
        (
            (
                "Retry-After is not kept",
                "return asked if asked <= RETRY_AFTER_MAX_SECONDS else None",
                "return 0.0 if asked <= RETRY_AFTER_MAX_SECONDS else None",
            ),
        ),
    ),
    (
        "tests/unit/client",
        "client/streams.py",
        (
            (
                "a cut stream begins anew",
                'headers["last-event-id"] = str(self.cursor)',
                'headers["last-event-id"] = "0"',
            ),
            (
                "a gap between events is not seen",
                "if event.id > last + 1 and last != self._gap:",
                "if event.id > last + 9 and last != self._gap:",
            ),
        ),
    ),
    (
        "tests/unit/client",
        "client/origin.py",
        (("the key goes to another origin", "return whole if same else None", "return whole"),),
    ),
    (
        "tests/unit/client tests/service/api/test_client_functions.py",
        "client/downloads.py",
        (
            (
                "a damaged download is kept",
                "if not expected or self._digest.hexdigest() == expected:",
                "if self._digest:",
            ),
        ),
    ),
    (
        "tests/service/process/test_proof.py tests/service/process",
        "client/transport/health.py",
        (
            (
                "a stranger on the port gets the key",
                "if not key or not proof.is_same_proof(expected, self._proof):",
                "if not key:",
            ),
        ),
    ),
    # -- the notebook
    (
        "tests/notebook/test_reuse.py tests/notebook",
        "notebook/ask/request.py",
        (
            (
                "an answer about another file is shown again",
                "        sorted(request.attached),\n        sorted(put),\n",
                "        sorted(put),\n",
            ),
        ),
    ),
    (
        "tests/notebook/test_journal.py tests/notebook/test_reuse.py tests/notebook",
        "notebook/state/journal.py",
        (("a failed run is shown again", "AND status NOT IN ('failed', 'cancelled') ORDER", "ORDER"),),
    ),
    (
        "tests/notebook/test_stopping.py tests/notebook",
        "notebook/ask/follower.py",
        (
            (
                "a stopped cell leaves its run",
                "                cancelled = True\n                self.cancel()\n",
                "                cancelled = True\n",
            ),
        ),
    ),
)


def changed_copy(mutant: Mutant, folder: Path) -> None:
    """Copy the checkout into a folder, with the mutant."""
    for part in COPIED:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "node_modules", "images")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, folder)
    (folder / "agentsvc_nb" / mutant.module).write_text(mutant.changed(), "utf-8")


def first_failure(folder: Path, tests: Sequence[str]) -> str | None:
    """The first of these tests that fails in a copy; None if all pass."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-n", "2", "--maxfail=1", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    failed = FIRST_FAILURE.search(done.stdout)
    if failed is None and done.returncode:
        raise SystemExit(f"{tests}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[1] if failed else None


def caught_by(mutant: Mutant, near_only: bool) -> tuple[str, str]:
    """Who notices the mutant (`README`, `CI` or nobody), and the test."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as made:
        folder = Path(made)
        changed_copy(mutant, folder)
        near = [path for path in mutant.near if (folder / path).exists()]
        steps = [("README", [path]) for path in near if path.startswith(README)]
        steps += [] if near_only else [("README", [*README])]
        steps += [("CI", [path]) for path in near if path.startswith(CI)]
        steps += [] if near_only else [("CI", [*CI])]
        for who, tests in steps:
            if test := first_failure(folder, tests):
                return who, test
    return "nobody", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--near", action="store_true", help="run only the tests that are nearest to each mutant")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    chosen = [mutant for mutant in mutants() if not given.names or mutant.name in given.names]
    caught: list[str] = []
    for mutant in chosen:
        mutant.changed()  # a list that does not fit the code fails at once, not after hours
    for mutant in chosen:
        began = time.monotonic()
        who, test = caught_by(mutant, given.near)
        caught.append(who)
        print(f"{mutant.name:<52} {who:<7} {time.monotonic() - began:5.0f} s  {test}", flush=True)
    print(f"README's command: {caught.count('README')}, CI: {len(caught) - caught.count('nobody')}, of {len(caught)}")
    return int("nobody" in caught or 6 * caught.count("README") < 5 * len(caught))


if __name__ == "__main__":
    sys.exit(main())
