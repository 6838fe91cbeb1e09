// Goal: replies and acknowledgements leave in few packets, in order, and never beyond the bound.
import { describe, expect, test } from 'vitest';
import { ReplyQueue } from '../../../transports/cluster/replyqueue.ts';

const MIB = 1 << 20;

/** A queue, what it has written as `[taken, ids]`, its tick, and the state of its stream. */
function opened(bytesMax = 8 * MIB) {
  const written: unknown[] = [];
  const deferred: (() => void)[] = [];
  let drain: () => void = () => undefined;
  const stream = { isFull: false, drain: () => drain(), tick: () => deferred.splice(0).map((run) => run()) };
  const queue = new ReplyQueue(
    {
      write: () => !stream.isFull,
      once: (_, run) => {
        drain = run;
      },
    },
    {
      clock: { defer: (run) => deferred.push(run) },
      pack: (taken, replies) => {
        written.push([taken, replies.map(({ id }) => id)]);
        return Buffer.alloc(0);
      },
      bytesMax,
    },
  );
  const add = (id: number, bytes = 1) => queue.add({ id, answer: Buffer.alloc(bytes) });
  return { queue, add, written, stream };
}

describe('a reply queue', () => {
  test('writes all replies of a tick and the last acknowledgement as one packet', () => {
    const { queue, add, written, stream } = opened();
    queue.acknowledge(1);
    add(7);
    queue.acknowledge(2);
    add(8);
    expect(written).toEqual([]);
    stream.tick();
    expect(written).toEqual([[2, [7, 8]]]);
    stream.tick();
    expect(written).toHaveLength(1);
  });

  test('splits replies of a tick into packets of about a mebibyte, and never a reply', () => {
    const { add, written, stream } = opened();
    for (const [id, bytes] of [MIB / 2, MIB / 2, 1, 2 * MIB, 1].entries()) add(id, bytes);
    stream.tick();
    expect(written).toEqual([
      [0, [0, 1]],
      [0, [2]],
      [0, [3]],
      [0, [4]],
    ]);
  });

  test('waits while its stream is full, and rejects replies beyond its bound', () => {
    const { queue, add, written, stream } = opened(100);
    stream.isFull = true;
    expect(add(1, 60)).toBe(true);
    stream.tick();
    expect(written).toEqual([[0, [1]]]);
    queue.acknowledge(5);
    expect([add(2, 60), add(3, 60), add(4, 40)]).toEqual([true, false, true]);
    stream.tick();
    expect(written).toHaveLength(1);
    stream.isFull = false;
    stream.drain();
    expect(written).toEqual([
      [0, [1]],
      [5, [2, 4]],
    ]);
    expect(add(5, 100)).toBe(true);
  });

  test('counts the replies that still wait after a packet has left', () => {
    const { add, stream } = opened(2 * MIB);
    stream.isFull = true;
    for (const id of [1, 2]) expect(add(id, MIB)).toBe(true);
    stream.tick();
    expect([add(3, MIB), add(4)]).toEqual([true, false]);
  });

  test('writes nothing more once it is closed', () => {
    const { queue, add, written, stream } = opened();
    add(1);
    queue.close();
    queue.acknowledge(3);
    add(2);
    stream.tick();
    expect(written).toEqual([]);
  });
});
