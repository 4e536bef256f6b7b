// The chat: turns that ended, the one that goes on, and what is written next. Put behind common.js, live.js and writing.js.
// Parts: order, turn/N, live, live/N, ran, asked/KEY, active, earlier, chips, files, limit, note, heard, draft, closed.

function render({ model, el }) {
  const chat = new ChatView(model, el);
  const undress = dress(el, model.get("sheet"));
  const release = keepKeys(chat.root);
  const leave = follow(model, chat.root, () => chat.reset(), (parts) => chat.show(parts));
  return () => {
    leave();
    release();
    undress();
    chat.log.leave();
  };
}

class ChatView {
  constructor(model, el) {
    this.model = model;
    this.log = new Log();
    this.earlier = button("Show earlier", "Show turns before these", () => this.say({ do: "earlier" }));
    this.heard = element("div", { className: "asvc-heard", role: "status" });
    this.writing = new Writing(model, (message) => {
      this.say(message);
      if (message.do === "send") this.log.toEnd(); // who asks looks for what comes
    });
    this.root = element("div", { className: "asvc asvc-card asvc-chat" });
    takeDrops(this.root, (files) => this.writing.attach(files));
    el.append(this.root);
    this.reset();
  }

  say(message) {
    this.model.send(message);
  }

  /** Say what was decided. What was pressed goes away, so the focus goes to where it is wanted next. */
  answered(message) {
    this.say(message);
    this.writing.input.focus();
  }

  reset() {
    this.turns = new Map();
    this.numbers = [];
    this.live = new Live(this.model, (message) => this.answered(message));
    this.log.empty(this.live.box);
    this.writing.reset();
    this.earlier.hidden = true;
    this.root.replaceChildren(this.earlier, this.log.box, this.heard, this.writing.box);
  }

  show(parts) {
    this.log.steady(() => {
      for (const [name, value] of Object.entries(parts)) this.part(name, value);
      this.order(); // a turn that was read, or read anew, has to be put into its place
    });
  }

  part(name, value) {
    const [kind, key] = name.split(/\/(.*)/s);
    if (kind === "turn") this.turn(Number(key), value);
    else if (kind === "order") this.numbers = value ?? [];
    else if (kind === "live" || kind === "ran" || kind === "asked") this.live.part(kind, key, value);
    else if (kind === "earlier") {
      this.earlier.hidden = !value;
      this.earlier.textContent = `Show earlier (${value})`;
    } else if (kind === "heard") this.heard.textContent = value ?? "";
    else if (kind === "closed") this.end(value ?? "");
    else this.writing.part(kind, value);
  }

  end(html) {
    const focused = focusedIn(this.root);
    this.root.replaceChildren(rendered(this.model, html));
    if (!focused) return;
    this.root.tabIndex = -1;
    this.root.focus();
  }

  turn(number, value) {
    this.turns.get(number)?.remove();
    this.turns.delete(number);
    if (value) this.turns.set(number, this.ended(number, value));
  }

  order() {
    // Only what is not in its place is moved: what is moved loses its focus and selection.
    let place = this.log.turns.firstElementChild;
    for (const turn of this.numbers.map((number) => this.turns.get(number)).filter(Boolean)) {
      if (turn === place) place = place.nextElementSibling;
      else this.log.turns.insertBefore(turn, place ?? this.live.box);
    }
  }

  ended(number, { asked, answer, cell, actions }) {
    const shown = rendered(this.model, answer ?? "");
    const said = element("span", { role: "status" });
    const row = element("div", { className: "asvc-row asvc-actions" });
    const turn = element("div", { className: "asvc-turn", role: "group", "aria-label": `Turn ${number}` });
    const act = (name, title, press) => {
      const made = button(name, title, press);
      made.setAttribute("aria-label", `${name}, turn ${number}`);
      row.append(made);
    };
    const tell = (words) => (said.textContent = words);
    if (answer) act("Copy", "Copy the answer", async () => tell(await copy(shown, turn)));
    for (const [key, name, title] of actions) act(name, title, () => this.answered({ do: "press", turn: number, action: key }));
    if (cell) act("As a cell", "Insert it as an %%ask cell below, or copy it", async () => {
      tell(inserted(this.model, this.root, cell) ? "It is in a cell below." : await copy(cell, turn));
    });
    row.append(said);
    turn.append(markup(asked), shown, ...(row.childElementCount > 1 ? [row] : []));
    return turn;
  }
}

/** HTML of an answer, in the host's own look, with a button on each block of code. */
function rendered(model, html) {
  const shown = element("div", { className: "asvc-page jp-RenderedHTMLCommon" }, markup(html));
  scrolling(shown);
  for (const code of shown.querySelectorAll("pre")) codeCopied(code);
  requestAnimationFrame(() => typeset(model, shown));
  return shown;
}

/** Tables that are wider than the chat scroll by themselves; their words and numbers stay whole. */
function scrolling(within) {
  for (const table of within.querySelectorAll("table")) {
    const frame = element("div", { className: "asvc-wide", tabIndex: 0, role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
}

function codeCopied(code) {
  const text = code.textContent.replace(/\n$/, "");
  const made = button("Copy", "Copy this code", async () => (made.textContent = await copy(text, code.parentElement)));
  made.className = "asvc-copy";
  made.setAttribute("aria-label", "Copy this code");
  const frame = element("div", { className: "asvc-code" });
  code.replaceWith(frame);
  frame.append(code, made);
}

/** What scrolls: it follows what is written at its end while the reader is there, and else stays where they are. */
class Log {
  constructor() {
    this.turns = element("div", { className: "asvc-turns" });
    this.scrolled = element("div", { className: "asvc-log", tabIndex: 0, role: "region", "aria-label": "Conversation" }, this.turns);
    this.newest = button("↓ Newest", "Go to the end of the conversation", () => this.toEnd(), "asvc-newest");
    this.box = element("div", { className: "asvc-logs" }, this.scrolled, this.newest);
    this.atEnd = true;
    this.newest.hidden = true;
    this.top = 0;
    this.scrolled.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.scrolled;
      const left = scrollHeight - scrollTop - clientHeight;
      // Only who scrolls up leaves the end: what was added since we scrolled there is below it, too.
      if (left < 30) this.atEnd = true;
      else if (scrollTop < this.top - 1) this.atEnd = false;
      this.top = scrollTop;
      this.newest.hidden = this.atEnd;
    });
    this.watch = new ResizeObserver(() => this.atEnd && this.toEnd());
    this.watch.observe(this.turns);
  }

  leave() {
    this.watch.disconnect();
  }

  empty(last) {
    this.turns.replaceChildren(last);
    this.toEnd();
  }

  toEnd() {
    this.atEnd = true;
    this.newest.hidden = true;
    this.scrolled.scrollTop = this.scrolled.scrollHeight;
    this.top = this.scrolled.scrollTop;
  }

  /** Change what is shown; a reader who is not at the end sees what they saw. */
  steady(change) {
    if (this.atEnd) return change();
    const top = this.scrolled.scrollTop;
    const read = [...this.turns.children].find((turn) => turn.offsetTop + turn.offsetHeight > top);
    const offset = read ? read.offsetTop - top : 0;
    change();
    if (read?.isConnected) this.scrolled.scrollTop = read.offsetTop - offset;
  }
}

/** The turn that goes on: the question, the answer in blocks as they settle, and what waits for the user. */
class Live {
  constructor(model, say) {
    this.model = model;
    this.question = element("div");
    this.page = element("div", { className: "asvc-page jp-RenderedHTMLCommon" });
    this.approvals = new Approvals(say);
    this.blocks = new Map();
    this.box = element("div", { className: "asvc-turn", role: "group", "aria-label": "The turn that goes on" });
    this.box.append(this.question, this.page, this.approvals.box);
    this.box.hidden = true;
  }

  part(kind, key, value) {
    if (kind === "ran" || kind === "asked") this.approvals.part(kind, key, value);
    else if (key === undefined) {
      this.question.replaceChildren(markup(value ?? ""));
      this.box.hidden = value === null;
    } else this.block(Number(key), value);
  }

  block(number, html) {
    const shown = this.blocks.get(number);
    if (html === null) {
      shown?.remove();
      this.blocks.delete(number);
    } else if (shown) {
      shown.replaceChildren(markup(html));
      scrolling(shown);
      typeset(this.model, shown);
    } else {
      const made = element("div", {}, markup(html));
      scrolling(made);
      this.blocks.set(number, made);
      this.page.append(made);
      typeset(this.model, made);
    }
  }
}

export default { render };
