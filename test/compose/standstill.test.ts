// Goal: a server that was suspended (stopped, a laptop asleep) does not close the connections that waited for it: it has
// not read yet what their clients sent meanwhile.
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import WebSocket from 'ws';
import { createTestEngine } from '../../testing.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const MINUTE_MS = 60_000;
/** How long the network and the database may take; nothing is measured by it. */
const POLLED = { timeout: 15_000, interval: 5 };

test('a session stays open when the server was suspended, and is closed when its own heartbeat is late', async () => {
  const { engine, clock } = await createTestEngine({ config: { voice: false } });
  ends.push(() => engine.close());
  const { gateway } = await engine.listen();
  const { token } = await engine.admin.createUser({ username: 'anna' });
  const socket = new WebSocket(`${gateway}/?v=10&encoding=json`);
  ends.push(() => socket.terminate());
  const heard: { op: number; t: string | null }[] = [];
  socket.on('message', (text) => heard.push(JSON.parse(String(text))));
  const closed = once(socket, 'close');
  /** Runs due timers and lets frames arrive until the condition holds. */
  const until = (is: () => boolean) =>
    expect
      .poll(() => {
        clock.advance(1);
        clock.settle();
        return is();
      }, POLLED)
      .toBe(true);
  await until(() => heard.some(({ op }) => op === 10));
  socket.send(JSON.stringify({ op: 2, d: { token, intents: 0, properties: {} } }));
  await until(() => heard.some(({ t }) => t === 'READY'));

  clock.standStill(10 * MINUTE_MS);
  clock.advance(3000);
  socket.send(JSON.stringify({ op: 1, d: null }));
  await until(() => heard.some(({ op }) => op === 11));
  expect(socket.readyState).toBe(WebSocket.OPEN);

  clock.advance(2 * MINUTE_MS);
  await until(() => socket.readyState === WebSocket.CLOSED);
  expect((await closed)[0]).toBe(4000);
});
