// Follows the active run of a chat's page: text is appended as text, and at the end the page is loaded again.
"use strict";

const POLL_MS = 3000;
const SIGNS = { done: "✓", doing: "▸" };

function follow(turn) {
  const text = turn.querySelector("[data-text]");
  const status = turn.querySelector("[data-status] .status");
  const doing = turn.querySelector("[data-doing]");
  const source = new EventSource(`/app/runs/${turn.dataset.run}/events?after=${turn.dataset.after}`);
  const on = (type, use) => source.addEventListener(type, (event) => use(JSON.parse(event.data).payload));
  const reload = () => {
    source.close();
    location.reload();
  };

  on("text.delta", (payload) => text.append(payload.text));
  on("run.status", (payload) => {
    status.textContent = payload.status;
    status.className = `status ${/^[a-z]+$/.test(payload.status) ? payload.status : "other"}`;
  });
  on("step.started", (payload) => (doing.textContent = `step ${payload.step}`));
  on("tool.call", (payload) => (doing.textContent = `calls ${payload.tool}`));
  on("progress", (payload) => (doing.textContent = payload.message));
  on("plan.changed", (payload) => {
    const lines = payload.steps.map((step) => {
      const line = document.createElement("li");
      line.textContent = `${SIGNS[step.state] ?? "○"} ${step.text}`;
      return line;
    });
    turn.querySelector("[data-plan]").replaceChildren(...lines);
  });
  on("limit.near", reload);
  on("limit.raised", reload);
  on("approval.requested", reload);
  on("approval.decided", reload);
  on("run.resumed", reload);  // some of the text no longer counts
  on("run.ended", reload);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) doing.textContent = "The connection was lost. Reload the page.";
  };
}

const turn = document.querySelector("[data-run]");
if (turn) follow(turn);
else if (document.querySelector("[data-job]")) setTimeout(() => location.reload(), POLL_MS);
