// What is written next: the message, its attachments, and the buttons below. Put behind common.js.

const HIGHEST = 240; // pixels, beyond which a long message scrolls

/** The attachments of the next message. A chip stays the same element, so that one that is pressed keeps the focus. */
class Chips {
  constructor(remove, leave) {
    this.remove = remove;
    this.leave = leave;
    this.made = new Map();
    this.row = element("div", { className: "asvc-chips", role: "group", "aria-label": "Attachments" });
  }

  show(wanted) {
    const keys = wanted.map(([key]) => key);
    const all = [...this.made.keys()];
    const focused = all.find((key) => this.made.get(key) === focusedIn(this.row));
    for (const [key, name] of wanted) if (!this.made.has(key)) this.add(key, name);
    for (const key of all) if (!keys.includes(key)) this.drop(key);
    this.row.hidden = !wanted.length;
    if (focused === undefined || this.made.has(focused)) return;
    const next = all.slice(all.indexOf(focused)).find((key) => this.made.has(key)) ?? keys.at(-1);
    if (next === undefined) this.leave();
    else this.made.get(next).focus();
  }

  add(key, name) {
    const made = iconButton("close", `Remove ${name}`, () => this.remove(key));
    this.made.set(key, made);
    this.row.append(chip(name, made));
  }

  drop(key) {
    this.made.get(key).parentElement.remove();
    this.made.delete(key);
  }
}

/** The next message: its text, its attachments, and the buttons below. */
class Writing {
  constructor(model, say) {
    this.model = model;
    this.say = say;
    this.last = ""; // the last question, to be edited
    this.chips = new Chips((key) => say({ do: "unattach", key }), () => this.input.focus());
    this.note = element("div", { className: "asvc-wrong", role: "status" });
    this.input = element("textarea", { rows: 1, placeholder: "Ask the agent…", "aria-label": "Message", dir: "auto" });
    this.send = iconButton("send", "Send the message (Enter)", () => this.sent(), "asvc-primary asvc-round", "Send");
    this.stop = button("Stop", "Stop the run on the service", () => say({ do: "stop" }), "asvc-stop");
    this.chosen = element("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach" });
    const title = "Attach files from your computer. You can also drop or paste them.";
    this.upload = iconButton("attach", title, () => this.chosen.click(), "", "Attach");
    this.choose = element("select", { "aria-label": "Attach a file of this chat" });
    // Stop comes and goes before Send, which stays where it is: no button slides under the pointer.
    const row = element("div", { className: "asvc-row" }, this.upload, this.choose, element("span", { className: "asvc-between" }), this.stop, this.send);
    const field = element("div", { className: "asvc-box" }, this.chips.row, this.input, this.chosen, row);
    const hint = element("div", { className: "asvc-quiet asvc-hint", textContent: "Enter sends · Shift+Enter breaks · ↑ edits the last question" });
    this.box = element("div", { className: "asvc-writing" }, this.note, field, hint);
    this.listen(field);
    this.write(model.get("draft") ?? "");
  }

  listen(field) {
    this.input.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return; // Enter takes what an input method offers; Safari says 229
      if (event.key === "ArrowUp" && !this.input.value && this.last) {
        event.preventDefault();
        this.write(this.last);
      }
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (event.shiftKey) document.execCommand("insertText", false, "\n"); // JupyterLab prevents the browser's own
      else this.sent();
    });
    this.input.addEventListener("input", () => this.write(this.input.value));
    this.input.addEventListener("change", () => this.say({ do: "draft", text: this.input.value }));
    field.addEventListener("click", ({ target }) => target === field && this.input.focus());
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
      const none = element("option", { value: "", textContent: "File of this chat" });
      const option = ([path, name]) => element("option", { value: path, textContent: name });
      this.choose.replaceChildren(none, ...(value ?? []).map(option));
    }
  }

  /** Have this text in the field, and in a view that takes the place of this one: hosts draw an output anew at any time. */
  write(text) {
    if (this.input.value !== text) this.input.value = text; // else the cursor would go to the end
    this.model.set("draft", text); // in the page alone: nothing is saved or sent
    this.grow();
  }

  /** Have this question in the field, to be sent or changed. */
  suggest(text) {
    this.write(text);
    this.input.focus();
  }

  /** Be as high as the text, up to a limit. */
  grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(HIGHEST, this.input.scrollHeight)}px`;
  }

  giveBack(text) {
    if (!text) return;
    this.pending = null;
    if (!this.input.value) this.write(text);
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
    offered(this.send, !state); // not `disabled`, which would lose the focus
  }

  /** The kernel has the message: what was written since then stays. */
  taken() {
    const { value } = this.input;
    if (this.pending !== null && value.startsWith(this.pending)) this.write(value.slice(this.pending.length));
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
