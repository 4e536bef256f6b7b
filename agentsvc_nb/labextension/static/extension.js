/** The plugin: what it does to each notebook that is opened. */
export async function plugin(shared, load, address) {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: address("answer.css").href }));
  const { IEditorLanguageRegistry } = await shared("@jupyterlab/codemirror");
  const { INotebookTracker, NotebookActions } = await shared("@jupyterlab/notebook");
  const { KernelMessage } = await shared("@jupyterlab/services");
  const [{ asText }, { Channel }, { Reattached }, { actions }, { offer }, { dress }, { mend }] = await Promise.all(
    ["highlight.js", "channel.js", "reattach.js", "cells.js", "offer.js", "answers.js", "widgets.js"].map(load),
  );
  const known = new WeakSet();

  async function opened(panel, languages) {
    const context = panel.context;
    await context.ready;
    if (panel.isDisposed || known.has(context)) {
      return; // a second view of the same notebook
    }
    known.add(context);
    asText(panel.content.model, languages);
    dress(panel);
    mend(panel);
    const channel = new Channel(context, KernelMessage, actions(panel.content.model));
    const reattached = new Reattached(panel, channel);
    context.sessionContext.iopubMessage.connect((_, message) => {
      channel.hear(message);
      reattached.hear(message);
    });
  }

  return {
    id: "agentsvc-nb:plugin",
    description: "Cells of agentsvc-nb: their text in its colours, changes by the agent, and runs and widgets after a reload.",
    autoStart: true,
    requires: [INotebookTracker, IEditorLanguageRegistry],
    activate: (_, tracker, languages) => {
      tracker.forEach((panel) => void opened(panel, languages));
      tracker.widgetAdded.connect((_, panel) => void opened(panel, languages));
      NotebookActions.executed.connect((_, { notebook, cell, success }) => {
        const panel = tracker.find((each) => each.content === notebook);
        if (panel && !success && cell.outputArea) {
          offer(panel, cell, NotebookActions);
        }
      });
    },
  };
}
