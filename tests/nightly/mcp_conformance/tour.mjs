// A tour of the service with the official TypeScript SDK: prints what each stop came to, as tour.py tells it.
// node tour.mjs legacy|auto|REVISION [COMMAND ...], which is started in place of asking AGENTSVC_URL.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { AGENTSVC_URL: url, AGENTSVC_KEY: key } = process.env;
const [era, command, ...args] = process.argv.slice(2);
const mode = ['legacy', 'auto'].includes(era) ? era : { pin: era };
const client = new Client({ name: 'tour', version: '1.0.0' }, { versionNegotiation: { mode } });
await client.connect(
  command
    ? new StdioClientTransport({ command, args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
);

async function call(name, given, options) {
  const found = await client.callTool({ name, arguments: given }, options);
  if (found.isError) throw new Error(JSON.stringify(found));
  return found.structuredContent;
}

// Whether a call that is given up goes on: its run does.
async function givenUp(chat) {
  const stopped = await call('ask', { chat, message: 'wait 1\nwrite later.txt x' }, { signal: AbortSignal.timeout(500) }).then(
    () => false,
    () => true,
  );
  while (stopped) if ((await call('list_files', { chat })).files.some(({ path }) => path === 'later.txt')) return true;
  return false;
}

const tools = (await client.listTools()).tools.map(({ name }) => name);
const asked = await call('ask', { message: 'write out/Übersicht.txt summer sale at noon\nsay Grüße' });
const progress = [];
const onprogress = (told) => progress.push(told.progress);
const job = await call('echo_job', { steps: 3, seconds: 1, chat: 'new' }, { onprogress });
const late = await call('ask', { message: 'wait 60' });
await call('cancel_run', { run_id: late.run_id });
const given_up = await givenUp(asked.chat);
let ended;
do ended = await call('get_run', { run_id: late.run_id });
while (ended.status !== 'cancelled');
const { contents: read } = await client.readResource({ uri: asked.files[0].uri });
const found = await call('search_files', { chat: asked.chat, q: 'summer' });
const request = { kind: 'static_ad', brief: 'Headline: Sale', outputs: { mode: 'count', count: 1 } };
const { files } = await call('create_images', { request, chat: asked.chat });
const picture = await client.callTool({ name: 'read_file', arguments: { chat: asked.chat, path: files[0].path } });
const seen = { kind: picture.content.at(-1).type, ...picture.structuredContent };
const version = client.getNegotiatedProtocolVersion();
console.log(JSON.stringify({ version, tools, asked, progress, job, late, ended, given_up, read, found, seen }));
await client.close();
