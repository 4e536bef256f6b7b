"""What we show, judged by axe-core in each look of JupyterLab: three themes, forced colours and 400 pixels."""

from __future__ import annotations

import json
from typing import Final

from playwright.sync_api import expect

from tests.browser import axe
from tests.browser.conftest import Place
from tests.support.waiting import until

ANSWER: Final = """step 1
call web_search {}
call no_such_tool {}
say # Autumn
say
say Some `code`, a [link](https://example.org), **bold**, \\(e^x\\) and $5
say
say > a quotation
say
say | a | b |
say |---|---:|
say | 1 | 2 |
say
say ```python
say print(1)  # a comment
say ```
usage 3000 1200
write out/plan.md # Autumn
write out/sales.csv a,b"""
IN_KERNEL: Final = json.dumps({"code": "# Visits\ntop = 1\ntop", "why": "To see where most visits are"})
PICTURES: Final = '%%job create_images\nrequest.brief: "Headline: Autumn sale"\nrequest.outputs: {"count": 1}'
CELLS: Final = {
    "load": "%load_ext agentsvc_nb\nimport agentsvc_nb",
    "answer": f"%%ask\n{ANSWER}",
    "failed": "%%ask --no-raise-error\nsay so far\nfail agent_error It broke",
    "card": "%%ask --bg --new-chat -o card\nsay The *first* lines\nsay of an answer\nstep 1\nwait 600",
    "job": "%%job echo_job --bg\nsteps: 100\nseconds: 600",
    "bars": "%jobs watch --bg",
    "approval": '%%ask --bg --new-chat\ncall echo_job {"steps": 0, "text": "Dear Ana"}',
    "kernel": f"%%ask --kernel --bg --new-chat\ncall run_in_kernel {IN_KERNEL}",
    "pictures": PICTURES,
    "runs": "%runs",
    "files": "%files",
    "browser": "%files browse",
    "gallery": "%files gallery",
    "preview": "%files preview out/plan.md",
    "search": "%search autumn",
    "tools": "%tools",
    "tool": "%tools create_images",
    "form": "%tools form create_images",
    "chat": "agentsvc_nb.Chat(new=True)",
    "error": "%runs show nothing",
}


def test_nothing_that_we_show_violates_a_rule_in_any_look(place: Place) -> None:
    number = {name: at for at, name in enumerate(CELLS)}
    notebook = place.lab.open("looks.ipynb", [*CELLS.values()])
    page = notebook.page
    for cell in range(len(CELLS)):
        notebook.run(cell)
        notebook.wait_idle()
    chat = page.locator(".asvc-chat")
    chat.get_by_label("Message").fill("say A **second** answer")
    chat.get_by_role("button", name="Send").click()
    expect(chat).to_contain_text("✓ completed")
    until(lambda: "of an answer" in notebook.output(number["card"]) and "step" in notebook.output(number["bars"]))
    for name in ("approval", "kernel"):
        until(lambda name=name: "waits for your approval" in notebook.output(number[name]))  # type: ignore[misc]
    page.mouse.move(0, 0)  # axe-core takes the button under the mouse, which is brighter, for covered
    axe.check(notebook)
    with axe.narrow(page):
        for box in page.locator(".asvc-chat, .asvc-form, .asvc-files").all():
            assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
    axe.theme(page, axe.THEMES[0])
    wrong = "all => document.querySelectorAll(all).forEach(one => one.style.setProperty('color', '#999', 'important'))"
    page.evaluate(wrong, ".jp-OutputArea-output p")
    assert any("color-contrast" in line for line in axe.violations(page)), "what is wrong is seen"
    for button in page.locator(".jp-CodeCell").nth(number["card"]).get_by_role("button", name="Cancel").all():
        button.press("Enter")
    until(lambda: "cancelled" in notebook.output(number["card"]))
    page.close()
