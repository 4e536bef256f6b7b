"""How far the offline agent understands a benchmark: `python -m tests.bench.reach BENCHMARK.zip`, which is a ZIP
of `questions.json` (`question`, `table`, `answer`) and `tables/`. Prints right of computed answers against how many are
given, those first whose words are nearest to the table's."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from agentsvc_nb.agents.offline.tables.answers import values_of
from agentsvc_nb.agents.offline.tables.question import words
from agentsvc_nb.agents.offline.tables.understanding import Understood, understand

from agentsvc_nb.documents.engine.child import answer
from agentsvc_nb.documents.engine.messages import ComputeQuestion, ReadQuestion, TableFile, UsedTable
from agentsvc_nb.documents.tables.profiles import file_names, named


def main(benchmark: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(benchmark) as held:
        questions = json.loads(held.read("questions.json"))
        answered = sorted(found for one in questions for found in _answered(one, held, Path(folder)))
    for count, right in enumerate(accumulate(right for _, right in answered), 1):
        if count % max(1, len(answered) // 10) == 0 or count == len(answered):
            print(f"{count / len(questions):6.1%} answered, {right / count:6.1%} of them right")


def _answered(asked: dict[str, str], held: zipfile.ZipFile, folder: Path) -> Iterator[tuple[float, bool]]:
    """How far the words are from the table, by word, and whether the answer is right; nothing if there is none."""
    data = held.read(f"tables/{asked['table']}")
    file = TableFile(hashlib.sha256(data).hexdigest(), ".csv", str(folder / "table"))
    Path(file.file).write_bytes(data)
    tables = named({"table.csv": answer(ReadQuestion(file), folder).tables}, file_names(["table.csv"]))["table.csv"]
    found = understand(asked["question"], tables)
    if isinstance(found, Understood):
        used = tuple(UsedTable(file, place, table) for place, table in enumerate(tables))
        if (result := answer(ComputeQuestion(found.reading.plan, used), folder).result) and result.used:
            right = set(map(_plain, values_of(found.reading, result))) == set(map(_plain, asked["answer"]))
            yield found.cost / len(words(asked["question"])), right


def _plain(value: str) -> str | float:
    text = value.casefold().replace(",", "").strip()
    try:
        return round(float(text), 4)
    except ValueError:
        return text


if __name__ == "__main__":
    main(Path(sys.argv[1]))
