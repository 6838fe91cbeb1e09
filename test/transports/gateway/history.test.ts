// Goal: sockets whose streams share a compression history write what a stock client reads, also after frames of their own.
import zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { laneFor } from '../../../transports/gateway/codec/lane.ts';
import { arrange, type FakeWire } from './harness.ts';

/** Fewest connections that share a history. */
const GROUP_MIN = 32;
const COUNT = GROUP_MIN + 8;
const OWN_FRAMES = [1, 2, 3];

function connected() {
  const { connect, flush } = arrange({ sharesHistory: true });
  const header = laneFor('json', 'zlib-stream')?.header ?? new Uint8Array();
  const all = Array.from({ length: COUNT }, () => connect());
  let seq = 0;
  const send = async (content: string): Promise<void> => {
    const body = new DispatchBody('MESSAGE_CREATE', { channel_id: '10', content, mentions: [] }, 0);
    body.recipients = COUNT;
    seq += 1;
    for (const { socket } of all) socket.dispatch(body, seq);
    await flush();
  };
  const read = (wire: FakeWire): string =>
    zlib
      .inflateSync(Buffer.concat([header, ...wire.frames.map(({ bytes }) => bytes)]), {
        finishFlush: zlib.constants.Z_SYNC_FLUSH,
      })
      .toString();
  return { all, send, read, flush };
}

const TEXTS = Array.from({ length: 6 }, (_, n) => `The message number ${n} of the channel`);

it('a heartbeat, an opcode of one connection and a closed connection disturb no stream', async () => {
  const { all, send, read, flush } = connected();
  const [beating, asked, closing] = OWN_FRAMES.map((at) => all[at]?.socket);
  for (const [n, text] of TEXTS.entries()) {
    await send(text);
    if (n === 2) {
      beating?.heartbeat(null);
      asked?.send(7, null);
      closing?.closed(1006);
      await flush();
    }
  }
  const [first] = all;
  const lengths = first?.wire.frames.map(({ bytes }) => bytes.length) ?? [];
  expect(lengths.at(-1)).toBeLessThan((lengths[1] ?? 0) / 1.5);
  for (const [at, { wire }] of all.entries()) {
    const text = read(wire);
    const expected = at === OWN_FRAMES[2] ? TEXTS.slice(0, 3) : TEXTS;
    for (const each of expected) expect(text.split(each).length, `"${each}" of stream ${at}`).toBe(2);
    expect(text.match(/"op":11/g)?.length ?? 0).toBe(at === OWN_FRAMES[0] ? 1 : 0);
  }
});

it('connections that have ended are not counted among those that share', async () => {
  const { all, send } = connected();
  await send('The first of the channel');
  await send('The second of the channel');
  for (const { socket } of all.slice(GROUP_MIN - 1)) socket.closed(1006);
  await send('The third of the channel');
  const lengths = all[0]?.wire.frames.map(({ bytes }) => bytes.length).slice(-3) ?? [];
  expect(lengths[1]).toBeLessThan((lengths[0] ?? 0) - 10);
  expect(lengths[2]).toBeGreaterThan((lengths[1] ?? 0) + 10);
});
