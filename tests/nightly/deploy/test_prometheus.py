"""A Prometheus, where one is installed, scrapes a service and answers all queries of the dashboard and the alerts."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.nightly.deploy.test_deploy import DEPLOY, needs, queries
from tests.support.waiting import until

TOKEN = "for-prometheus-alone"
SCRAPE = "1s"


@pytest.fixture
def scraped(tmp_path: Path) -> Iterator[tuple[RunningService, str]]:
    with running_service(metrics_token=TOKEN) as service:
        config: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
        config["global"] = {"scrape_interval": SCRAPE, "evaluation_interval": SCRAPE}
        config["scrape_configs"][0]["static_configs"] = [{"targets": [service.base_url.removeprefix("http://")]}]
        (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(config))
        (tmp_path / "metrics-token").write_text(f"{TOKEN}\n")
        shutil.copy(DEPLOY / "alerts.yaml", tmp_path)
        with prometheus(tmp_path) as address:
            yield service, address


@contextlib.contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    options = {"config.file": folder / "prometheus.yaml", "storage.tsdb.path": folder / "data"}
    command = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={place}"], stdout=log, stderr=log)
    try:
        yield f"http://{place}"
    finally:
        process.terminate()
        process.wait()


def asked(address: str, query: str) -> list[Any]:
    with contextlib.suppress(httpx.TransportError):  # it is starting
        answer = httpx.get(f"{address}/api/v1/query", params={"query": query})
        if answer.status_code != 503:
            assert answer.status_code == 200, f"{query}: {answer.text}"
            found: list[Any] = answer.json()["data"]["result"]
            return found
    return []


@needs("prometheus")
def test_a_prometheus_answers_every_query(scraped: tuple[RunningService, str]) -> None:
    service, address = scraped
    until(lambda: asked(address, 'up{job="agentsvc"} == 1'))
    with AgentService(service.api_key, service.base_url) as client:
        client.runs.start('usage 5 5\ncall read_file {"path": "missing.txt"}\nfail model_failed no', sync=True)
    until(lambda: asked(address, 'agentsvc_runs_ended_total{last_error="model_failed"} == 1'))
    for query in queries():
        asked(address, query)  # fails for one that it can't parse or answer
    rules = httpx.get(f"{address}/api/v1/rules").json()["data"]["groups"][0]["rules"]
    until(lambda: all(rule["health"] != "err" for rule in rules))
    assert asked(address, "agentsvc_stream_followers")[0]["value"][1] == "0"
