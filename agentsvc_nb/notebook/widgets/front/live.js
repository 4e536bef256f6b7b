// What a chat and the card of a background run share: answers, code that ran in the kernel, and calls that wait for approval.
// Put behind common.js. Parts: ran, asked/KEY, near.

/** Keep the keyboard's place in a box whose pressed button goes: else it would begin anew at the top of the page. */
function keepFocus(box) {
  box.tabIndex = -1;
  box.focus({ preventScroll: true });
}

/** The calls of a run that wait for the user, and above them the code that ran already. */
class Approvals {
  constructor(say) {
    this.say = say;
    this.ran = element("div", { className: "asvc-page" });
    this.cards = element("div");
    this.asked = new Map();
    this.box = element("div", {}, this.ran, this.cards);
  }

  part(kind, key, value) {
    if (kind === "ran") return this.ran.replaceChildren(markup(value ?? ""));
    const shown = this.asked.get(key);
    if (value && shown) shown.tell(value.failed); // the card stays: a reason may be half typed
    else if (value) {
      const made = approval(key, value, this.say);
      this.asked.set(key, made);
      this.cards.append(made.card);
    } else {
      shown?.card.remove();
      this.asked.delete(key);
    }
  }
}

/** The card of a call that waits: Approve, Edit if it can be changed, and Refuse with a reason. */
function approval(key, { shown, edit, scopes, tool, yes, no, failed }, say) {
  const reason = element("input", { type: "text", placeholder: "Reason (optional)", maxLength: 2000 });
  reason.setAttribute("aria-label", "Reason for refusing");
  const before = edit?.text ?? "";
  const edited = element("textarea", { value: before, rows: Math.min(20, before.split("\n").length + 1) });
  const text = element("label", { className: "asvc-area asvc-codearea" }, edit?.label ?? "", edited);
  const scope = element("select", {}, ...(scopes ?? []).map(([value, words]) => element("option", { value }, words)));
  const further = element("label", { className: "asvc-quiet" }, "Approve ", scope);
  const wrong = element("div", { className: "asvc-wrong", role: "alert" });
  text.hidden = true;
  further.hidden = !scopes?.length;
  const decide = (approved) => {
    keepFocus(card.parentElement);
    for (const each of buttons) each.disabled = true;
    const changed = approved && !text.hidden ? edited.value : null;
    say({ do: "decide", key, approved, reason: reason.value, edited: changed, scope: scope.value });
  };
  const approve = button(...yes, () => decide(true), "asvc-primary");
  const refuse = button("Refuse", no, () => decide(false));
  const change = button("Edit", edit?.tip ?? "", () => {
    text.hidden = false;
    change.disabled = true;
    approve.textContent = edit.yes;
    edited.focus();
  });
  const buttons = edit ? [approve, change, refuse] : [approve, refuse];
  const row = element("div", { className: "asvc-row" }, ...buttons, reason);
  const card = element("div", { className: "asvc-card asvc-waits", role: "group", "aria-label": `${tool} waits for your approval` });
  const asked = element("div", { className: "asvc-page" }, markup(shown));
  for (const pre of asked.querySelectorAll("pre")) withCopy(pre);
  asked.querySelector("strong")?.prepend(icon("clock"));
  card.append(asked, text, further, row, wrong);
  const tell = (words) => {
    wrong.replaceChildren(markup(words));
    for (const each of buttons) each.disabled = !words && each.disabled;
  };
  tell(failed);
  return { card, tell };
}

/** The card of a run that is near its limit, with a button that raises it. */
class LimitCard {
  constructor(say) {
    this.say = say;
    this.box = element("div");
  }

  part(value) {
    if (!value) return this.box.replaceChildren();
    const raise = button(...value.button, () => {
      keepFocus(this.box);
      raise.disabled = true;
      this.say({ do: "raise" });
    }, "asvc-primary");
    const shown = element("div", { className: "asvc-page" }, markup(value.shown));
    const wrong = element("div", { className: "asvc-wrong", role: "alert" }, markup(value.failed));
    const row = element("div", { className: "asvc-row" }, raise);
    const card = element("div", { className: "asvc-card asvc-waits", role: "group", "aria-label": "The run is near its limit" });
    card.append(shown, row, wrong);
    this.box.replaceChildren(card);
  }
}

/** HTML of an answer, in the host's own look, with what one can do with its code, tables and pictures. */
function rendered(model, root, html) {
  const shown = element("div", { className: "asvc-page jp-RenderedHTMLCommon" }, markup(html));
  furnish(model, root, shown);
  return shown;
}

function furnish(model, root, shown) {
  // A table that is wider than its place scrolls by itself; its words and numbers stay whole.
  for (const table of shown.querySelectorAll("table")) {
    let frame = table.closest(".asvc-tablebox");
    if (!frame) {
      frame = element("div", { className: "asvc-tablebox" });
      table.replaceWith(frame);
      frame.append(table);
    }
    Object.assign(frame, { tabIndex: 0, role: "group", ariaLabel: "Table" });
  }
  for (const pre of shown.querySelectorAll("pre")) withCopy(pre);
  drawSteps(shown);
  for (const file of shown.querySelectorAll(".asvc-chip")) file.prepend(icon(iconOf(file.firstChild?.textContent.trim())));
  // Classes and not `:has()`, which has the browser look at the whole chat with each change.
  for (const figure of shown.querySelectorAll("figure + figure")) figure.parentElement.classList.add("asvc-pictures");
  const pictures = [...shown.querySelectorAll("img")];
  for (const [at, each] of pictures.entries()) {
    const open = element("button", { type: "button", className: "asvc-picture", title: "Show it large" });
    open.setAttribute("aria-label", `Show large: ${each.alt}`);
    open.addEventListener("click", () => showLarge(root, pictures, at));
    each.replaceWith(open);
    open.append(each);
  }
  // Not of items: their list is on the side of its first words.
  for (const each of shown.querySelectorAll("p, ul, ol, h1, h2, h3, h4, h5, h6, blockquote, th, td")) each.dir = "auto";
  requestAnimationFrame(() => typeset(model, shown));
}

/** Draw the icons of a timeline, and its times at the end of the lines. */
function drawSteps(shown) {
  for (const steps of shown.querySelectorAll(".asvc-fold > div > .asvc-steps")) steps.parentElement.classList.add("asvc-bare");
  const signs = { "asvc-good": "check", "asvc-wrong": "wrong", "asvc-going": "clock", "asvc-step": "dot" };
  for (const line of shown.querySelectorAll(".asvc-steps li")) {
    const words = element("span", { className: "asvc-words" });
    const time = line.querySelector("span") ?? "";
    words.append(...[...line.childNodes].filter((node) => node !== time));
    line.replaceChildren(icon(signs[line.className] ?? "dot"), words, time);
  }
}
