// The chat: turns that ended, the one that goes on, and what is written next. Put behind common.js, live.js and
// writing.js.
// Parts: head, order, turn/N, live, doing, steps, live/N, ran, asked/KEY, near, earlier, heard, closed; those of writing.js.

const LONG = 800; // characters of a question that scrolls by itself
const LOOK_AGAIN = 3_000; // milliseconds between two questions whether others have asked

function render({ model, el }) {
  const chat = new ChatView(model, el);
  const undress = dress(el, model);
  const release = keepKeys(chat.root);
  const leave = follow(model, chat.root, () => chat.reset(), (parts) => chat.show(parts));
  const unwatch = whenLookedAt(() => model.send({ do: "look" }));
  return () => {
    unwatch();
    leave();
    release();
    undress();
    chat.log.leave();
  };
}

/** Act when the window gets attention again: meanwhile somebody may have asked elsewhere. */
function whenLookedAt(act) {
  let last = 0;
  const look = () => {
    if (document.visibilityState === "hidden" || Date.now() - last < LOOK_AGAIN) return;
    last = Date.now();
    act();
  };
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    removeEventListener("focus", look);
    document.removeEventListener("visibilitychange", look);
  };
}

class ChatView {
  constructor(model, el) {
    this.model = model;
    this.title = element("span", { className: "asvc-title", dir: "auto" });
    this.facts = element("span", { className: "asvc-quiet asvc-facts" });
    const close = iconButton("close", "Close the chat and keep its turns as a static output", () => this.say({ do: "close" }), "", "Close");
    this.head = element("div", { className: "asvc-head" }, this.title, this.facts, close);
    this.log = new Log(() => this.say({ do: "earlier" }));
    this.heard = element("div", { className: "asvc-heard", role: "status" });
    this.writing = new Writing(model, (message) => {
      this.say(message);
      if (message.do === "send") this.log.toEnd(); // who asks looks for what comes
    });
    this.root = element("div", { className: "asvc asvc-panel asvc-chat" });
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
    this.live = new Live(this.model, this.root, (message) => this.answered(message));
    this.log.empty(this.live.box);
    this.writing.reset();
    // Only once: what is moved loses the focus, and somebody may be typing while the kernel is not heard yet.
    if (!this.writing.box.parentElement) this.root.replaceChildren(this.head, this.log.box, this.heard, this.writing.box);
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
    else if (["live", "doing", "steps", "ran", "asked", "near"].includes(kind)) this.live.part(kind, key, value);
    else if (kind === "earlier") this.log.offerEarlier(value);
    else if (kind === "head") [this.title.textContent, this.facts.textContent] = value ?? ["", ""];
    else if (kind === "heard") this.heard.textContent = value ?? "";
    else if (kind === "closed") this.end(value ?? "");
    else this.writing.part(kind, value);
  }

  end(html) {
    const focused = focusedIn(this.root);
    this.root.replaceChildren(element("div", { className: "asvc-ended" }, rendered(this.model, this.root, html)));
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
    const turns = this.numbers.map((number) => this.turns.get(number)).filter(Boolean);
    for (const turn of turns) {
      if (turn === place) place = place.nextElementSibling;
      else this.log.turns.insertBefore(turn, place ?? this.live.box);
    }
    this.log.welcome.hidden = turns.length > 0 || !this.live.box.hidden;
    this.writing.last = turns.findLast((turn) => turn.asked)?.asked ?? "";
  }

  ended(number, { asked, files, answer, cell, again }) {
    const turn = element("div", { className: "asvc-turn", role: "group", "aria-label": `Turn ${number}` });
    const said = element("span", { className: "asvc-quiet", role: "status" });
    const row = element("div", { className: "asvc-actions" });
    const tell = (words) => (said.textContent = words);
    const act = (shown, name, title, press) => row.append(iconButton(shown, title, press, "", `${name}, turn ${number}`));
    turn.asked = asked;
    turn.append(question(asked, files));
    if (!answer) return turn;
    const shown = rendered(this.model, this.root, answer);
    const who = agent();
    // In a cell the status is above the answer, here it is behind the agent's name. It changes no more, so it is not told.
    const status = shown.querySelector("[role=status]");
    status?.removeAttribute("role");
    if (status) who.append(status);
    const steps = shown.querySelector(".asvc-steps")?.closest("details");
    if (steps) shown.prepend(steps);
    for (const asked of shown.querySelectorAll(".asvc-ask")) {
      const text = asked.textContent;
      const chosen = button("", "Copy this question into the message field", () => this.writing.suggest(text), "asvc-chip asvc-offered");
      chosen.append(element("span", {}, ...asked.childNodes));
      asked.replaceWith(chosen);
    }
    act("copy", "Copy", "Copy the answer", async () => tell(await copy(shown, turn)));
    if (again) act("again", "Ask again", "Ask the same question as a new turn", () => this.answered({ do: "again", turn: number }));
    if (cell) act("cell", "As a cell", "Insert it as an %%ask cell below, or copy it", async () => {
      tell(inserted(this.model, this.root, cell) ? "Inserted as a cell below." : await copy(cell, turn));
    });
    row.append(said);
    turn.append(who, shown, row);
    return turn;
  }
}

/** What the user has asked, with its files. */
function question(asked, files) {
  const made = element("div", { className: "asvc-mine" });
  if (asked) {
    const bubble = element("div", { className: "asvc-me", dir: "auto" }, asked);
    if (asked.length > LONG) Object.assign(bubble, { tabIndex: 0, role: "group", ariaLabel: "Question" }); // it scrolls
    made.append(bubble);
  }
  if (files?.length) made.append(element("div", { className: "asvc-chips", role: "group", "aria-label": "Attached" }, ...files.map((name) => chip(name))));
  return made;
}

/** The line above an answer: who writes it. */
function agent() {
  const avatar = element("span", { className: "asvc-avatar" }, icon("agent"));
  return element("div", { className: "asvc-who" }, avatar, element("span", { className: "asvc-name", textContent: "Agent" }));
}

/** What scrolls: it follows what is written at its end while the reader is there, and else stays where they are. */
class Log {
  constructor(earlier) {
    this.turns = element("div", { className: "asvc-turns" });
    this.earlier = button("", "Show earlier turns", earlier, "asvc-chip asvc-earlier");
    this.welcome = element("div", { className: "asvc-welcome" }, element("span", { className: "asvc-avatar" }, icon("agent")));
    this.welcome.append(element("div", { className: "asvc-quiet", textContent: "Ask a question, or drop files here." }));
    this.scrolled = element("div", { className: "asvc-log", tabIndex: 0, role: "region", "aria-label": "Conversation" });
    this.scrolled.append(this.earlier, this.welcome, this.turns);
    this.newest = iconButton("down", "Go to the end of the conversation", () => this.toEnd(), "asvc-newest", "Newest");
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
    this.offerEarlier(0);
    this.toEnd();
  }

  offerEarlier(count) {
    this.earlier.hidden = !count;
    this.earlier.textContent = `Show earlier (${count})`;
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

/** The current turn: the question, the answer in blocks as they settle, and what waits for the user. */
class Live {
  constructor(model, root, say) {
    this.model = model;
    this.root = root;
    this.asked = element("div");
    this.doing = element("span");
    this.steps = element("div");
    this.page = element("div", { className: "asvc-page jp-RenderedHTMLCommon" });
    this.approvals = new Approvals(say);
    this.limit = new LimitCard(say);
    this.caret = element("span", { className: "asvc-caret" });
    this.blocks = new Map();
    const who = agent();
    who.append(this.doing);
    this.box = element("div", { className: "asvc-turn", role: "group", "aria-label": "The current turn" });
    this.box.append(this.asked, who, this.steps, this.page, this.approvals.box, this.limit.box);
    this.box.hidden = true;
  }

  part(kind, key, value) {
    if (kind === "ran" || kind === "asked") this.approvals.part(kind, key, value);
    else if (kind === "near") this.limit.part(value);
    else if (kind === "doing") this.doing.textContent = value ? value.join(" · ") : "";
    else if (kind === "steps") this.step(value);
    else if (key !== undefined) this.block(Number(key), value);
    else {
      this.asked.replaceChildren(...(value ? [question(value.asked, value.files)] : []));
      this.box.hidden = !value;
      this.point();
    }
  }

  step(html) {
    const open = this.steps.querySelector("details")?.open ?? false;
    this.steps.replaceChildren(markup(html ?? ""));
    drawSteps(this.steps);
    for (const each of this.steps.querySelectorAll("details")) each.open = open;
  }

  block(number, html) {
    let shown = this.blocks.get(number);
    if (html === null) {
      shown?.remove();
      this.blocks.delete(number);
    } else {
      if (!shown) {
        shown = element("div");
        this.blocks.set(number, shown);
        this.page.append(shown);
      }
      shown.replaceChildren(markup(html));
      furnish(this.model, this.root, shown);
    }
    this.point();
  }

  /** Put the caret where the next word comes. */
  point() {
    let place = this.page;
    while (/^(DIV|P|UL|OL|LI|BLOCKQUOTE|H\d)$/.test(place.lastElementChild?.tagName) && !place.lastElementChild.matches(".asvc-code, .asvc-tablebox")) {
      place = place.lastElementChild;
    }
    place.append(this.caret);
  }
}

export default { render };
