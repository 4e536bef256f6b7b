"""Count the metrics of this process: counters and histograms. `prometheus.py` renders them.

Use them only in the event loop's thread. Each label has only a few possible values: never ids, chats or accounts. Codes
and tools that a caller invented are counted as `other`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from agentsvc_nb.wire.codes import FAILURES

OTHER: Final = "other"

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LONG_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Upper bounds of the histogram buckets for durations that may be minutes, such as those of tools."""

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name and description, which are a row of `docs/metrics.md`."""

    name: str
    kind: Kind
    help: str
    labels: Labels = ()


class Counter:
    """A sum since the process started, for each combination of labels.

    To count open streams, callers add 1 when a stream begins and -1 when it ends.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        # A metric without labels has a single sum, which is shown even before the first count.
        self.sums: dict[Labels, float] = {} if metric.labels else {(): 0}

    def add(self, *labels: str, by: float = 1) -> None:
        self.sums[labels] = self.sums.get(labels, 0) + by


class Histogram:
    """A histogram. It has the number of observations up to each bound, for each combination of labels."""

    def __init__(self, metric: Metric, bounds: tuple[float, ...]) -> None:
        self.metric = metric
        self._bounds = bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, *labels: str, value: float) -> None:
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def observed(self) -> Iterator[tuple[Labels, list[tuple[str, float]], float]]:
        """Yield each combination of labels, with its number of observations up to each bound and the sum of values."""
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        for labels, counts in self._counts.items():
            yield labels, list(zip(bounds, accumulate(counts), strict=True)), self._sums[labels]


RUNS_ENDED: Final = Metric(
    "agentsvc_runs_ended_total", "counter", "Runs that ended, by final status and last_error.", ("status", "last_error")
)
ATTEMPTS_RESUMED: Final = Metric(
    "agentsvc_attempts_resumed_total", "counter", "Attempts that took over a run at its last checkpoint."
)
FENCES_REFUSED: Final = Metric(
    "agentsvc_fences_refused_total",
    "counter",
    "Writes of an earlier attempt that the database refused, because another worker had taken over.",
    ("work",),
)
MODEL_TOKENS: Final = Metric("agentsvc_model_tokens_total", "counter", "Tokens of model calls.", ("model", "direction"))
MODEL_CENTS: Final = Metric("agentsvc_model_cost_cents_total", "counter", "Cost of model calls in cents.", ("model",))
TOOL_ERRORS: Final = Metric(
    "agentsvc_tool_errors_total", "counter", "Failed tool calls, by error code.", ("tool", "code")
)
TOOL_SECONDS: Final = Metric("agentsvc_tool_seconds", "histogram", "Duration of tool calls in seconds.", ("tool",))
REQUEST_SECONDS: Final = Metric(
    "agentsvc_request_seconds",
    "histogram",
    "Seconds from a request to the start of its response. For streams: to the headers.",
    ("method", "route", "status"),
)
FIRST_EVENT_SECONDS: Final = Metric(
    "agentsvc_first_event_seconds", "histogram", "Seconds from a run's start to the first event of its agent."
)

MCP_REQUESTS: Final = Metric(
    "agentsvc_mcp_requests_total",
    "counter",
    "MCP requests by outcome: ok, tool_error, fault (a JSON-RPC error) or refused.",
    ("method", "outcome"),
)
MCP_STREAMS: Final = Metric(
    "agentsvc_mcp_streams", "gauge", "Open MCP streams: waiting calls and subscriptions.", ("method",)
)

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The metrics of one service since its start."""

    def __init__(self) -> None:
        self.runs_ended = Counter(RUNS_ENDED)
        self.attempts_resumed = Counter(ATTEMPTS_RESUMED)
        self.fences_refused = Counter(FENCES_REFUSED)
        self.model_tokens = Counter(MODEL_TOKENS)
        self.model_cents = Counter(MODEL_CENTS)
        self.tool_errors = Counter(TOOL_ERRORS)
        self.tool_seconds = Histogram(TOOL_SECONDS, LONG_SECONDS)
        self.request_seconds = Histogram(REQUEST_SECONDS, SECONDS)
        self.first_event_seconds = Histogram(FIRST_EVENT_SECONDS, SECONDS)
        self.mcp_requests = Counter(MCP_REQUESTS)
        self.mcp_streams = Counter(MCP_STREAMS)

    def count_run(self, status: str, last_error: str | None) -> None:
        self.runs_ended.add(status, _code(last_error))

    def count_model_call(self, model: str, input_tokens: int, output_tokens: int, cents: float) -> None:
        self.model_tokens.add(model, "input", by=input_tokens)
        self.model_tokens.add(model, "output", by=output_tokens)
        self.model_cents.add(model, by=cents)

    def count_tool_call(self, tool: str, seconds: float, code: str | None) -> None:
        self.tool_seconds.observe(tool, value=seconds)
        if code is not None:
            self.tool_errors.add(tool, _code(code))

    def count_response(self, method: str, route: str, status: int, seconds: float) -> None:
        self.request_seconds.observe(method if method in _METHODS else OTHER, route, str(status), value=seconds)

    def all(self) -> list[Counter | Histogram]:
        return list(vars(self).values())


def _code(code: str | None) -> str:
    """Return the code if it is in `FAILURES`, "" for None, or `other` for a code that a tool or a script invented."""
    return "" if code is None else code if code in FAILURES else OTHER
