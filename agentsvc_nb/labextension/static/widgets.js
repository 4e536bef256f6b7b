/**
 * Widgets of ours in a page that was loaded again. ipywidgets looks for a widget's state for two seconds and then writes
 * "model not found" for good, also when the state comes a moment later (jupyter-widgets/ipywidgets#4026).
 */
const VIEW = "application/vnd.jupyter.widget-view+json";
const GONE = "The kernel no longer has this. Run this cell again to show it.";

/** Shows a widget whose state came late, and says how to bring back one that the kernel no longer has. */
export function mend(panel) {
  const { content: notebook } = panel;
  const tried = new WeakSet();

  function look(words) {
    const node = words.parentElement;
    if (!node?.matches(".jp-OutputArea-output.jupyter-widgets") || words.data === GONE) {
      return;
    }
    const area = notebook.widgets.find((cell) => cell.node.contains(node))?.outputArea;
    const at = area?.widgets.findIndex((item) => item.node.contains(node)) ?? -1;
    const renderer = area?.widgets[at]?.widgets?.find((each) => each.node === node);
    const output = area?.model.get(at);
    // Of ours, the text is an output of its own.
    if (!renderer || !output?.data[VIEW] || output.data["text/plain"] !== "") {
      return;
    }
    if (tried.has(renderer)) {
      node.textContent = GONE;
    } else {
      tried.add(renderer);
      renderer.removeClass("jupyter-widgets");
      void renderer.renderModel(output);
    }
  }

  const observer = new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes])) {
      if (node.nodeType === Node.TEXT_NODE) {
        look(node);
      }
    }
  });
  observer.observe(notebook.node, { childList: true, subtree: true });
  panel.disposed.connect(() => observer.disconnect());
}
