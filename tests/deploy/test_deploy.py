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

from docs.tables import METRICS

ROOT = Path(__file__).parents[2]
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


def test_queries_name_labels_that_there_are() -> None:
    for query in queries():
        allowed = {"le"} | {label for name in re.findall(r"\bagentsvc_\w+", query) for label in SERIES[name].labels}
        named = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query)
        grouped = [label for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(", ")]
        assert {*named, *grouped} <= allowed | ({"job"} if query.startswith("up") else set()), query


def test_an_alert_says_what_to_do() -> None:
    for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"].keys() == {"summary", "action"}, rule["alert"]


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


def copied() -> dict[str, str]:
    """What the Containerfile copies, source by target."""
    found: dict[str, str] = {}
    for name, rest in instructions():
        if name == "COPY":
            *sources, target = rest.split()
            found |= {source: target + source if target.endswith("/") else target for source in sources}
    return found


def test_the_image_runs_as_nobody_in_particular() -> None:
    known = dict(instructions())
    assert known["FROM"].count(":") == 1
    assert ":latest" not in known["FROM"]
    assert known["USER"] == "agentsvc"
    order = [name for name, _ in instructions()]
    assert order.index("USER") > max(index for index, name in enumerate(order) if name in ("RUN", "COPY"))


def test_the_image_is_made_of_what_there_is(tmp_path: Path) -> None:
    """A wheel can be built from what is copied and nothing else, it has the extras, and its command starts."""
    assert copied().keys() >= {"pyproject.toml", "agentsvc_nb"}
    source = tmp_path / "src"
    for name, target in copied().items():
        place = source / Path(target).relative_to("/src")
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "made"), str(source)]
    made = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (extras,) = re.findall(r"pip install .*'/src\[(.*)\]'", (DEPLOY / "Containerfile").read_text())
    (metadata,) = (tmp_path / "made").glob("agentsvc_nb-*.dist-info/METADATA")
    assert {f"Provides-Extra: {extra}" for extra in extras.split(",")} <= set(metadata.read_text().splitlines())
    known = dict(instructions())
    command = [*json.loads(known["ENTRYPOINT"]), *json.loads(known["CMD"])]
    assert command[0] == "agentsvc"
    run = [sys.executable, "-c", "from agentsvc_nb.cli import main; import sys; sys.exit(main(sys.argv[1:]))"]
    help = subprocess.run(
        [*run, command[1], "--help"], cwd=tmp_path / "made", capture_output=True, text=True, check=True
    )
    assert {word for word in command if word.startswith("--")} <= set(re.findall(r"--[\w-]+", help.stdout))


def test_the_compose_file_names_what_there_is() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    own = services["services"]["agentsvc"]
    assert (DEPLOY / own["build"]["context"]).resolve() == ROOT
    assert (ROOT / own["build"]["dockerfile"]).is_file()
    mounted = [volume.partition(":")[0] for one in services["services"].values() for volume in one["volumes"]]
    made = {"metrics-token"}  # by the command at its top
    for source in mounted:
        name = source.removeprefix("./")
        assert source in services["volumes"] or name in made or (DEPLOY / name).is_file(), source
    published = [port for one in services["services"].values() for port in one["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in published)
    settings = {name for name in _env(own) if name.startswith("AGENTSVC_")}
    assert settings <= set(re.findall(r"AGENTSVC_\w+", (ROOT / "docs" / "settings.md").read_text()))


def _env(service: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = service["environment"]
    return found


@needs("systemd-analyze")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "agentsvc.service").read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    (tmp_path / "agentsvc.service").write_text(unit.replace(program, sys.executable))
    verify = ["systemd-analyze", "verify", str(tmp_path / "agentsvc.service")]
    told = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (told.returncode, [line for line in told.stderr.splitlines() if "agentsvc.service" in line]) == (0, [])
