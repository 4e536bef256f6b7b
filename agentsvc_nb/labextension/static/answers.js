/**
 * What can be done with an answer in a notebook's output: copy it, continue with it in a new cell, or ask a question that
 * it suggests. The buttons are in the page alone, never in the saved notebook, and nothing here runs a cell.
 */
const PATHS = {
  copy: "M5.5 5.5h8v8h-8zM10.5 2.5h-8v8",
  copied: "m3 8.5 3.2 3.2L13 5",
  cell: "M2 3h12v10H2zM8 5.8v4.4M5.8 8h4.4",
};
const OUT = /\s(?:-o|--out)[\s=]+(\w+)/;

/** Adds the buttons to the answers that a notebook shows, and to each one that comes. */
export function dress(panel) {
  const { content: notebook } = panel;

  // A table that is wider than its place is reached by the keyboard, to be scrolled.
  const widths = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      if (target.scrollWidth > target.clientWidth) {
        Object.assign(target, { tabIndex: 0, role: "group", ariaLabel: "Table" });
      } else {
        target.removeAttribute("tabindex");
      }
    }
  });

  function look(node) {
    const all = (selector) => (node.matches(selector) ? [node] : node.querySelectorAll(selector));
    for (const table of all(".asvc-tablebox")) {
      widths.observe(table);
    }
    for (const number of all(".asvc-number")) {
      number.tabIndex = -1; // JupyterLab drops it in a notebook that is not trusted, where a click would show nothing
    }
    for (const answer of all(".asvc-answer")) {
      const cell = notebook.widgets.find((each) => each.node.contains(answer));
      // A chat has buttons of its own.
      if (cell && !answer.closest(".asvc") && !answer.querySelector(":scope > .asvc-tools")) {
        add(answer, cell);
      }
    }
  }

  function add(answer, cell) {
    const tools = document.createElement("div");
    tools.className = "asvc-tools";
    if (navigator.clipboard?.write) {
      const copy = button(tools, "copy", "Copy the answer", async () => {
        await write(answer.querySelector(".asvc-body"));
        draw(copy, "copied", "Copied");
        setTimeout(() => draw(copy, "copy", "Copy the answer"), 1500);
      });
    }
    if (source(answer, cell)) {
      button(tools, "cell", "Continue in a new cell", () => insert(cell, source(answer, cell)));
    }
    answer.prepend(tools);
    for (const list of answer.querySelectorAll(".asvc-body :is(ul, ol)")) {
      list.dir = "auto"; // so that its marks are on the side of its text
    }
    for (const ask of answer.querySelectorAll(".asvc-ask")) {
      Object.assign(ask, { role: "button", tabIndex: 0, title: "Ask this in a new cell" });
      ask.addEventListener("click", () => insert(cell, `%%ask\n${ask.textContent}`));
      ask.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation(); // the notebook runs or scrolls on these keys
          insert(cell, `%%ask\n${ask.textContent}`);
        }
      });
    }
  }

  /** Puts a cell below another one, to be looked at and run by the user. */
  function insert(below, text) {
    if (!notebook.model.readOnly) {
      const at = notebook.widgets.indexOf(below) + 1;
      notebook.model.sharedModel.insertCell(at, { cell_type: "code", source: text, metadata: {} });
      notebook.deselectAll();
      notebook.activeCellIndex = at;
      notebook.mode = "edit";
    }
  }

  const observer = new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes])) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        look(node);
      }
    }
  });
  observer.observe(notebook.node, { childList: true, subtree: true });
  panel.disposed.connect(() => [observer, widths].forEach((each) => each.disconnect()));
  look(notebook.node);
}

/** The code to continue with: the first Python of an answer, or the table that was computed; empty for other answers. */
function source(answer, cell) {
  const code = answer.querySelector(".asvc-body .asvc-python");
  if (code) {
    return code.textContent.trimEnd();
  }
  if (!answer.querySelector(".asvc-body .asvc-computed") || !answer.querySelector(".asvc-body .asvc-tablebox")) {
    return "";
  }
  const [line] = cell.model.sharedModel.getSource().split("\n");
  return `${line.match(OUT)?.[1] ?? `Out[${cell.model.executionCount}]`}.df`;
}

/** Copies what is read, without what is folded: as text, in which tabs part the cells of tables, and as HTML. */
async function write(body) {
  const shown = [...body.children].filter((part) => !part.matches(".asvc-fold"));
  const kinds = {
    "text/plain": shown.map((part) => part.innerText.trim()).join("\n\n"),
    "text/html": shown.map((part) => part.outerHTML).join(""),
  };
  const blobs = Object.entries(kinds).map(([type, text]) => [type, new Blob([text], { type })]);
  await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
}

function button(tools, name, label, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  draw(made, name, label);
  made.addEventListener("click", () => void pressed());
  tools.append(made);
  return made;
}

function draw(made, name, label) {
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "0 0 16 16");
  icon.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  icon.append(path);
  made.replaceChildren(icon);
  made.title = label;
  made.setAttribute("aria-label", label);
}
