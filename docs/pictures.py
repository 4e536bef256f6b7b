"""Take the pictures of these pages in JupyterLab and voila (needs chromium); those of files: docs/file_pictures.py.

python -m docs.pictures [NAME ...]     quickstart, streaming, answers, cards, forms, chats, pages
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import FilePayload, sync_playwright

from docs.notebooks import NOTEBOOKS, fresh_service
from tests.browser import axe
from tests.browser.lab import CHROMIUM, Lab
from tests.nightly.hosts.voila import voila
from tests.support.waiting import until

IMAGES = Path(__file__).parent / "images"
HEIGHT = 2350  # pixels: down to the pictures of the job


QUESTIONS = ("What is the average price?", "Which product has the highest sold?")
PRICES = b"product,price,sold\nlamp,39.00,120\ndesk,249.00,31\nchair,89.50,87\nshelf,59.00,64\n"
CARDS = [
    "%load_ext agentsvc_nb",
    "%%ask --bg\nstep 1\nsay The autumn plan in short:\nsay\nsay 1. Earlier, and to those who came back.\n"
    "say 2. One picture less, one price more.\nstep 2\nprogress 2 5 reading plan.pdf\nwait 600",
    "%%job echo_job --bg\nsteps: 12\nseconds: 90",
    "%%job echo_job --bg\nsteps: 30\nseconds: 90",
    "%jobs watch --bg",
]
WATCH = len(CARDS) - 1


def main(names: list[str]) -> None:
    for take in (quickstart, streaming, answers, cards, forms, chats, pages):
        if not names or take.__name__ in names:
            take()


def streaming() -> None:
    """Take an answer that streams in: the recorded conversation of a story, with pauses between its lines."""
    _stream("light", "streaming.webp")
    _stream("dark", "streaming-dark.webp")


def _stream(theme: str, picture: str) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        root = Path(shutil.copytree(NOTEBOOKS / "data", f"{folder}/notebooks"))
        question, script = (root / "sales-review.txt").read_text("utf-8").split("ask ", 2)[1].split("\n", 1)
        slow = script.rstrip().replace("\nstep 1\n", "\nwait 0.7\nstep 1\n").split("\n")
        slow = [
            f"{line}\nwait 0.3" if line and not line.startswith(("step", "call", "wait")) else line for line in slow
        ]
        (root / "recorded.txt").write_text("\n".join([f"ask {question}", *slow, ""]), "utf-8")
        model = {"AGENTSVC_MODEL": f"scripted:{root}/recorded.txt"}
        with Lab(root, env | model, theme=f"JupyterLab {theme.title()}") as lab:
            asked = question.replace("? ", "?\n").replace(", by", ",\nby")
            cells = ["%load_ext agentsvc_nb", f"%%ask --file sales.csv\n{asked}"]
            notebook = lab.open("sales.ipynb", cells, width=900)
            notebook.page.set_viewport_size({"width": 900, "height": 720})
            notebook.page.keyboard.press("Control+b")  # the side bar
            notebook.run(0)
            notebook.wait_idle()
            panel = notebook.page.locator(".jp-NotebookPanel-notebook")
            notebook.run(1)
            frames: list[tuple[float, bytes]] = []
            while len(frames) < 5 or notebook.busy():
                frames.append((time.monotonic(), panel.screenshot()))
                assert len(frames) < 300, "the answer does not end"
            frames.append((time.monotonic(), panel.screenshot()))
    changes = [frame for at, frame in enumerate(frames) if not at or frame[1] != frames[at - 1][1]]
    # The start of the service is not shown in full; the last frame stays.
    shown_ms = [min(1200, max(40, round(1000 * (end - at)))) for (at, _), (end, _) in pairwise(changes)]
    pictures = [Image.open(io.BytesIO(shot)).convert("RGB") for _, shot in changes]
    pictures[0].save(
        IMAGES / picture,
        save_all=True,
        append_images=pictures[1:],
        duration=[*shown_ms, 5000],
        loop=0,
        quality=70,
        method=6,
    )
    print(f"took {picture}, {len(pictures)} frames")


def answers() -> None:
    """An answer with a table, and a question that the offline agent refuses."""
    cells = [
        "%load_ext agentsvc_nb",
        "%files put products.csv",
        "%%ask\nHow many products are there?",  # starts the service
        "%%ask\nWhat is the average price_eur by category?",
        "%%ask\nWhich category will sell best next year?",
    ]
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
            root = Path(folder, "notebooks")
            root.mkdir()
            shutil.copy(NOTEBOOKS / "products.csv", root)
            with Lab(root, env, theme=f"JupyterLab {theme.title()}") as lab:
                notebook = lab.open("answers.ipynb", cells, width=1000)
                notebook.page.set_viewport_size({"width": 1000, "height": 1400})
                notebook.run_all()
                notebook.wait_idle()
                notebook.page.locator(".jp-InputPrompt").first.click()  # another cell has the toolbar
                for cell, name in ((3, "answer"), (4, "refusal")):
                    shown = notebook.page.locator(".jp-CodeCell").nth(cell)
                    shown.screenshot(path=str(IMAGES / f"{name}-{theme}.png"))
                    print(f"took {name}-{theme}.png")


def pages() -> None:
    """What a visitor of voila sees: a run and a job in the background, and a chat."""
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        path = Path(folder) / "page.ipynb"
        cells = [
            nbformat.v4.new_code_cell(cell) for cell in (*CARDS[:3], "import agentsvc_nb\nagentsvc_nb.Chat(new=True)")
        ]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        with voila(path, env | {"AGENTSVC_MODEL": "scripted"}) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*CHROMIUM])
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": 700, "height": 760})
                page.goto(f"{address}?theme={theme}", timeout=120_000)
                page.get_by_text("reading plan.pdf").wait_for()
                page.get_by_text("step 1 of 12").wait_for()
                page.screenshot(path=str(IMAGES / f"voila-{theme}.png"))
                print(f"took voila-{theme}.png")


def cards() -> None:
    """A run and two jobs in the background, in each look that `tests/browser/axe.py` judges."""
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        (root := Path(folder) / "notebooks").mkdir()
        with Lab(root, env | {"AGENTSVC_MODEL": "scripted"}) as lab:
            notebook = lab.open("cards.ipynb", CARDS, width=1000)
            for cell in range(len(CARDS)):
                notebook.run(cell)
                notebook.wait_idle()
            until(lambda: notebook.output(WATCH).count("%") > 1 and "reading plan.pdf" in notebook.output(1))
            for look in axe.looks(notebook):
                name = f"cards-{look.removeprefix('JupyterLab ').replace(' ', '-').lower()}.png"
                notebook.page.locator(".jp-NotebookPanel-notebook").screenshot(path=str(IMAGES / name))
                print(f"took {name}")


def chats() -> None:
    for name in ("light", "dark"):
        _take_chat(name)
        print(f"took chat-{name}.png")


def _take_chat(name: str) -> None:
    """Two turns about a file, and the beginning of a third."""
    with (
        tempfile.TemporaryDirectory() as folder,
        fresh_service() as env,
        Lab(Path(folder), env, theme=f"JupyterLab {name.title()}") as lab,
    ):
        notebook = lab.open("chat.ipynb", ["import agentsvc_nb\nagentsvc_nb.Chat()"])
        notebook.page.add_style_tag(content=".asvc .asvc-log { max-height: none !important; }")
        notebook.run(0)
        chat = notebook.page.locator(".asvc").first
        with notebook.page.expect_file_chooser(timeout=60_000) as chooser:
            chat.get_by_role("button", name="Attach").click()
        chooser.value.set_files(FilePayload(name="prices.csv", mimeType="text/csv", buffer=PRICES))
        chat.get_by_role("button", name="prices.csv").wait_for()
        for count, question in enumerate(QUESTIONS, 1):
            chat.get_by_label("Message").fill(question)
            chat.get_by_role("button", name="Send").click()
            chat.get_by_role("button", name="Ask again").nth(count - 1).wait_for()
        chat.get_by_label("Message").fill("And which of them sold least?")
        chat.screenshot(path=str(IMAGES / f"chat-{name}.png"))


def quickstart() -> None:
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        root = Path(shutil.copytree(NOTEBOOKS, f"{folder}/notebooks"))
        with Lab(root, env) as lab:
            notebook = lab.open("quickstart.ipynb")
            notebook.page.set_viewport_size({"width": 1200, "height": HEIGHT})
            notebook.run_all()
            notebook.wait_idle()
            notebook.page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
            picture = str(IMAGES / "quickstart-light.png")
            notebook.page.locator(".jp-NotebookPanel-notebook").screenshot(path=picture)
    print("took quickstart-light.png")


def forms() -> None:
    for theme in ("light", "dark"):
        _take_form(theme)


def _take_form(name: str) -> None:
    """Fill a form in wrong, and take a picture of it."""
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        root = Path(folder, "notebooks")
        root.mkdir()
        with Lab(root, env, theme=f"JupyterLab {name.title()}") as lab:
            notebook = lab.open("form.ipynb", ["%load_ext agentsvc_nb", "%tools form send_email"], width=1000)
            notebook.page.set_viewport_size({"width": 1000, "height": 1200})
            notebook.run_all()
            notebook.wait_idle()
            shown = notebook.page.locator(".asvc-form")
            shown.get_by_label("To 1", exact=True).fill("ana@example.com")
            shown.get_by_label("Text").fill("The autumn plan is done.")
            shown.get_by_role("button", name="Run", exact=True).click()
            shown.get_by_text("Nothing was sent.").wait_for()
            shown.screenshot(path=str(IMAGES / f"form-{name}.png"))
    print(f"took form-{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
