// Goal: replies and acknowledgements leave in few packets, in order, and never beyond the bound.
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { ReplyQueue } from '../../../transports/cluster/replyqueue.ts';

const MIB = 1 << 20;

/** A queue, what it has written as `[taken, ids]`, its clock, its tick, and the state of its stream. */
function opened(bytesMax = 8 * MIB) {
  const written: unknown[] = [];
  const clock = new VirtualClock();
  let drain: () => void = () => undefined;
  const stream = { isFull: false, drain: () => drain(), tick: () => clock.settle() };
  const queue = new ReplyQueue(
    {
      write: () => !stream.isFull,
      once: (_, run) => {
        drain = run;
      },
    },
    {
      clock,
      pack: (taken, replies) => {
        written.push([taken, replies.map(({ id }) => id)]);
        return Buffer.alloc(0);
      },
      bytesMax,
    },
  );
  const add = (id: number, bytes = 1) => queue.add({ id, answer: Buffer.alloc(bytes) });
  return { queue, add, written, clock, stream };
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

  test('acknowledges received batches with the next reply, so that they need no packet of their own', () => {
    const { queue, add, written, clock, stream } = opened();
    queue.received(1, 500);
    queue.received(2, 500);
    stream.tick();
    expect(written).toEqual([]);
    add(7);
    stream.tick();
    expect(written).toEqual([[2, [7]]]);
    clock.advance(10_000);
    expect([written.length, clock.timers]).toEqual([1, 0]);
  });

  test('acknowledges received batches after 200 ms without a reply, all of them at once', () => {
    const { queue, written, clock } = opened();
    queue.received(1, 500);
    clock.advance(150);
    queue.received(2, 500);
    expect(written).toEqual([]);
    clock.advance(50);
    expect(written).toEqual([[2, []]]);
    queue.received(3, 500);
    clock.advance(199);
    expect(written).toHaveLength(1);
    clock.advance(1);
    expect(written.slice(1)).toEqual([[3, []]]);
  });

  test('acknowledges in the same tick once 64 KiB of received bytes wait for it', () => {
    const { queue, add, written, stream } = opened();
    queue.received(1, 65_535);
    stream.tick();
    expect(written).toEqual([]);
    queue.received(2, 1);
    stream.tick();
    expect(written).toEqual([[2, []]]);
    queue.received(3, 65_535);
    add(7);
    stream.tick();
    queue.received(4, 65_535);
    stream.tick();
    expect(written.slice(1)).toEqual([[3, [7]]]);
  });

  test('writes nothing more once it is closed, and leaves no timer', () => {
    const { queue, add, written, clock } = opened();
    add(1);
    queue.received(2, 1);
    queue.close();
    queue.acknowledge(3);
    expect(clock.timers).toBe(0);
    const closed = opened();
    closed.queue.close();
    closed.queue.received(4, 1);
    expect(closed.clock.timers).toBe(0);
    add(2);
    clock.advance(1000);
    expect(written).toEqual([]);
  });
});
