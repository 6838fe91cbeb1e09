import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import uws from 'uWebSockets.js';

/*
 * The reference: uWebSockets alone. It parses the JSON of a body and answers JSON of its own; it has no tokens, limits,
 * permissions or database. Once it has been given a frame, it publishes that frame to all its sockets for each POST.
 */

export interface HostOrder {
  readonly kind: 'publish';
  readonly frame: string;
}

const MESSAGE = { id: '1', channel_id: '2', author: { id: '3', username: 'reference' }, embeds: [], type: 0 };

const ROOM = 'room';
let frame: string | null = null;

function answer(res: HttpResponse, value: object): void {
  res.cork(() => {
    res.writeHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(value));
  });
}

function post(res: HttpResponse): void {
  const chunks: Buffer[] = [];
  let isOver = false;
  res.onAborted(() => {
    isOver = true;
  });
  res.onData((chunk, isLast) => {
    chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (!isLast || isOver) return;
    const { content }: { readonly content: string } = JSON.parse(Buffer.concat(chunks).toString());
    if (frame !== null) app.publish(ROOM, frame);
    answer(res, { ...MESSAGE, content, timestamp: new Date().toISOString() });
  });
}

const get = (res: HttpResponse, req: HttpRequest): void => answer(res, { ...MESSAGE, url: req.getUrl() });

const app: TemplatedApp = uws.App();
app.ws('/socket', { open: (socket) => void socket.subscribe(ROOM) });
app.post('/*', post).get('/*', get);
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) throw new Error('The reference cannot listen.');
  process.send?.({ kind: 'opened', port: uws.us_socket_local_port(socket) });
});
process.on('message', (order: HostOrder) => {
  frame = order.frame;
});
process.on('disconnect', () => process.exit());
