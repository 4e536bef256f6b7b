"""What `tests/browser/shots.py` takes pictures of: cells with all that a notebook can show, and chats for the pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Surface:
    """A notebook. `shows` are words that a cell's output comes to have; `blocks` is a cell that does not end; with
    `chats`, something is said in its chat; `panel` is what is taken."""

    cells: Sequence[str]
    model: str = "scripted"
    shows: Mapping[int, str] = field(default_factory=dict)
    blocks: int = -1
    chats: bool = False
    panel: str = ".jp-NotebookPanel"


LOAD: Final = "%load_ext agentsvc_nb\nimport pandas as pd"
ANSWER: Final = """step 1
call web_search {}
call no_such_tool {}
say # The autumn plan
say
say Some `code`, a [link](https://example.org), **bold** and a *formula* \\(e^x\\) for $5.
say
say > A quotation of what the brief says of the audience, and it is long enough that it goes over more than a line where
say > the page is not so wide.
say
say | product | sold | revenue | note |
say |---|---:|---:|---|
say | lamp | 1,200 | 46,800.00 | to those who came back, and earlier than last year |
say | desk | 31 | 7,719.00 | |
say
say 1. Earlier, and to those who came back.
say 2. One picture less, one price more.
say
say ```python
say def revenue(price: float, sold: int) -> float:
say     return price * sold  # a comment that is rather long, so that one sees what happens to a line that goes on
say ```
usage 3000 1200
write out/plan.md # Autumn
write out/a-rather-long-folder-name/and-a-file-with-a-rather-long-name-of-the-third-quarter.csv a,b"""
SCHEMA: Final = '{"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}'
RECORDS: Final = '{"name": "lamp", "price": 39}'
PICTURES: Final = '%%job create_images\nrequest.brief: Autumn sale\nrequest.outputs: {"mode": "count", "count": 2}'
CODE: Final = "# Visits by city\ntop = df.sort_values('visits', ascending=False)\ntop"
IN_KERNEL: Final = json.dumps({"code": CODE, "why": "To see where most visits are"})
PREVIEWED: Final = (
    *("brief.docx", "plan.pdf", "prices.xlsx", "prices.csv", "chart.png", "facts.json", "notes.md"),
    *("page.html", "deck.pptx", "brief.txt"),
)
SENT: Final = json.dumps({"steps": 0, "text": "Dear Ana, the autumn plan is done."})

SURFACES: Final[Mapping[str, Surface]] = {
    "offline": Surface(
        [
            LOAD,
            "%files put brief.md products.csv",
            "%%ask -o answer\nWhich product has the highest price_eur, and what does the brief say about the audience?",
            "%%ask\nWhat is the average price_eur by category?",
            "df = pd.DataFrame({'city': ['Oslo', 'Rome', 'Bern'], 'visits': [3, 1500, 27]})",
            "%%ask --df df\nWhich city has the most visits?",
            "%%ask\nWhat is the capital of Peru?",
            "%search price",
            "%files",
            "%runs",
            "%agentsvc",
            "%agentsvc model",
            "%agentsvc sent",
        ],
        model="offline",
    ),
    "answers": Surface(
        [
            LOAD,
            f"%%ask\n{ANSWER}",
            "%%ask --no-raise-error\nsay so far\nfail agent_error It broke",
            "%%ask\nsay so far\nfail agent_error It broke",
            "%%ask\nsay hello\nfail-http brain_unavailable",
            "%%ask --nope\nhello",
            f"import json\nshape = json.loads('{SCHEMA}')",
            f"%%ask --schema shape\nanswer {RECORDS}",
            "%%ask --new-chat --bg\nsay one\nwait 900",
            "%%ask\nsay two",
            "%runs",
            "%runs show nothing",
            "%%tool ask_stefanbrain\nmessage: say **you**",
            "%%tool ask_stefanbrain\nmesage: say **you**",
            "%search autumn",
            "%feedback",
        ],
    ),
    "approvals": Surface(
        [
            f"{LOAD}\ndf = pd.DataFrame({{'city': ['Oslo', 'Rome'], 'visits': [3, 5]}})",
            f"%%ask --bg --new-chat\nsay Before it is sent.\ncall echo_job {SENT}",
            f"%%ask --kernel --bg --new-chat\nsay I look.\ncall run_in_kernel {IN_KERNEL}\nsay That is all.",
            "%approve",
            "total = 0\nfor n in df['visits']:\n    total = total + m\nprint(total)",
            "%%ask --fix --new-chat\nsay The name is `n`.\nsay\nsay ```python\nsay total = 0\n"
            "say for n in df['visits']:\nsay     total = total + n\nsay print(total)\nsay ```",
            f"%%ask --new-chat\nsay In front.\ncall echo_job {SENT}",
        ],
        shows={
            1: "waits for your approval",
            2: "waits for your approval",
            6: "waits for your approval",
        },
        blocks=6,
    ),
    "jobs": Surface(
        [
            LOAD,
            "%%ask --bg\nstep 1\nsay The autumn plan in short:\nsay\nsay 1. Earlier.\nprogress 2 5 reading\nwait 900",
            "%%job echo_job --bg\nsteps: 100\nseconds: 900",
            "%%job echo_job --bg\nsteps: 2\nseconds: 0",
            "%%job echo_job --bg\nsteps: 2\nseconds: 0\nfail: It broke",
            "%%job echo_job\nsteps: 2\nseconds: 0\nfail: It broke",
            "%jobs watch --bg",
            PICTURES,
            "%jobs",
            "%files",
            "%tools",
            "%tools create_images",
            "%tools form send_email",
            "%files gallery",
        ],
        shows={1: "reading", 2: "of 100", 6: "running"},
    ),
    "files": Surface(
        [
            LOAD,
            f"%%ask\n{ANSWER}",
            "%files put " + " ".join(f"samples/{name}" for name in PREVIEWED),
            PICTURES.replace("2}", "13}"),
            "%files browse",
            "%files gallery",
        ]
    ),
    "chat": Surface([LOAD, "import agentsvc_nb\nagentsvc_nb.Chat()"], chats=True),
    "side": Surface([LOAD, "import agentsvc_nb\nagentsvc_nb.Chat(where='side')"], chats=True, panel=".jp-LabShell"),
    "previews": Surface(
        [
            LOAD,
            "%%ask\nsay hello",
            "%files put " + " ".join(f"samples/{name}" for name in PREVIEWED),
            *(f"%files preview uploads/{name}" for name in PREVIEWED),
        ]
    ),
}
CHATTED: Final[Mapping[str, str]] = {
    "✓ completed": ANSWER,
    "✗ failed": "say A second answer\nfail agent_error It broke",
    "waits for your approval": f"say Before it is sent.\ncall echo_job {SENT}",
}
"""What is said in the chat, by what then stands there."""

PAGES: Final[Sequence[tuple[str, Sequence[tuple[str, bytes]]]]] = (
    (ANSWER, [("notes.md", b"# Notes\n\nThe price is 39 euros."), ("prices.csv", b"product,price\nlamp,39\n")]),
    ("say so far\nfail agent_error It broke", []),
)
"""What is said in the chats of the pages, with their files."""
