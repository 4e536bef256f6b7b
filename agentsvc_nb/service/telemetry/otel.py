"""Record spans with OpenTelemetry and send them by OTLP over HTTP. Import this module only if an endpoint is
configured.

OpenTelemetry reads the standard variables (`OTEL_EXPORTER_OTLP_*`, `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, ...).
The tracer provider is private, so that other users of OpenTelemetry in this process are not affected.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agentsvc_nb import __version__, clock
from agentsvc_nb.service.telemetry.tracing import NO_SPAN, Attributes, FinishedSpan, Kind, Span, Tracing

NAME: Final = "agentsvc"
DELAY_MS: Final = 1_000
"""The interval between sends of spans if `OTEL_BSP_SCHEDULE_DELAY` is not set. A killed process loses unsent spans."""
CLOSE_SECONDS: Final = 2.0
LOG_SECONDS: Final = 60.0
_KINDS: Final = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
_NS: Final = 1_000_000
_W3C: Final = TraceContextTextMapPropagator()


class OtelTracing(Tracing):
    on = True

    def __init__(self, content: bool) -> None:
        self.content = content
        self._ids = _IdGenerator()
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: NAME}
        resource = Resource.create({SERVICE_VERSION: __version__, **named})
        delay = None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else DELAY_MS
        self._sending = BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=delay)
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(self._sending)
        self._tracer = self._provider.get_tracer(NAME, __version__)
        logging.getLogger(OTLPSpanExporter.__module__).addFilter(_ErrorLimit())

    def request(self, method: str, headers: Mapping[bytes, bytes]) -> Span:
        given = headers.get(b"traceparent", b"").decode("latin-1")
        context = _W3C.extract({"traceparent": given}, Context())
        return RecordedSpan(self._tracer.start_span(method, context, SpanKind.SERVER))

    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Attributes) -> Span:
        if parent is None:
            return NO_SPAN
        return RecordedSpan(self._tracer.start_span(name, _context(parent), _KINDS[kind], dict(attributes)))

    def record(self, span: FinishedSpan) -> None:
        links = [Link(trace.get_current_span(_context(span.link)).get_span_context())] if span.link else []
        self._ids.next = int(span.traceparent[36:52], 16)
        context, began_ns = _context(span.parent), span.began_at * _NS
        recorded = self._tracer.start_span(
            span.name, context, SpanKind.INTERNAL, dict(span.attributes), links, began_ns
        )
        _end(recorded, span.error, max(span.began_at, span.ended_at) * _NS)

    def close(self) -> None:
        # Use a daemon thread, because the library waits for a collector that does not respond.
        sending = threading.Thread(target=self._sending.shutdown, name="last spans", daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS)


class RecordedSpan(Span):
    def __init__(self, span: trace.Span) -> None:
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, trace.set_span_in_context(span, Context()))
        super().__init__(carrier.get("traceparent"))
        self._span: trace.Span | None = span

    def rename(self, name: str) -> None:
        if self._span is not None:
            self._span.update_name(name)

    def set(self, attributes: Attributes) -> None:
        if self._span is not None:
            self._span.set_attributes(dict(attributes))

    def end(self, error: str | None = None) -> None:
        span, self._span = self._span, None
        if span is not None:
            _end(span, error)

    def drop(self) -> None:
        self._span = None  # a span that does not end is never sent


class _IdGenerator(RandomIdGenerator):
    """Generates random ids. If `next` is set, the next span gets that id instead. Use it only in the event loop."""

    next: int | None = None

    def generate_span_id(self) -> int:
        known, self.next = self.next, None
        return known or super().generate_span_id()


def _end(span: trace.Span, error: str | None, at: int | None = None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end(at)


def _context(traceparent: str) -> Context:
    return _W3C.extract({"traceparent": traceparent}, Context())


class _ErrorLimit(logging.Filter):
    """Lets one error a minute pass: while a collector is unavailable, the exporter logs an error at each attempt."""

    _until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR or clock.monotonic() < self._until:
            return False
        self._until = clock.monotonic() + LOG_SECONDS
        return True
