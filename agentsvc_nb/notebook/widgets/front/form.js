// A tool's form: the fields of its plan (widgets/form.py), the button that sends them, a job's bar and the answer. Put
// behind common.js. Parts: head, files, plan, errors, status, busy, job, answer, cell.

function render({ model, el }) {
  const form = new FormView(model, el);
  const undress = dress(el, model);
  const release = keepKeys(form.root);
  const leave = follow(model, form.root, () => form.reset(), (parts) => form.show(parts));
  return () => {
    leave();
    release();
    undress();
  };
}

class FormView {
  constructor(model, el) {
    this.model = model;
    this.fields = element("div");
    this.files = element("datalist", { id: unique() });
    this.press = button("Run", "Check the input and call the tool", () => this.send(), "asvc-primary");
    // The field keeps the focus until the click: its error would move the button away from under the mouse.
    this.press.addEventListener("mousedown", (event) => event.preventDefault());
    this.facts = element("span", { className: "asvc-quiet" });
    const cell = iconButton("cell", "As a cell: insert the cell that does the same below, or copy it", () => this.askCell(), "", "As a cell");
    this.status = element("div", { role: "status" });
    this.bar = element("div");
    this.doing = element("span", { className: "asvc-quiet", role: "status" });
    const cancel = button("Cancel", "Stop the job on the service", () => model.send({ do: "cancel" }));
    this.track = element("div", { className: "asvc-bar", role: "progressbar", "aria-label": "Progress of the job" }, this.bar);
    this.job = element("div", { className: "asvc-row" }, this.track, this.doing, cancel);
    this.answer = element("div", { className: "asvc-page jp-RenderedHTMLCommon" });
    const row = element("div", { className: "asvc-row" }, this.press, this.facts, cell);
    this.root = element("div", { className: "asvc asvc-panel asvc-form", role: "group" });
    this.root.append(this.files, this.fields, row, this.status, this.job, this.answer);
    el.append(this.root);
    this.reset();
  }

  reset() {
    this.errors = [];
    this.everything = this.sought = false;
    this.show({ head: null, status: null, busy: null, job: null, answer: null });
  }

  show(parts) {
    for (const [name, value] of Object.entries(parts)) this[`${name}Part`](value);
  }

  headPart(value) {
    this.name = value?.press ?? "Run";
    this.press.textContent = this.name;
    this.facts.textContent = value?.facts ?? "";
    this.root.setAttribute("aria-label", value?.title ?? "Form");
  }

  filesPart(paths) {
    this.files.replaceChildren(...(paths ?? []).map((path) => element("option", { value: path })));
  }

  planPart(plan) {
    this.input = part(plan, this);
    this.fields.replaceChildren(this.input.box);
  }

  errorsPart(errors) {
    this.errors = errors ?? [];
    this.say();
    if (this.sought) this.seek();
  }

  statusPart(value) {
    this.status.className = value?.wrong ? "asvc-wrong" : "asvc-quiet";
    this.status.textContent = value?.text ?? "";
  }

  busyPart(value) {
    if (value) this.everything = this.sought = false;
    offered(this.press, !value);
    this.press.textContent = value ? "Running…" : this.name;
  }

  jobPart(value) {
    this.job.hidden = !value;
    this.doing.textContent = value?.text ?? "";
    this.bar.style.width = (value?.done ?? "").replace(" ", "");
    this.bar.classList.toggle("asvc-unknown", !value?.done);
    if (value?.done) this.track.setAttribute("aria-valuenow", parseInt(value.done, 10));
    else this.track.removeAttribute("aria-valuenow");
  }

  answerPart(html) {
    this.answer.hidden = !html;
    this.answer.replaceChildren(markup(html ?? ""));
    typeset(this.model, this.answer);
  }

  async cellPart(value) {
    if (value?.asked !== this.asked) return; // asked for by another view, or before the page was loaded again
    const said = inserted(this.model, this.root, value.source) ? "It is in a cell below." : await copy(value.source, this.root);
    this.statusPart({ text: said });
  }

  askCell() {
    this.asked = unique();
    this.model.send({ do: "cell", asked: this.asked });
  }

  /** The input as one JSON text, in which numbers have all digits that were typed; and what cannot be read, by field. */
  read() {
    const unreadable = [];
    return { text: this.input.read([], unreadable) ?? "{}", unreadable };
  }

  changed() {
    this.sought = false;
    this.model.send({ do: "change", ...this.read() });
    this.say();
  }

  send() {
    this.everything = true;
    this.say();
    this.seek();
    this.sought = true;
    this.model.send({ do: "send", ...this.read() });
  }

  say() {
    this.input?.say(this.errors, this.everything);
  }

  seek() {
    this.root.querySelector("[aria-invalid=true]")?.focus();
  }
}

/** The input of one field of the plan: its `box`, `read(path, unreadable)`, which gives JSON text or nothing where the field
 * is left out, `say(errors, everything)` with errors by path, and `call(title)`. */
function part(plan, form) {
  return (PARTS[plan.kind] ?? entry)(plan, form);
}

const PARTS = { object: group, list: items, rows: items, choice, checks, switch: toggle, fixed };
const NO_NUMBER = "This is not a number.";
const NAMELESS = "Each row needs a name of its own.";

function unique() {
  return `asvc-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
}

/** Text in which backticks mark code. */
function spoken(text) {
  return text.split("`").map((piece, at) => (at % 2 ? element("code", { textContent: piece }) : piece));
}

/** What is below an input: what is wrong with it, or the rule that it must keep to, and what it is for. */
function notes(plan) {
  const message = element("div", { className: "asvc-wrong", hidden: true });
  const rule = element("span", { textContent: plan.rule });
  const about = element("div", { className: "asvc-quiet" }, ...spoken(plan.about), " ", rule);
  const box = element("div", { className: "asvc-notes", id: unique() }, message, about);
  const say = (said, everything) => {
    message.toggleAttribute("role", false);
    if (!everything) message.setAttribute("role", "alert"); // of all at once a screen reader hears the status line alone
    if (message.textContent !== said) message.textContent = said;
    message.hidden = !said;
    rule.hidden = !!said;
  };
  return { box, say };
}

function firstOf(errors) {
  return errors.map(([path, said]) => (path.length ? `${path.join(".")}: ${said}` : said))[0] ?? "";
}

function named(plan, title) {
  const star = element("span", { className: "asvc-star", textContent: " *", title: "Required", "aria-hidden": "true" });
  return [title, ...(plan.required ? [star] : [])];
}

/** A field of one control below its name. */
function single(plan, form, control, read, fault = () => "") {
  const below = notes(plan);
  const label = element("label", { htmlFor: unique() });
  let touched = false;
  control.id = label.htmlFor;
  control.setAttribute("aria-describedby", below.box.id);
  if (plan.required) control.setAttribute("aria-required", "true");
  control.addEventListener("change", () => {
    touched = true;
    form.changed();
  });
  const say = (errors, everything) => {
    const said = everything || touched ? fault() || firstOf(errors) : "";
    control.setAttribute("aria-invalid", String(!!said));
    below.say(said, everything);
  };
  const call = (title) => label.replaceChildren(...named(plan, title));
  call(plan.title);
  const box = element("div", { className: `asvc-input asvc-${plan.kind}` }, label, control, below.box);
  return { box, read, say, call };
}

/** A text, a number, the path of a file, or JSON. A pattern is only checked in Python: one of strangers could take for ever. */
function entry(plan, form) {
  const long = plan.kind === "lines" || plan.kind === "json";
  const control = element(long ? "textarea" : "input", { autocomplete: "off", dir: "auto", placeholder: plan.example ?? "" });
  if (long) control.rows = 2;
  else control.type = plan.kind === "number" ? "number" : "text";
  if (plan.kind === "number") Object.assign(control, { step: "any", min: plan.least ?? "", max: plan.most ?? "" });
  if (plan.kind === "file") control.setAttribute("list", form.files.id);
  control.value = plan.text;
  const fault = () => {
    const [given, unit] = plan.kind === "number" ? [control.valueAsNumber, ""] : [control.value.length, " characters"];
    if (control.validity.badInput) return NO_NUMBER;
    if (!control.value || plan.kind === "json") return "";
    if (given < (plan.least ?? given)) return `At least ${plan.least}${unit}.`;
    return given > (plan.most ?? given) ? `At most ${plan.most}${unit}.` : "";
  };
  const read = (path, unreadable) => {
    const text = plan.kind === "json" ? control.value.trim() : control.value;
    try {
      if (control.validity.badInput) throw new Error(NO_NUMBER);
      if (!text) return plan.empty ?? undefined;
      if (plan.kind === "json") JSON.parse(text);
    } catch (error) {
      unreadable.push([path, error instanceof SyntaxError ? "This is not JSON." : error.message]);
      return "null";
    }
    return plan.kind === "json" || plan.kind === "number" ? text : JSON.stringify(text);
  };
  const made = single(plan, form, control, read, fault);
  if (plan.kind !== "json") return made;
  const call = (title) => made.call(`${title} (JSON)`);
  call(plan.title);
  return { ...made, call };
}

function choice(plan, form) {
  const chosen = plan.options[plan.on[0]]?.[1] ?? "";
  const blank = plan.required ? "Choose…" : plan.empty ? "(none)" : "(left out)";
  const options = [...(chosen && !plan.empty ? [] : [[blank, ""]]), ...plan.options];
  const control = element("select", {}, ...options.map(([textContent, value]) => element("option", { textContent, value })));
  control.value = chosen;
  return single(plan, form, control, () => control.value || (plan.empty ?? undefined));
}

/** A checkbox that looks like a switch, before its name. */
function toggle(plan, form) {
  const control = element("input", { type: "checkbox", role: "switch", checked: plan.text === "true" });
  return single({ ...plan, required: false }, form, control, () => String(control.checked));
}

function fixed(plan) {
  return { box: "", read: () => plan.text, say: () => {}, call: () => {} };
}

/** Several inputs with one name above them; an empty title has no frame. */
function framed(plan, inner) {
  const below = notes(plan);
  const legend = element("legend");
  const box = element("fieldset", { className: "asvc-group", "aria-describedby": below.box.id }, legend, inner, below.box);
  const call = (name) => {
    legend.replaceChildren(...named(plan, name));
    legend.hidden = !name;
    box.classList.toggle("asvc-bare", !name);
  };
  call(plan.title);
  return { box, below, call };
}

function group(plan, form) {
  const parts = plan.fields.map((each) => [each.name, part(each, form)]);
  const body = element("div", {}, ...parts.map(([, { box }]) => box));
  const { box, below, call } = framed(plan, body);
  const read = (path, unreadable) => {
    const texts = parts.map(([name, { read: inner }]) => [name, inner([...path, name], unreadable)]);
    const given = texts.filter(([, text]) => text !== undefined);
    if (!given.length) return plan.empty ?? undefined;
    return `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  };
  const say = (errors, everything) => {
    for (const [name, { say: inner }] of parts) inner(within(errors, name), everything);
    const names = new Set(parts.map(([name]) => name));
    below.say(everything ? firstOf(errors.filter(([path]) => !names.has(path[0]))) : "", everything);
  };
  return { box, read, say, call };
}

/** The errors of one part of a value, with the rest of their paths. */
function within(errors, key) {
  return errors.filter(([path]) => path.length && path[0] === key).map(([path, said]) => [path.slice(1), said]);
}

function checks(plan, form) {
  const boxes = plan.options.map(([name, value], at) => {
    const control = element("input", { type: "checkbox", value, checked: plan.on.includes(at) });
    return [control, element("label", { className: "asvc-chip" }, control, name)];
  });
  const body = element("div", { className: "asvc-chips" }, ...boxes.map(([, label]) => label));
  const { box, below, call } = framed(plan, body);
  let touched = false;
  body.addEventListener("change", () => {
    touched = true;
    form.changed();
  });
  box.classList.add("asvc-plain");
  const read = () => {
    const chosen = boxes.filter(([control]) => control.checked).map(([control]) => control.value);
    return chosen.length ? `[${chosen.join(",")}]` : (plan.empty ?? undefined);
  };
  const say = (errors, everything) => {
    const said = everything || touched ? firstOf(errors) : "";
    for (const [control] of boxes) control.setAttribute("aria-invalid", String(!!said));
    below.say(said, everything);
  };
  return { box, read, say, call };
}

/** A list, or with `rows` names and values. An item that is left empty is left out. */
function items(plan, form) {
  const pairs = plan.kind === "rows";
  const rows = [];
  const body = element("div");
  const add = button("Add", `Add to ${plan.title}`, () => {
    append("", plan.item);
    form.changed();
    rows.at(-1).box.querySelector("input, textarea, select, button").focus();
  }, "asvc-chip");
  const { box, below, call } = framed(plan, element("div", {}, body, add));
  box.classList.add("asvc-plain");

  const append = (name, item) => {
    const row = { part: part(item, form), name: null };
    row.remove = iconButton("close", "", () => drop(row));
    if (pairs) row.name = element("input", { type: "text", value: name, placeholder: "Name", onchange: () => form.changed() });
    row.box = element("div", { className: "asvc-item" }, ...(pairs ? [row.name] : []), row.part.box, row.remove);
    rows.push(row);
    body.append(row.box);
    number();
  };
  const drop = (row) => {
    const at = rows.indexOf(row);
    rows.splice(at, 1);
    row.box.remove();
    number();
    (rows[Math.min(at, rows.length - 1)]?.remove ?? add).focus();
    form.changed();
  };
  const number = () => {
    for (const [at, row] of rows.entries()) {
      row.part.call(`${pairs ? "Value" : plan.title} ${at + 1}`);
      row.name?.setAttribute("aria-label", `Name ${at + 1}`);
      row.remove.setAttribute("aria-label", `Remove ${plan.title} ${at + 1}`);
      row.remove.title = `Remove ${plan.title} ${at + 1}`;
    }
    offered(add, rows.length < plan.most);
  };
  const read = (path, unreadable) => {
    const texts = [];
    const names = new Set();
    for (const row of rows) {
      row.key = pairs ? row.name.value : texts.length;
      const text = row.part.read([...path, row.key], unreadable);
      if (text === undefined && !(pairs && row.key)) continue;
      if (pairs && (!row.key || names.has(row.key))) unreadable.push([path, NAMELESS]);
      names.add(row.key);
      texts.push(pairs ? `${JSON.stringify(row.key)}:${text ?? '""'}` : text);
    }
    if (!texts.length) return plan.empty ?? undefined;
    return pairs ? `{${texts.join(",")}}` : `[${texts.join(",")}]`;
  };
  const say = (errors, everything) => {
    for (const row of rows) row.part.say(within(errors, row.key), everything);
    const keys = new Set(rows.map((row) => row.key));
    const own = firstOf(errors.filter(([path]) => !path.length || !keys.has(path[0])));
    below.say(everything || own === NAMELESS ? own : "", everything);
    add.setAttribute("aria-invalid", String(everything && !!own && !rows.length));
  };
  for (const [name, item] of plan.items) append(name, item);
  if (!rows.length && plan.required) append("", plan.item);
  number();
  return { box, read, say, call };
}

export default { render };
