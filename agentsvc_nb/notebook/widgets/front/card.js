// What goes on below a cell that has ended: the card of a background run, the bars of background jobs, calls that wait for
// approval, and a change to accept. Put behind common.js and live.js.
// Parts: run, plan, text, ran, asked/KEY, near, order, job/ID, more, choice, closed.

function render({ model, el }) {
  const card = new CardView(model);
  el.append(card.root);
  const undress = dress(el, model);
  const release = keepKeys(card.root);
  const leave = follow(model, card.root, () => card.reset(), (parts) => card.show(parts));
  return () => {
    leave();
    release();
    undress();
  };
}

class CardView {
  constructor(model) {
    this.model = model;
    this.root = element("div", { className: "asvc asvc-live" });
    this.reset();
  }

  reset() {
    const say = (message) => this.model.send(message);
    this.run = new Work("run", () => say({ do: "cancel" }));
    this.run.box.hidden = true;
    this.text = element("div", { className: "asvc-tail", tabIndex: 0, role: "group" });
    this.text.setAttribute("aria-label", "The answer so far");
    this.text.hidden = true;
    this.plan = element("div", { className: "asvc-page" });
    this.run.box.append(this.plan, this.text);
    this.approvals = new Approvals(say);
    this.limit = new LimitCard(say);
    this.jobs = new Map();
    this.bars = element("div", { className: "asvc-bars" });
    this.more = element("div", { className: "asvc-quiet" });
    this.choice = element("div");
    this.root.replaceChildren(this.run.box, this.approvals.box, this.limit.box, this.bars, this.more, this.choice);
  }

  show(parts) {
    for (const [name, value] of Object.entries(parts)) this.part(name, value);
  }

  part(name, value) {
    const [kind, key] = name.split(/\/(.*)/s);
    if (kind === "ran" || kind === "asked") this.approvals.part(kind, key, value);
    else if (kind === "near") this.limit.part(value);
    else if (kind === "run" && value) {
      this.run.box.hidden = false;
      this.run.show(value);
    } else if (kind === "plan") this.plan.replaceChildren(markup(value ?? ""));
    else if (kind === "text") this.write(value);
    else if (kind === "job" && value) this.job(key, value);
    else if (kind === "more") this.more.textContent = value ?? "";
    else if (kind === "choice") this.choose(value);
    else if (kind === "closed" && value !== null) this.end(value);
  }

  write(html) {
    this.text.hidden = !html;
    // The outer element is laid out from its end, so that the newest lines are in view.
    this.text.replaceChildren(rendered(this.model, this.root, html ?? ""));
  }

  job(id, value) {
    let shown = this.jobs.get(id);
    if (!shown) {
      shown = new Work("job", () => this.model.send({ do: "cancel", job: id }));
      this.jobs.set(id, shown);
      this.bars.append(shown.box);
    }
    if (value.end === undefined) shown.show(value);
    else shown.end(rendered(this.model, this.root, value.end));
  }

  /** A change to accept or to leave. */
  choose(value) {
    if (!value) return this.choice.replaceChildren();
    const { shown, buttons, busy, wrong } = value;
    const made = buttons.map(([key, name, title, look]) => {
      const each = button(name, title, () => this.model.send({ do: "choose", key }), look);
      offered(each, !busy);
      return each;
    });
    const told = element("div", { className: "asvc-wrong", role: "alert" }, markup(wrong ?? ""));
    const row = element("div", { className: "asvc-row" }, ...made);
    this.choice.replaceChildren(element("div", { className: "asvc-card asvc-waits" }, markup(shown), row, told));
  }

  end(html) {
    const focused = focusedIn(this.root);
    this.root.replaceChildren(rendered(this.model, this.root, html));
    if (focused) focusOn(this.root);
  }
}

/** One thing that goes on: its icon, name and state, how far it is, and a button that cancels it. */
class Work {
  constructor(what, cancel) {
    this.sign = element("span", { className: "asvc-sign" });
    this.name = element("b", { className: "asvc-title" });
    this.state = element("span", { className: "asvc-quiet", role: "status" });
    this.amounts = element("span", { className: "asvc-quiet asvc-amounts" });
    this.button = button("Cancel", `Stop this ${what} on the service`, () => {
      this.cancelling(true); // before the kernel has heard it
      cancel();
    });
    this.bar = element("div", { className: "asvc-bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, element("div"));
    const head = element("div", { className: "asvc-workhead" }, this.sign, this.name, this.state, this.amounts, this.button);
    this.box = element("div", { className: "asvc-panel asvc-work", role: "group" }, head, this.bar);
  }

  show({ icon: sign, name, state, amounts, percent, cancelling }) {
    if (this.name.textContent !== name) {
      this.sign.replaceChildren(icon(sign));
      this.name.textContent = name;
      this.box.setAttribute("aria-label", name);
      this.bar.setAttribute("aria-label", name);
    }
    const words = state.replace(/^[●○◌] /, ""); // the icon is sign enough
    if (this.state.textContent !== words) this.state.textContent = words; // what is set anew is announced anew
    this.amounts.textContent = amounts;
    this.cancelling(cancelling);
    this.bar.hidden = percent === undefined;
    this.bar.classList.toggle("asvc-unknown", percent === null);
    if (percent === null) this.bar.removeAttribute("aria-valuenow");
    else this.bar.setAttribute("aria-valuenow", percent ?? 0);
    this.bar.firstChild.style.width = percent === null ? "" : `${percent ?? 0}%`;
  }

  cancelling(yes) {
    this.button.textContent = yes ? "Cancelling" : "Cancel";
    offered(this.button, !yes);
  }

  end(result) {
    const focused = focusedIn(this.box);
    this.box.className = "asvc-ended";
    this.box.replaceChildren(result);
    if (focused) focusOn(this.box);
  }
}

/** Have the focus where what had it has gone. */
function focusOn(place) {
  place.tabIndex = -1;
  place.focus();
}

export default { render };
