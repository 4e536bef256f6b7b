"""Render metrics in Prometheus' text format with its client library. Import this module only if `/metrics` is on.

`metrics.py` counts without the library, because that would take a lock for each count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.registry import Collector

from agentsvc_nb.service.telemetry.metrics import Histogram, Labels, Metric, Metrics


def render(counted: Metrics, gauges: Mapping[Metric, Mapping[Labels, float]]) -> bytes:
    """Return the text for Prometheus, with the counted metrics and the current values `gauges`."""
    return generate_latest(_Collector(counted, gauges))


class _Collector(Collector):
    def __init__(self, counted: Metrics, gauges: Mapping[Metric, Mapping[Labels, float]]) -> None:
        self._counted, self._gauges = counted, gauges

    def collect(self) -> Iterator[MetricFamily]:
        for counted in self._counted.all():
            yield _histogram(counted) if isinstance(counted, Histogram) else _sums(counted.metric, counted.sums)
        for metric, values in self._gauges.items():
            yield _sums(metric, values)


def _sums(metric: Metric, values: Mapping[Labels, float]) -> MetricFamily:
    family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = family(metric.name, metric.help, labels=metric.labels)
    for labels, value in values.items():
        made.add_metric(labels, value)
    return made


def _histogram(histogram: Histogram) -> MetricFamily:
    made = HistogramMetricFamily(histogram.metric.name, histogram.metric.help, labels=histogram.metric.labels)
    for labels, buckets, total in histogram.observed():
        made.add_metric(labels, buckets, total)
    return made
