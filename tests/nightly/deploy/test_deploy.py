"""The files of docs/deploy: they name what there is, and the programs that read them find nothing wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentsvc_nb.service.http import readiness
from docs.tables import METRICS

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "docs" / "deploy"
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
SERIES = {metric.name + suffix: metric for metric in METRICS for suffix in SUFFIXES[metric.kind]}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def queries() -> list[str]:
    """All queries of the dashboard and of the alerts."""
    board = json.loads((DEPLOY / "grafana.json").read_text())
    alerts = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    rules = [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    return [query.replace("$__rate_interval", "1m") for query in (*shown, *rules)]


def test_queries_name_metrics_that_there_are() -> None:
    """And all metrics are shown by the dashboard or are watched by an alert."""
    found = [name for query in queries() for name in re.findall(r"\bagentsvc_\w+", query)]
    assert set(found) <= SERIES.keys()
    assert {SERIES[name].name for name in found} == {metric.name for metric in METRICS}


@needs("promtool")
def test_promtool_finds_nothing_wrong(tmp_path: Path) -> None:
    for name in ("alerts.yaml", "prometheus.yaml"):
        shutil.copy(DEPLOY / name, tmp_path)
    (tmp_path / "metrics-token").write_text("token")
    rules = Path(__file__).with_name("alerts_test.yaml")
    for command in (["check", "config", str(tmp_path / "prometheus.yaml")], ["test", "rules", str(rules)]):
        told = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile with their arguments, continued lines joined."""
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    split = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(name, " ".join(rest.split())) for name, _, rest in split]


@pytest.mark.parametrize(("name", "count"), [("compose.yaml", 1), ("compose.cluster.yaml", 3)])
def test_a_compose_file_names_what_there_is(name: str, count: int) -> None:
    services = yaml.safe_load((DEPLOY / name).read_text())
    built = [one for one in services["services"].values() if "build" in one]
    assert len(built) == count
    for own in built:
        assert (DEPLOY / own["build"]["context"]).resolve() == ROOT
        assert (ROOT / own["build"]["dockerfile"]).is_file()
        settings = {name for name in _env(own) if name.startswith("AGENTSVC_")}
        assert settings <= set(re.findall(r"AGENTSVC_\w+", (ROOT / "docs" / "settings.md").read_text()))
        assert own.get("depends_on", {}).keys() <= services["services"].keys()
        _check_command(own.get("command", json.loads(dict(instructions())["CMD"])))
    mounted = [volume.partition(":")[0] for one in services["services"].values() for volume in one.get("volumes", ())]
    made = {"metrics-token"}  # by the command at its top
    for source in mounted:
        file = source.removeprefix("./")
        assert source in services["volumes"] or file in made or (DEPLOY / file).is_file(), source
    published = [port for one in services["services"].values() for port in one.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_cluster_is_one_service_before_the_proxy() -> None:
    """The processes have the same settings, each has a folder of its own, and the proxy asks each replica."""
    services = yaml.safe_load((DEPLOY / "compose.cluster.yaml").read_text())["services"]
    replicas = [name for name in services if name.startswith("replica-")]
    assert len(replicas) == services["worker"]["deploy"]["replicas"] == 2
    assert all(services[name] == services[replicas[0]] for name in replicas)
    assert _env(services["worker"]) == _env(services[replicas[0]])
    assert _env(services["worker"]).keys() >= {"AGENTSVC_DATABASE", "AGENTSVC_BLOBS", "AGENTSVC_SECRET"}
    assert not any("volumes" in services[name] for name in (*replicas, "worker"))
    proxy = (DEPLOY / "haproxy.cfg").read_text()
    port = dict(instructions())["EXPOSE"]
    assert re.findall(r"^    server (\S+) (\S+)$", proxy, re.MULTILINE) == [(one, f"{one}:{port}") for one in replicas]
    (asked,) = re.findall(r"http-check send meth GET uri (\S+)", proxy)
    assert asked == readiness.PATH
    assert services["s3"]["image"] == services["bucket"]["image"]


def _check_command(command: list[str]) -> None:
    """The subcommand knows all options that it is given."""
    run = [sys.executable, "-m", "agentsvc_nb", command[0], "--help"]
    told = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert {word for word in command if word.startswith("--")} <= set(re.findall(r"--[\w-]+", told))


def _env(service: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = service["environment"]
    return found


@needs("systemd-analyze")
@pytest.mark.parametrize("name", ["agentsvc.service", "agentsvc-worker.service"])
def test_systemd_reads_the_unit(name: str, tmp_path: Path) -> None:
    unit = (DEPLOY / name).read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    (tmp_path / name).write_text(unit.replace(program, sys.executable))
    verify = ["systemd-analyze", "verify", str(tmp_path / name)]
    told = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (told.returncode, [line for line in told.stderr.splitlines() if name in line]) == (0, [])
