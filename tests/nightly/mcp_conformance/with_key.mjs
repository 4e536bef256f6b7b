// The suite has no option for a key: each request of its process is given one.
import { subscribe } from 'node:diagnostics_channel';

const key = process.env.AGENTSVC_KEY;
subscribe('undici:request:create', ({ request }) => request.addHeader('x-api-key', key));
subscribe('http.client.request.created', ({ request }) => request.setHeader('x-api-key', key));
