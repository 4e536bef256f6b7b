"""What must be true of a history (`history.py`), whatever was killed, frozen or cut off: each rule yields what breaks
it, in a sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final

from tests.nightly.cluster.history import MICROCENTS, Fact, Facts

Rule = Callable[[Facts], Iterator[str]]
ACTIVE: Final = ("queued", "running", "cancelling")
LIMITS: Final = ("limit_reached",)
"""Why a run with a sound script may fail: money."""
AWAY: Final = "upstream_failed"
"""What a tool and a run that write a file say while the store of contents is away
(docs/decisions/0053-contents-in-s3.md)."""


def check(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """What breaks each rule; empty when all hold."""
    found = Facts(facts)
    broken = {rule.__name__: list(rule(found)) for rule in RULES}
    return {name: said for name, said in broken.items() if said}


def token_of(run: Fact) -> str:
    """The first word that the script of a stored run says: its start's own."""
    return str(run["message"].split()[1])


def nothing_accepted_is_lost(facts: Facts) -> Iterator[str]:
    for start in facts.of("start", outcome="ok"):
        run = facts.runs.get(start["run_id"])
        if run is None:
            yield f"run {start['run_id']} was accepted and is not there"
        elif start["token"] != token_of(run):
            yield f"run {start['run_id']} is not of the start {start['token']}"
    jobs = {row["job_id"] for row in facts.rows("job")}
    for job in facts.of("job", outcome="ok"):
        if job["job_id"] not in jobs:
            yield f"job {job['job_id']} was accepted and is not there"
    found = {(each["chat"], each["path"]): each for each in facts.of("found")}
    for upload in facts.of("upload", outcome="ok"):
        there = found.get((upload["chat"], upload["path"]), {})
        if there.get("sha256") != upload["sha256"]:
            yield f"{upload['path']} in {upload['chat']} was accepted and can't be downloaded as it was"
        elif not there["found"]:
            yield f"{upload['path']} in {upload['chat']} is not found by its word"


def nothing_refused_is_done(facts: Facts) -> Iterator[str]:
    done = {token_of(run) for run in facts.runs.values()}
    for start in facts.of("start", outcome="refused", key=None):
        if start["token"] in done:
            yield f"the start {start['token']} was refused ({start['code']}) and is there"


def a_start_is_one_run(facts: Facts) -> Iterator[str]:
    """With a key, each time it is sent; without one, it is at most one run, whether an answer came or not."""
    by_token: defaultdict[str, set[str]] = defaultdict(set)
    tokens = {start["token"]: start["key"] for start in facts.of("start")}
    for run in facts.runs.values():
        by_token[token_of(run)].add(run["run_id"])
    for token in tokens:
        if len(by_token[token]) > 1:
            yield f"the start {token} became {len(by_token[token])} runs"
    answered: defaultdict[str, set[str]] = defaultdict(set)
    for kind, field in (("start", "run_id"), ("job", "job_id")):
        for start in facts.of(kind, outcome="ok"):
            if start["key"] is not None:
                answered[start["key"]].add(start[field])
    for key, ids in answered.items():
        if len(ids) > 1:
            yield f"the key {key} was answered with {len(ids)} runs or jobs: {sorted(ids)}"


def events_are_dense_and_end_once(facts: Facts) -> Iterator[str]:
    for run_id, run in facts.runs.items():
        events = facts.events[run_id]
        if [event["id"] for event in events] != list(range(1, run["last_event"] + 1)):
            yield f"the events of run {run_id} have gaps: {run['last_event']} are said, {len(events)} are there"
        types = [event["type"] for event in events]
        if types.count("run.ended") != 1 or types[-1] != "run.ended":
            yield f"run {run_id} has {types.count('run.ended')} run.ended, its last event is {types[-1:]}"
        attempts = [event["payload"]["attempt"] for event in events if event["type"] == "run.resumed"]
        if any(later <= earlier for earlier, later in pairwise(attempts)):
            yield f"the attempts of run {run_id} are {attempts}"


def streams_are_the_stored_events(facts: Facts) -> Iterator[str]:
    for stream in facts.of("stream"):
        stored = [[event["id"], event["type"], event["digest"]] for event in facts.events[stream["run_id"]]]
        seen = stream["events"]
        if seen != (stored if stream["whole"] else stored[: len(seen)]):
            at = next((n for n, pair in enumerate(zip(seen, stored, strict=False)) if pair[0] != pair[1]), len(seen))
            yield f"a stream of run {stream['run_id']} differs from what is stored from event {at + 1} on"


def a_run_does_what_its_script_says(facts: Facts) -> Iterator[str]:
    for start in facts.of("start", outcome="ok"):
        run = facts.runs.get(start["run_id"])
        if run is None:
            continue
        if run["last_error"] in LIMITS and start["group"] != "wallet":
            continue
        if run["last_error"] == AWAY and _contents_were_away(facts, start["t"]):
            continue
        if run["status"] != start["ends"]:
            yield f"run {run['run_id']} is {run['status']} ({run['last_error']}), not {start['ends']}"
        if run["status"] == "completed" and run["output"] != start["said"]:
            yield f"run {run['run_id']} answered {run['output']!r}, not {start['said']!r}"
        texts = [each["payload"]["text"] for each in facts.standing(run["run_id"]) if each["type"] == "text.delta"]
        if run["status"] == "completed" and "".join(texts).removesuffix("\n") != run["output"]:
            yield f"the events of run {run['run_id']} say {''.join(texts)!r}, its answer is {run['output']!r}"


def _contents_were_away(facts: Facts, begun: float) -> bool:
    """True if the store of contents was restarted while what was begun then may have been in progress."""
    return any(begun - 20 < fault["t"] < begun + 60 for fault in facts.of("fault", what="restart contents"))


def all_ends(facts: Facts) -> Iterator[str]:
    for name, rows in (("run", facts.rows("run")), ("job", facts.rows("job"))):
        for row in rows:
            if row["status"] in ACTIVE:
                yield f"{name} {row[f'{name}_id']} is still {row['status']}"
    cancelled = {fact["run_id"] for fact in facts.of("cancel", outcome="ok")}
    for run_id in cancelled:
        if run_id not in facts.runs:
            yield f"run {run_id} was cancelled and is not there"


def what_was_read_was_true(facts: Facts) -> Iterator[str]:
    """A run that has ended stays as it was; and a replica answers what is stored."""
    ended: dict[str, Fact] = {}
    for read in sorted(facts.of("read"), key=lambda read: read["t"]):
        before = ended.get(read["run_id"])
        if read["status"] == "missing":
            yield f"run {read['run_id']} was accepted and then not found"
        elif before and before["t"] < read["begun"] and read["status"] != before["status"]:
            yield f"run {read['run_id']} was {before['status']} and then {read['status']}"
        elif not before and read["status"] not in ACTIVE:
            ended[read["run_id"]] = read
    for run_id, read in ended.items():
        if run_id in facts.runs and facts.runs[run_id]["status"] != read["status"]:
            yield f"run {run_id} was read as {read['status']} and is {facts.runs[run_id]['status']}"
    for final in facts.of("final"):
        run = facts.runs.get(final["run_id"])
        if run and [final["status"], final["output"], final["cost"]] != [
            run["status"],
            run["output"],
            run["cost_microcents"],
        ]:
            yield f"a replica answers another record of run {final['run_id']} than is stored"


def one_turn_a_chat(facts: Facts) -> Iterator[str]:
    for look in facts.of("look"):
        for chat, count in Counter(chat for _, chat, _ in look["active"]).items():
            if count > 1:
                yield f"at {look['t']} s the chat {chat} had {count} active runs"
    surely: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (float("inf"), float("-inf")))
    for start in facts.of("start", outcome="ok"):
        first, last = surely[start["run_id"]]
        surely[start["run_id"]] = min(first, start["t"]), last
    for read in facts.of("read"):
        if read["status"] in ACTIVE:
            first, last = surely[read["run_id"]]
            surely[read["run_id"]] = min(first, read["t"]), max(last, read["begun"])
    by_chat: defaultdict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for run_id, (first, last) in surely.items():
        if run_id in facts.runs and first < last:
            by_chat[facts.runs[run_id]["chat"]].append((first, last, run_id))
    for chat, spans in by_chat.items():
        for (_, earlier_end, earlier), (later_begin, _, later) in pairwise(sorted(spans)):
            if later_begin < earlier_end:
                yield f"clients saw the runs {earlier} and {later} of chat {chat} active at once"


def a_mail_is_sent_once(facts: Facts) -> Iterator[str]:
    sent = Counter(mail["token"] for mail in facts.of("mail"))
    asked = {start["token"]: start["run_id"] for start in facts.of("start", outcome="ok")}
    first: dict[str, bool] = {}
    for verdict in sorted(facts.of("verdict", outcome="ok"), key=lambda each: each["t"]):
        if first.setdefault(verdict["call_id"], verdict["approved"]) != verdict["approved"]:
            yield f"the call {verdict['call_id']} was approved and refused"
        if not verdict["approved"] and sent[verdict["token"]]:
            yield f"the mail {verdict['token']} was refused and sent"
    for token, count in sent.items():
        if count > 1:
            yield f"the mail {token} was sent {count} times"
    for token, run_id in asked.items():
        results = [each["payload"] for each in facts.standing(run_id) if each["type"] == "tool.result"]
        if any(result["tool"] == "send_email" and not result["is_error"] for result in results) and not sent[token]:
            yield f"the run {run_id} says that the mail {token} was sent, and it was not"


def the_effect_of_a_job_is_there_once(facts: Facts) -> Iterator[str]:
    """Each line of the log has a key, by which a receiver knows a repetition: a job has one key only, and so one
    effect, and a job that was not cut off has written it once."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for effect in facts.of("effect"):
        written[effect["token"]][effect["key"]] += 1
    by_id = {row["job_id"]: row for row in facts.rows("job")}
    for job in facts.of("job", outcome="ok", key=None):
        row, keys = by_id.get(job["job_id"]), written[job["token"]]
        if row is None:
            continue
        if AWAY in (row["error"] or "") and _contents_were_away(facts, job["t"]):
            if keys:
                yield f"job {job['job_id']} failed and had its effect"
        elif row["status"] != "succeeded":
            yield f"job {job['job_id']} is {row['status']}: {row['error']}"
        elif len(keys) != 1:
            yield f"job {job['job_id']} has the effects {sorted(keys)}"
        elif sum(keys.values()) > row["attempt"]:
            yield f"job {job['job_id']} had its effect {sum(keys.values())} times in {row['attempt']} attempts"


def money_is_exact(facts: Facts) -> Iterator[str]:
    billed: Counter[tuple[str, str, str]] = Counter()
    pictures = 0
    for line in facts.rows("usage"):
        billed[line["key_id"], line["pool"], line["kind"]] += line["microcents"]
        pictures += line["quantity"] if line["kind"] == "picture" else 0
    used: Counter[tuple[str, str, str]] = Counter()
    for row in facts.runs.values():
        used[row["key_id"], row["pool"], "tokens"] += row["cost_microcents"]
    drawn = sum(len(row["files"]) for row in facts.rows("job") if row["tool"] == "create_images")
    if drawn != pictures:
        yield f"{drawn} pictures were drawn and {pictures} billed"
    for place in {place for place in {*billed, *used} if place[2] == "tokens"}:
        if billed[place] != used[place]:
            yield f"{place}: {billed[place]} micro-cents are billed and the runs came to {used[place]}"
    for start in facts.of("start", outcome="ok"):
        run = facts.runs.get(start["run_id"])
        if run is not None and run["status"] == "completed" and run["cost_microcents"] != start["costs"]:
            yield f"run {run['run_id']} cost {run['cost_microcents']} micro-cents, its script {start['costs']}"
    for key in facts.rows("api_key"):
        of_key = sum(cost for (key_id, _, kind), cost in billed.items() if key_id == key["id"] and kind == "tokens")
        if key["budget_cents"] is not None and of_key > (key["budget_cents"] + 1) * MICROCENTS:
            yield f"the key {key['name']} has a budget of {key['budget_cents']} cents and spent {of_key} micro-cents"


def the_plan_pool_is_not_overrun(facts: Facts) -> Iterator[str]:
    """What members' tokens have used in a month is no more than the pool and the call that crossed it: of all replicas
    and workers one at most has let work begin that crosses it (docs/decisions/0012-money-and-limits.md)."""
    used: Counter[tuple[str, str]] = Counter()
    for line in facts.rows("usage"):
        if line["pool"] == "plan":
            used[line["account"], line["month"]] += line["microcents"]
    for limits in facts.of("limits"):
        for (account, month), microcents in used.items():
            if microcents > (limits["plan_pool_cents"] + 1) * MICROCENTS:
                pool = f"has {limits['plan_pool_cents']} cents in its plan pool"
                yield f"the account {account} {pool} and used {microcents} micro-cents of it in {month}"


RULES: Final[tuple[Rule, ...]] = (
    nothing_accepted_is_lost,
    nothing_refused_is_done,
    a_start_is_one_run,
    events_are_dense_and_end_once,
    streams_are_the_stored_events,
    a_run_does_what_its_script_says,
    all_ends,
    what_was_read_was_true,
    one_turn_a_chat,
    a_mail_is_sent_once,
    the_effect_of_a_job_is_there_once,
    money_is_exact,
    the_plan_pool_is_not_overrun,
)


def resumed_after(facts: Iterable[Fact]) -> list[tuple[str, str, float]]:
    """Of each run that a worker held when it was killed or frozen: the fault, the run, and after how many seconds a
    look saw it with another attempt, or ended. Not those during which the database was away."""
    found = Facts(facts)
    looks = list(found.of("look"))
    away = [fault["t"] for fault in found.of("fault", away=True)]
    measured = []
    for fault in found.of("fault"):
        for run_id, attempt in fault.get("held", {}).items():
            seen = [look for look in looks if look["t"] > fault["t"] and not _as_it_was(look, run_id, attempt)]
            if seen and not any(fault["t"] - 5 < moment < seen[0]["t"] for moment in away):
                measured.append((f"{fault['what']} {fault['target']}", run_id, seen[0]["t"] - fault["at"]))
    return measured


def _as_it_was(look: Fact, run_id: str, attempt: int) -> bool:
    return any(each[0] == run_id and each[2] == attempt for each in look["active"])
