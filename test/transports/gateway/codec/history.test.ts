// Goal: streams that share a compression history are read by stock clients, whatever each of them carries beside it.
import v8 from 'node:v8';
import vm from 'node:vm';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DispatchBody } from '../../../../engine/fanout/body.ts';
import { Histories } from '../../../../transports/gateway/codec/history.ts';
import { type Lane, laneFor } from '../../../../transports/gateway/codec/lane.ts';

/** Fewest connections that share a history. */
const GROUP_MIN = 32;
const RUNS = Number(process.env.HISTORY_RUNS ?? 60);

v8.setFlagsFromString('--expose-gc');
const collectGarbage: () => void = vm.runInNewContext('gc');

const CHANNELS = ['10', '11'];

const message = (channel: string, content: string): object => ({
  ...{ id: '1390000000000001000', channel_id: channel, guild_id: '1', type: 0, tts: false, content },
  author: { id: '1390000000000001001', username: 'somebody', global_name: null, avatar: null },
});

/** Streams of one gateway with what their clients should read. */
class Streams {
  readonly #written: (() => void)[] = [];
  readonly histories = new Histories((run) => this.#written.push(run));
  readonly places: { lane: Lane; frames: Uint8Array[]; texts: string[]; seq: number }[] = [];
  /** By stream: what it writes in the next flush. */
  readonly #queued = new Map<number, ((at: number) => void)[]>();

  join(): void {
    const lane = this.histories.laneOf(this.histories.independent);
    this.places.push({ lane, frames: [lane.header], texts: [], seq: 0 });
  }

  end(at: number): void {
    this.flush();
    const [ended] = this.places.splice(at, 1);
    ended?.lane.leave();
  }

  send(t: string, d: object, to: readonly number[]): DispatchBody {
    const body = new DispatchBody(t, d, 0);
    body.recipients = to.length;
    for (const at of to)
      this.#queue(at, () => {
        const place = this.#at(at);
        place.seq += 1;
        place.frames.push(Buffer.from(place.lane.dispatch(body, place.seq)));
        place.texts.push(JSON.stringify({ t, op: 0, d, s: place.seq }));
      });
    return body;
  }

  control(op: number, at: number): void {
    this.#queue(at, () => {
      const place = this.#at(at);
      place.lane.leave();
      place.frames.push(place.lane.control(op, null));
      place.texts.push(JSON.stringify({ op, d: null, s: null, t: null }));
    });
  }

  /** Each stream writes all that it has, one stream after the other, as the outbox does. */
  flush(): void {
    for (const [at, writes] of this.#queued) for (const write of writes) write(at);
    this.#queued.clear();
    for (const run of this.#written.splice(0)) run();
  }

  get everybody(): number[] {
    return [...this.places.keys()];
  }

  bytes(at: number): number {
    return this.#at(at).frames.reduce((sum, { length }) => sum + length, 0);
  }

  /** Reads each stream with zlib, and compares. */
  check(): void {
    for (const { frames, texts } of this.places) {
      const read = zlib
        .inflateSync(Buffer.concat(frames), { finishFlush: zlib.constants.Z_SYNC_FLUSH })
        .toString();
      expect(read.replaceAll(/"s": +(\d+)}(?=\{|$)/g, '"s":$1}')).toBe(texts.join(''));
    }
  }

  #queue(at: number, write: (at: number) => void): void {
    const writes = this.#queued.get(at);
    if (writes) writes.push(write);
    else this.#queued.set(at, [write]);
  }

  #at(at: number): Streams['places'][number] {
    const place = this.places[at];
    if (!place) throw new Error(`There is no stream ${at}.`);
    return place;
  }
}

const opened = (count: number): Streams => {
  const streams = new Streams();
  for (let at = 0; at < count; at += 1) streams.join();
  return streams;
};

/** An action on the streams: `at` and `channel` are taken modulo the number of streams and channels. */
interface Action {
  readonly what: 'send' | 'presence' | 'long' | 'private' | 'control' | 'join' | 'end' | 'flush';
  readonly text: string;
  readonly channel: number;
  /** The part of the streams that receives it. */
  readonly share: number;
  readonly at: number;
}
const weighted = (weights: Readonly<Record<Action['what'], number>>): Action['what'][] =>
  Object.entries(weights).flatMap(([what, weight]) => new Array(weight).fill(what));
const action: fc.Arbitrary<Action> = fc.record({
  what: fc.constantFrom(
    ...weighted({ send: 8, presence: 1, long: 1, private: 3, control: 3, join: 1, end: 1, flush: 6 }),
  ),
  // Some contents look like the number at the end of a frame.
  text: fc.oneof(
    fc.stringMatching(/^[a-eé "]{0,40}$/),
    fc.constantFrom('         0}', '         1}', '         2}{"t":"'),
  ),
  channel: fc.nat(1),
  share: fc.constantFrom(1, 1, 1, 0.95, 0.5),
  at: fc.nat(99),
});

function act(streams: Streams, { what, text, channel, share, at }: Action): void {
  const { everybody } = streams;
  const one = at % everybody.length;
  const channelId = CHANNELS[channel] ?? '';
  const some = everybody.filter((each) => (each * 7) % 20 < share * 20);
  if (what === 'send') streams.send('MESSAGE_CREATE', message(channelId, text), some);
  else if (what === 'presence') streams.send('PRESENCE_UPDATE', { guild_id: '1', status: text }, everybody);
  else if (what === 'long')
    streams.send('MESSAGE_UPDATE', message(channelId, text.repeat(at * 20)), everybody);
  else if (what === 'private') streams.send('INTERACTION_CREATE', message(channelId, text), [one]);
  else if (what === 'control') streams.control(11, one);
  else if (what === 'join') streams.join();
  else if (what === 'end' && everybody.length > GROUP_MIN) streams.end(one);
  else streams.flush();
}

/** The bytes of a frame of a stream; the last by default. */
const lengthOf = (streams: Streams, at: number): number => streams.places[at]?.frames.at(-1)?.length ?? 0;

/** Sends a message to all streams and flushes. @returns The bytes of its frame in the first stream. */
function sendAll(streams: Streams, channel: string, content: string): number {
  streams.send('MESSAGE_CREATE', message(channel, content), streams.everybody);
  streams.flush();
  return lengthOf(streams, 0);
}

describe('a shared history', () => {
  it('is read right in every schedule of shared, private and control frames, joins and ends', () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 10, maxLength: 80 }), (actions) => {
        const streams = opened(GROUP_MIN + 8);
        for (const each of actions) act(streams, each);
        streams.flush();
        streams.check();
      }),
      { numRuns: RUNS },
    );
  });

  it('takes less than half of the bytes of frames that refer to nothing', () => {
    const [streams, few] = [opened(GROUP_MIN), opened(GROUP_MIN - 1)];
    for (let n = 0; n < 50; n += 1)
      for (const each of [streams, few]) sendAll(each, '10', `The message number ${n * 7919}`);
    expect(streams.bytes(0)).toBeLessThan(few.bytes(0) / 2);
    for (const each of [streams, few]) each.check();
  });

  it('lasts over several dispatches of one flush', () => {
    const streams = opened(GROUP_MIN);
    const first = sendAll(streams, '10', 'The first');
    for (const content of ['The second', 'The third', 'The fourth'])
      streams.send('MESSAGE_CREATE', message('10', content), streams.everybody);
    streams.flush();
    for (const { frames } of streams.places)
      for (const frame of frames.slice(-3)) expect(frame.length).toBeLessThan(first / 2);
    streams.check();
  });

  it('is left by a stream with a private frame, which joins again after the next dispatch', () => {
    const streams = opened(2 * GROUP_MIN);
    const first = sendAll(streams, '10', 'The first');
    streams.control(11, 3);
    streams.send('INTERACTION_CREATE', message('10', 'For one'), [4]);
    sendAll(streams, '10', 'The second');
    expect(lengthOf(streams, 2)).toBeLessThan(first / 2);
    for (const at of [3, 4]) expect(lengthOf(streams, at)).toBeGreaterThan(first / 2);
    for (let at = 0; at < GROUP_MIN; at += 1) streams.control(11, at);
    sendAll(streams, '10', 'The third');
    sendAll(streams, '10', 'The fourth');
    for (const at of streams.everybody) expect(lengthOf(streams, at)).toBeLessThan(first / 2);
    streams.check();
  });

  it('ends when fewer than 32 streams are left, those that missed a dispatch not counted', () => {
    const streams = opened(3 * GROUP_MIN);
    const first = sendAll(streams, '10', 'The first');
    const some = streams.everybody.slice(0, GROUP_MIN);
    streams.send('MESSAGE_CREATE', message('10', 'For some'), some);
    sendAll(streams, '10', 'The second');
    expect(lengthOf(streams, 0)).toBeLessThan(first / 2);
    streams.control(11, 1);
    sendAll(streams, '10', 'The third');
    expect(lengthOf(streams, 0)).toBeGreaterThan(first / 2);
    expect(lengthOf(streams, GROUP_MIN)).toBeLessThan(first / 2);
    streams.check();
  });

  it('does not show in the size of a message what was written in another channel', () => {
    const secret = 'xkqvzjwpyg';
    const sizeAfter = (channel: string, content: string): number => {
      const streams = opened(GROUP_MIN);
      for (const each of CHANNELS) sendAll(streams, each, 'Something that everybody says');
      sendAll(streams, channel, secret);
      const size = sendAll(streams, '10', content);
      streams.check();
      return size;
    };
    expect(sizeAfter('11', secret)).toBe(sizeAfter('11', 'qzkvgxjypw'));
    expect(sizeAfter('10', secret)).toBeLessThan(sizeAfter('10', 'qzkvgxjypw'));
  });

  it('is compressed at most nine times for a dispatch, however many groups there are', () => {
    const streams = opened(40 * GROUP_MIN);
    const compressed = vi.spyOn(zlib, 'deflateRawSync');
    for (let n = 0; n < 120; n += 1) {
      for (let at = n % 40; at < 40 * GROUP_MIN; at += 40) streams.control(11, at);
      streams.flush();
      compressed.mockClear();
      sendAll(streams, '10', `The message number ${n}`);
      expect(compressed.mock.calls.length).toBeLessThanOrEqual(9);
    }
    compressed.mockRestore();
    streams.check();
  });

  it('keeps no dispatch after its flush, and no text when fewer than 32 streams are left', async () => {
    const streams = opened(GROUP_MIN);
    const sent = (content: string) => {
      const body = streams.send('MESSAGE_CREATE', message('10', content), streams.everybody);
      streams.flush();
      return { body: new WeakRef(body), text: new WeakRef(body.lanes[0] ?? body) };
    };
    const [first, second] = [sent('The first'), sent('The second')];
    // A WeakRef holds what it refers to until the end of the turn.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect([first.body.deref(), second.body.deref()]).toEqual([undefined, undefined]);
    expect(first.text.deref()).toBeDefined();
    streams.control(11, 0);
    streams.flush();
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect([first.text.deref(), second.text.deref()]).toEqual([undefined, undefined]);
  });

  it('is not used by ETF, whose bytes may be any', () => {
    const etf = laneFor('etf', 'zlib-stream');
    expect(etf && new Histories(() => {}).laneOf(etf)).toBe(etf);
  });
});
