/** Below IPython's error that one of our magics is not there: what brings it, and a button that does. */
const LOAD = "%load_ext agentsvc_nb";
const OURS = ["agentsvc", "approve", "ask", "feedback", "files", "job", "jobs", "runs", "search", "tool", "tools"];
const MISSING = /^UsageError: (?:Cell magic|Line magic function) `(%%?(\w+))` not found/m;

/** Makes the offer below a cell that failed for that reason. */
export function offer(panel, cell, actions) {
  const { outputs } = cell.model;
  const texts = Array.from({ length: outputs.length }, (_, at) => outputs.get(at).toJSON().text);
  const found = texts.flat().join("").match(MISSING);
  if (!found || !OURS.includes(found[2]) || panel.content.model.readOnly) {
    return;
  }
  const button = document.createElement("button");
  button.className = "jp-mod-styled jp-mod-accept";
  button.textContent = "Load it and run this cell";
  button.style.cssText = "height:auto;line-height:1.5;margin-left:8px";
  const shown = document.createElement("div");
  shown.style.cssText = "padding:4px 0 8px var(--jp-cell-prompt-width);font-family:var(--jp-ui-font-family);font-size:var(--jp-ui-font-size1)";
  shown.append(`${found[1]} comes with ${LOAD}, run once before it.`, button);
  button.addEventListener("click", () => void load(panel, cell, actions));
  cell.outputArea.node.append(shown);
  outputs.changed.connect(function gone() {
    outputs.changed.disconnect(gone);
    shown.remove();
  });
}

/** Runs the line in a cell above, or where the notebook has such a cell already only in the kernel; then the cell. */
async function load(panel, cell, actions) {
  const { content: notebook, sessionContext } = panel;
  const has = ({ type, sharedModel }) => type === "code" && sharedModel.getSource().includes(LOAD);
  if (Array.from(notebook.model.cells).some(has)) {
    await sessionContext.session.kernel.requestExecute({ code: LOAD, store_history: false }).done;
  } else {
    const at = notebook.widgets.indexOf(cell);
    notebook.model.sharedModel.insertCell(at, { cell_type: "code", source: LOAD, metadata: {} });
    await run(panel, notebook.widgets[at], actions);
  }
  await run(panel, cell, actions);
}

async function run({ content: notebook, sessionContext }, cell, actions) {
  notebook.deselectAll();
  notebook.activeCellIndex = notebook.widgets.indexOf(cell);
  await actions.run(notebook, sessionContext);
}
