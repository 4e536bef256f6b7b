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
    this.fields = element("div", {
      onchange: ({ target }) => {
        target.closest(".asvc-input, .asvc-group").touched = true;
        this.changed();
      },
    });
    this.files = element("datalist", { id: unique() });
    this.press = button("Run", "Check the input and call the tool", () => this.send(), "asvc-primary");
    // The field keeps the focus until the click: its error would move the button away from under the mouse.
    this.press.addEventListener("mousedown", (event) => event.preventDefault());
    this.facts = element("span", { className: "asvc-quiet" });
    const cell = iconButton("cell", "As a cell: insert an equivalent cell below, or copy it", () => this.askCell(), "", "As a cell");
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
    this.read(); // so that each box knows its path
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
    const said = inserted(this.model, this.root, value.source) ? "Inserted as a cell below." : await copy(value.source, this.root);
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

  /** Show each error at the innermost box of its path: all of them after the button, before it of what was touched. */
  say() {
    const boxes = [...this.fields.querySelectorAll(".asvc-input, .asvc-group")];
    const said = new Map();
    for (const [path, words] of this.errors) {
      const box = boxes.findLast((each) => each.path.every((key, at) => key === path[at]));
      const rest = box ? path.slice(box.path.length) : [];
      if (!said.has(box)) said.set(box, rest.length ? `${rest.join(".")}: ${words}` : words);
    }
    for (const box of boxes) box.say((this.everything || box.touched ? said.get(box) : "") ?? "", this.everything);
  }

  seek() {
    this.root.querySelector("[aria-invalid=true]")?.focus();
  }
}

/** The input of one field of the plan: its `box`, `read(path, unreadable)`, which gives JSON text or nothing where the field
 * is left out, and `call(title)`. The box keeps the path, and shows with `say(said, everything)` what is wrong. */
function part(plan, form) {
  const made = (PARTS[plan.kind] ?? entry)(plan, form);
  const read = (path, unreadable) => {
    made.box.path = path;
    return made.read(path, unreadable) ?? plan.empty ?? undefined;
  };
  return { ...made, read };
}

const PARTS = { object: group, list: items, rows: items, choice, checks, switch: toggle, fixed };

function unique() {
  return `asvc-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
}

/** Text in which backticks mark code. */
function spoken(text) {
  return text.split("`").map((piece, at) => (at % 2 ? element("code", { textContent: piece }) : piece));
}

/** The box of a field: its name, its inputs, and below them what is wrong, or the rule to keep to, and what it is for. */
function framed(plan, box, heading, inner, controls) {
  const message = element("div", { className: "asvc-wrong", hidden: true });
  const rule = element("span", { textContent: plan.rule });
  const about = element("div", { className: "asvc-quiet" }, ...spoken(plan.about), " ", rule);
  const notes = element("div", { className: "asvc-notes", id: unique() }, message, about);
  const star = element("span", { className: "asvc-star", textContent: " *", title: "Required", "aria-hidden": "true" });
  const call = (title) => {
    heading.replaceChildren(plan.kind === "json" ? `${title} (JSON)` : title, ...(plan.required ? [star] : []));
    heading.hidden = !title;
  };
  call(plan.title);
  box.append(heading, inner, notes);
  box.notes = notes.id;
  box.say = (said, everything) => {
    message.toggleAttribute("role", false);
    if (!everything) message.setAttribute("role", "alert"); // of all at once a screen reader hears the status line alone
    if (message.textContent !== said) message.textContent = said;
    message.hidden = !said;
    rule.hidden = !!said;
    for (const control of controls()) control.setAttribute("aria-invalid", String(!!said));
  };
  return { box, call };
}

/** A field of one control below its name. */
function single(plan, control, read) {
  control.id = unique();
  const box = element("div", { className: `asvc-input asvc-${plan.kind}` });
  const made = framed(plan, box, element("label", { htmlFor: control.id }), control, () => [control]);
  control.setAttribute("aria-describedby", box.notes);
  if (plan.required) control.setAttribute("aria-required", "true");
  return { ...made, read };
}

/** Several inputs below one name; an empty name has no frame. */
function several(plan, inner, look = "", controls = () => []) {
  const box = element("fieldset", { className: `asvc-group ${plan.title ? look : "asvc-bare"}` });
  const made = framed(plan, box, element("legend"), inner, controls);
  box.setAttribute("aria-describedby", box.notes);
  return made;
}

/** A text, a number, the path of a file, or JSON. */
function entry(plan, form) {
  const [json, number] = [plan.kind === "json", plan.kind === "number"];
  const long = plan.kind === "lines" || json;
  const control = element(long ? "textarea" : "input", { autocomplete: "off", dir: "auto", placeholder: plan.example });
  if (long) control.rows = 2;
  else control.type = number ? "number" : "text";
  if (number) control.step = "any";
  if (plan.kind === "file") control.setAttribute("list", form.files.id);
  control.value = plan.text;
  return single(plan, control, (path, unreadable) => {
    const text = json ? control.value.trim() : control.value;
    try {
      if (json && text) JSON.parse(text);
    } catch {
      unreadable.push([path, "This is not valid JSON."]);
      return "null";
    }
    if (control.validity.badInput) unreadable.push([path, "This is not a number."]);
    return text ? (json || number ? text : JSON.stringify(text)) : undefined;
  });
}

function choice(plan) {
  const chosen = plan.options[plan.on[0]]?.[1] ?? "";
  const blank = plan.required ? "Choose…" : plan.empty ? "(none)" : "(not set)";
  const options = [...(chosen && !plan.empty ? [] : [[blank, ""]]), ...plan.options];
  const control = element("select", {}, ...options.map(([textContent, value]) => element("option", { textContent, value })));
  control.value = chosen;
  return single(plan, control, () => control.value || undefined);
}

/** A checkbox that looks like a switch, before its name. */
function toggle(plan) {
  const control = element("input", { type: "checkbox", role: "switch", checked: plan.text === "true" });
  return single({ ...plan, required: false }, control, () => String(control.checked));
}

function fixed(plan) {
  return { box: element("div", { hidden: true }), read: () => plan.text, call: () => {} };
}

function group(plan, form) {
  const parts = plan.fields.map((each) => [each.name, part(each, form)]);
  const made = several(plan, element("div", {}, ...parts.map(([, { box }]) => box)));
  const read = (path, unreadable) => {
    const texts = parts.map(([name, { read: inner }]) => [name, inner([...path, name], unreadable)]);
    const given = texts.filter(([, text]) => text !== undefined);
    return given.length ? `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}` : undefined;
  };
  return { ...made, read };
}

function checks(plan) {
  const boxes = plan.options.map(([, value], at) => element("input", { type: "checkbox", value, checked: plan.on.includes(at) }));
  const chips = boxes.map((control, at) => element("label", { className: "asvc-chip" }, control, plan.options[at][0]));
  const made = several(plan, element("div", { className: "asvc-chips" }, ...chips), "asvc-plain", () => boxes);
  const read = () => {
    const chosen = boxes.filter((control) => control.checked).map((control) => control.value);
    return chosen.length ? `[${chosen.join(",")}]` : undefined;
  };
  return { ...made, read };
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
  const made = several(plan, element("div", {}, body, add), "asvc-plain", () => (rows.length ? [] : [add]));

  const append = (name, item) => {
    const row = { part: part(item, form), name: null };
    row.remove = iconButton("close", "", () => drop(row));
    if (pairs) row.name = element("input", { type: "text", value: name, placeholder: "Name" });
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
    if (rows.length) add.removeAttribute("aria-invalid");
  };
  const read = (path, unreadable) => {
    const texts = [];
    const names = new Set();
    for (const row of rows) {
      const key = pairs ? row.name.value : texts.length;
      const text = row.part.read([...path, key], unreadable);
      if (text === undefined && !(pairs && key)) continue;
      if (pairs && (!key || names.has(key))) unreadable.push([path, "Each row needs a different name."]);
      names.add(key);
      texts.push(pairs ? `${JSON.stringify(key)}:${text ?? '""'}` : text);
    }
    if (!texts.length) return undefined;
    return pairs ? `{${texts.join(",")}}` : `[${texts.join(",")}]`;
  };
  for (const [name, item] of plan.items) append(name, item);
  if (!rows.length && plan.required) append("", plan.item);
  number();
  return { ...made, read };
}

export default { render };
