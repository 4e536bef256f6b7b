// What is written next: the message, its attachments, and the buttons below. Put behind common.js.

/** The attachments of the next message. A chip stays the same element, so that one that is pressed keeps the focus. */
class Chips {
  constructor(remove, leave) {
    this.remove = remove;
    this.leave = leave;
    this.made = new Map();
    this.row = element("div", { className: "asvc-row" });
  }

  show(wanted) {
    const keys = wanted.map(([key]) => key);
    const all = [...this.made.keys()];
    const focused = all.find((key) => this.made.get(key) === focusedIn(this.row));
    for (const [key, name] of wanted) if (!this.made.has(key)) this.add(key, name);
    for (const key of all) if (!keys.includes(key)) this.drop(key);
    if (focused === undefined || this.made.has(focused)) return;
    const next = all.slice(all.indexOf(focused)).find((key) => this.made.has(key)) ?? keys.at(-1);
    if (next === undefined) this.leave();
    else this.made.get(next).focus();
  }

  add(key, name) {
    const made = button(`✕ ${name}`, `Remove ${name}`, () => this.remove(key));
    this.made.set(key, made);
    this.row.append(made);
  }

  drop(key) {
    this.made.get(key).remove();
    this.made.delete(key);
  }
}

/** The next message: its text, its attachments, and the buttons below. */
class Writing {
  constructor(model, say) {
    this.model = model;
    this.say = say;
    this.chips = new Chips((key) => say({ do: "unattach", key }), () => this.input.focus());
    this.note = element("div", { className: "asvc-wrong", role: "status" });
    this.input = element("textarea", { rows: 3, placeholder: "Enter sends, Shift+Enter begins a new line" });
    this.send = button("Send", "Send the message (Enter)", () => this.sent(), "asvc-primary");
    this.stop = button("Stop", "Stop the run on the service", () => say({ do: "stop" }), "asvc-danger");
    this.close = button("Close", "Leave the conversation as a static output", () => say({ do: "close" }));
    this.chosen = element("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach" });
    this.upload = button("Attach", "Attach files of your machine; they can be dropped or pasted, too", () => this.chosen.click());
    this.choose = element("select", { "aria-label": "Attach a file of this chat" });
    const field = element("label", { className: "asvc-area" }, "Message", this.input);
    // Stop is last because it comes and goes: a button after it would slide under the pointer.
    const row = element("div", { className: "asvc-row" }, this.send, this.upload, this.choose, this.close, this.stop);
    this.box = element("div", { className: "asvc-writing" }, this.chips.row, this.note, field, this.chosen, row);
    this.listen();
  }

  listen() {
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (event.shiftKey) document.execCommand("insertText", false, "\n"); // JupyterLab prevents the browser's own
      else this.sent();
    });
    this.input.addEventListener("change", () => this.say({ do: "draft", text: this.input.value }));
    takePasted(this.input, (files) => this.attach(files));
    this.chosen.addEventListener("change", () => {
      this.attach([...this.chosen.files]);
      this.chosen.value = "";
    });
    this.choose.addEventListener("change", () => {
      if (this.choose.value) this.say({ do: "choose", path: this.choose.value });
      this.choose.value = "";
    });
  }

  reset() {
    this.limit = Infinity;
    this.active = null;
    this.pending = null;
    for (const kind of ["chips", "files", "note", "active"]) this.part(kind, null);
  }

  part(kind, value) {
    if (kind === "active") this.activate(value);
    else if (kind === "limit") this.limit = value;
    else if (kind === "note") this.tell(value);
    else if (kind === "draft") this.giveBack(value);
    else if (kind === "chips") this.chips.show(value ?? []);
    else if (kind === "files") {
      this.choose.hidden = !value?.length;
      const none = element("option", { value: "", textContent: "A file of this chat" });
      const option = ([path, name]) => element("option", { value: path, textContent: name });
      this.choose.replaceChildren(none, ...(value ?? []).map(option));
    }
  }

  giveBack(text) {
    if (!text) return;
    this.pending = null;
    if (!this.input.value) this.input.value = text;
  }

  tell(html) {
    if (html) this.pending = null;
    this.note.replaceChildren(markup(html ?? ""));
  }

  activate(state) {
    this.active = state;
    if (state) this.taken();
    this.stop.hidden = !state;
    this.stop.disabled = state === "stopping";
    this.stop.textContent = state === "stopping" ? "Stopping" : "Stop";
    this.send.setAttribute("aria-disabled", String(!!state)); // not `disabled`, which would lose the focus
  }

  /** The kernel has the message: what was written since then stays. */
  taken() {
    const { value } = this.input;
    if (this.pending !== null && value.startsWith(this.pending)) this.input.value = value.slice(this.pending.length);
    this.pending = null;
  }

  sent() {
    if (this.active || this.pending !== null) return;
    this.tell("");
    this.pending = this.input.value; // it stays there until the kernel has it, which may have gone
    this.say({ do: "send", text: this.pending });
    this.input.focus();
  }

  async attach(files) {
    for (const file of files) {
      const { name } = file;
      if (file.size > this.limit) this.say({ do: "toolarge", name });
      else await sendFile(this.model, file).catch(() => this.say({ do: "unreadable", name })); // a folder, or it has changed
    }
  }
}
