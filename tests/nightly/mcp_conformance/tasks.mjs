// A client with tasks, out of the official TypeScript SDK and its extension: tells each state of one task as a line.
// node tasks.mjs begin TOOL ARGUMENTS | resume REFERENCE, which the first line of `begin` is.
// The SDK leaves the messages of tasks to its host (`rawDispatch`); here they are sent as they are.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const { AGENTSVC_URL: url, AGENTSVC_KEY: key, ANSWER: answer } = process.env;
const version = '2026-07-28';
const headers = { Authorization: `Bearer ${key}` };
const info = { name: 'tasks', version: '1.0.0' };
const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };

let id = 0;
async function rawDispatch({ method, params }, options) {
  const sent = await fetch(url, {
    method: 'POST',
    signal: options?.signal,
    headers: {
      ...headers,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': version,
      'Mcp-Method': method,
      'Mcp-Name': params.name ?? params.taskId,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
  });
  const { result, error } = await sent.json();
  return error ? { kind: 'error', error } : { kind: 'result', result };
}

const client = new Client(info, { capabilities, versionNegotiation: { mode: { pin: version } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const session = createTaskSessionFromClient(client, {
  endpointId: url,
  rawDispatch,
  v2RequestFraming: { protocolVersion: version, clientInfo: info, clientCapabilities: capabilities },
  // Without an answer to give, it waits for its user, as a program does whose window is open.
  onInputRequest: ({ params }) => {
    tell({ asks: params.message });
    return answer ? { action: 'accept', content: JSON.parse(answer) } : new Promise(() => setInterval(() => {}, 1000));
  },
});

const tell = (said) => console.log(JSON.stringify(said));
const [what, named, given] = process.argv.slice(2);
const execution =
  what === 'begin' ? await session.callTool(named, JSON.parse(given)) : await session.resumeTask(JSON.parse(named));
if (what === 'begin') tell(execution.serializeReference());
tell({ ended: (await execution.settle()).outcome });
process.exit(0);
