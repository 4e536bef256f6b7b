"""A collector of traces: an HTTP server that takes what OTLP exporters send, and tells what it has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from tests.unit.service.site import Answer, Asked, serving


@dataclass(frozen=True)
class Span:
    """A span that was received; ids are hexadecimal, `parent` is empty for a root, `links` are span ids."""

    name: str
    trace: str
    id: str
    parent: str
    links: tuple[str, ...]
    error: bool
    attributes: dict[str, Any] = field(hash=False)
    began: int = 0
    ended: int = 0


class Collector:
    """What was received, and its address for `OTEL_EXPORTER_OTLP_ENDPOINT`."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.spans: list[Span] = []
        self.received = b""
        """All bodies, to look for what must not be in any."""
        self.services: set[str] = set()

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> None:
        self.received += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            known = {each.key: _value(each.value) for each in resource.resource.attributes}
            self.services.add(str(known["service.name"]))
            self.spans += [_read(span) for scope in resource.scope_spans for span in scope.spans]


def _read(span: ProtoSpan) -> Span:
    return Span(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        tuple(link.span_id.hex() for link in span.links),
        span.status.code == 2,
        {each.key: _value(each.value) for each in span.attributes},
        span.start_time_unix_nano,
        span.end_time_unix_nano,
    )


def _value(value: AnyValue) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")


@contextlib.contextmanager
def collector() -> Iterator[Collector]:
    """A collector on loopback."""
    with serving() as site:
        made = Collector(site.url)

        def take(asked: Asked) -> Answer:
            made.take(asked.body)
            return Answer(headers={"Content-Type": "application/x-protobuf"})

        site.pages["/v1/traces"] = take
        yield made
