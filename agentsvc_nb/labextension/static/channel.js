/** The way between a notebook's page and its kernel, once the kernel has said that it has our magics. */
const TARGET = "agentsvc_nb";
const KEPT = 20;

/**
 * It sends and hears messages of a comm by itself: one of JupyterLab's waits for the kernel's description before it
 * uses a subshell, and a kernel that runs a cell does not describe itself.
 */
export class Channel {
  constructor(context, messages, actions) {
    this._context = context;
    this._messages = messages;
    this._actions = actions;
    this._id = null;
    this._subshell = null;
    this.earlier = []; // what this tab's pages were called before they were loaded again
    const session = context.sessionContext;
    session.kernelChanged.connect(() => this._changed());
    session.statusChanged.connect((_, status) => {
      if (status.endsWith("restarting")) {
        this._id = null;
      }
    });
    this._changed();
  }

  get kernel() {
    return this._context.sessionContext.session?.kernel ?? null;
  }

  hear({ header, content }) {
    if (header.msg_type === "comm_msg" && content.comm_id === TARGET) {
      this._id = null; // it says so when the magics are loaded: this may be another life of the kernel
      void this._open(content.data);
    } else if (header.msg_type === "comm_msg" && content.comm_id === this._id) {
      this._send("comm_msg", { data: { id: content.data.id, ...this._act(content.data) } });
    } else if (header.msg_type === "comm_close" && content.comm_id === this._id) {
      this._id = null; // the magics were unloaded
    } else if (content.transient?.agentsvc_nb) {
      void this._open(content.transient.agentsvc_nb);
    }
  }

  _act(asked) {
    try {
      return this._actions[asked.do](asked);
    } catch (error) {
      return { outcome: "failed", why: String(error) };
    }
  }

  /** Another kernel, or another connection to the same one: has it our magics? One that runs a cell answers later. */
  async _changed() {
    const kernel = this.kernel;
    this._id = null;
    if (!kernel) {
      return;
    }
    this.earlier = remembered(`${TARGET} ${kernel.id} ${this._context.path}`, kernel.clientId);
    try {
      await kernel.info;
      const reply = await kernel.requestCommInfo({ target_name: TARGET });
      if (Object.keys(reply.content.comms ?? {}).length && kernel === this.kernel) {
        await this._open({ subshells: kernel.supportsSubshells });
      }
    } catch {
      // the kernel went away before it answered
    }
  }

  async _open({ subshells }) {
    const kernel = this.kernel;
    if (this._id !== null || !kernel) {
      return;
    }
    const id = (this._id = `${TARGET}-${kernel.clientId}-${Date.now()}`);
    this._subshell = null;
    if (subshells && (kernel.commsOverSubshells ?? "disabled") !== "disabled") {
      this._subshell = await this._newSubshell(kernel);
    }
    if (this._id === id && kernel === this.kernel) {
      const data = { page: kernel.clientId, earlier: this.earlier, subshell: this._subshell !== null };
      this._send("comm_open", { target_name: TARGET, data });
    }
  }

  /** By hand, too: JupyterLab's own function refuses while the kernel has not described itself. */
  async _newSubshell(kernel) {
    const request = this._message(kernel, "create_subshell_request", "control", {});
    const { content } = await kernel.sendControlMessage(request, true).done;
    return content.subshell_id ?? null;
  }

  _message(kernel, msgType, channel, content) {
    return this._messages.createMessage({
      msgType,
      channel,
      username: kernel.username,
      session: kernel.clientId,
      content,
    });
  }

  _send(msgType, content) {
    const { kernel } = this;
    const message = this._message(kernel, msgType, "shell", { comm_id: this._id, ...content });
    if (this._subshell !== null) {
      message.header.subshell_id = this._subshell;
    }
    kernel.sendShellMessage(message, false, true);
  }
}

/** The ids of this tab's earlier connections to a kernel for a notebook; this one's is added for the next. */
function remembered(key, id) {
  try {
    const earlier = JSON.parse(sessionStorage.getItem(key) ?? "[]").filter((each) => each !== id);
    sessionStorage.setItem(key, JSON.stringify([...earlier, id].slice(-KEPT)));
    return earlier;
  } catch {
    return []; // a browser that keeps nothing
  }
}
