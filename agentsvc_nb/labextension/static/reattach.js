/**
 * Outputs of cells that this tab began before its page was loaded again: JupyterLab drops them, because it did not
 * send their requests. Only our own outputs name their cell; what else such a cell shows follows those.
 */
export class Reattached {
  constructor(panel, channel) {
    this._panel = panel;
    this._channel = channel;
    this._runs = new Map(); // by the id of the request
  }

  hear({ header, parent_header: parent, content }) {
    if (!parent?.msg_id || !this._channel.earlier.includes(parent.session)) {
      return;
    }
    const run = this._runs.get(parent.msg_id) ?? this._begin(parent.msg_id, content.transient?.agentsvc_nb);
    if (!run) {
      return;
    }
    if (header.msg_type === "status" && content.execution_state === "idle") {
      this._runs.delete(parent.msg_id);
      run.end();
    } else {
      run.show(header.msg_type, content);
    }
  }

  _begin(request, mark) {
    const { model } = this._panel.content;
    if (!mark?.cell || model.collaborative) {
      return null; // where people write a notebook together, the server has the outputs
    }
    const index = Array.from(model.cells).findIndex((cell) => cell.id === mark.cell && cell.type === "code");
    if (index < 0) {
      return null;
    }
    const run = new Run(model.cells.get(index), this._panel.content.widgets[index], mark.count);
    this._runs.set(request, run);
    return run;
  }
}

class Run {
  constructor(cell, widget, count) {
    this._cell = cell;
    this._count = count;
    this._places = new Map(); // of outputs that may be updated, by their display ids
    cell.outputs.clear();
    cell.trusted = true; // this tab has run it
    cell.executionState = "running";
    widget?.setPrompt?.("*");
  }

  show(kind, content) {
    const { outputs } = this._cell;
    const { transient, ...rest } = content;
    if (kind === "clear_output") {
      outputs.clear(content.wait);
      this._places.clear();
    } else if (kind === "update_display_data" || kind === "display_data") {
      // An update of what this page has not seen is of this cell if it says so, else of a card of another one.
      const place = this._places.get(transient?.display_id);
      const output = { output_type: "display_data", ...rest };
      if (kind === "update_display_data" && place !== undefined) {
        outputs.set(place, output);
      } else if (kind === "display_data" || transient?.agentsvc_nb) {
        outputs.add(output);
        if (transient?.display_id) {
          this._places.set(transient.display_id, outputs.length - 1);
        }
      }
    } else if (kind === "stream" || kind === "error" || kind === "execute_result") {
      outputs.add({ output_type: kind, ...rest });
    }
  }

  end() {
    this._cell.executionState = "idle";
    this._cell.executionCount = this._count;
  }
}
