"""Metrics (`metrics`) and traces (`tracing`; `otel` with the extra `telemetry`) of the service, for operators.

A trace consists of spans, one for each request, run or call. Spans are recorded only if an endpoint for them is
configured, because OpenTelemetry's SDK takes 15 MB and 135 to 200 ms to import.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from typing import Final

from agentsvc_nb.extras import pip_install
from agentsvc_nb.service.telemetry.tracing import Tracing

log = logging.getLogger(__name__)

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_MISSING_PACKAGE: Final = (
    f"%s is set, but traces need a package that is not installed: {pip_install('telemetry')}. The "
    "service records no traces."
)


def choose_tracing(content: bool) -> Tracing:
    """Return the tracing that the environment configures. Import OpenTelemetry only if an endpoint is configured."""
    wanted = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if wanted is None or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Tracing()
    if not _is_installed("opentelemetry.exporter.otlp.proto.http"):
        log.warning(_MISSING_PACKAGE, wanted)
        return Tracing()
    from agentsvc_nb.service.telemetry.otel import OtelTracing

    return OtelTracing(content)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
