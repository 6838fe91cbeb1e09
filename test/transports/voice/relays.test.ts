// Goal: a voice client that reaches another shard than that of its call is served through it, and neither shard keeps what has ended.
import { beforeEach, describe, expect, it } from 'vitest';
import type { VoicePort, VoiceRelays } from '../../../actors/call/ports.ts';
import type { OwnershipChange } from '../../../actors/placement/ports.ts';
import { VOICE_CLOSE } from '../../../protocol/voice.ts';
import { createVoiceRelays } from '../../../services/voice/relays.ts';
import { VoiceSocket } from '../../../transports/voice/socket.ts';
import { arrange, FakeCalls, IDENTIFY } from './harness.ts';

type Handler = (args: never, context: never) => unknown;

/** A shard whose messages to others wait for `deliver`. */
class Shard {
  readonly id: string;
  readonly served = new Map<string, Handler>();
  readonly broken: ((shardId: string) => void)[] = [];
  readonly changes: ((change: OwnershipChange) => void)[] = [];
  readonly calls = new FakeCalls();
  /** The sockets that it opened for clients of other shards. */
  readonly sockets: VoiceSocket[] = [];
  hasRoom = true;
  /** Whether its lease is safe. */
  isSafe = true;
  /** The owner of every call; null: unknown. */
  owner: string | null = 'b';
  readonly relays: VoiceRelays;
  /** Where its sockets for clients of other shards are. */
  readonly at = arrange({ calls: this.calls });

  /** @param seed The byte of which all random bytes consist: each run of a shard has other ones. */
  constructor(id: string, sent: [to: string, from: string, method: string, args: unknown][], seed = 1) {
    this.id = id;
    this.relays = createVoiceRelays({
      ownership: {
        self: { id } as never,
        owns: () => this.owner === id && this.isSafe,
        ownerOf: () =>
          this.owner === null ? null : { shardId: this.owner, instance: `${this.owner}.1`, epoch: 1 },
        onChange: (run: (change: OwnershipChange) => void) => {
          this.changes.push(run);
          return () => undefined;
        },
      },
      router: {
        tellShard: (to: string, method: string, args: unknown) => void sent.push([to, id, method, args]),
        serve: (method: string, run: Handler) => void this.served.set(method, run),
        onBroken: (run: (shardId: string) => void) => void this.broken.push(run),
      } as never,
      accept: ({ address, version }, end) => {
        if (!this.hasRoom) return null;
        const socket = new VoiceSocket(address, version, this.at.host);
        this.sockets.push(socket);
        socket.opened(end, null, true);
        return socket;
      },
      randomBytes: (size) => new Uint8Array(size).fill(seed),
    });
  }
}

let sent: [to: string, from: string, method: string, args: unknown][];
let a: Shard;
let b: Shard;

beforeEach(() => {
  sent = [];
  a = new Shard('a', sent);
  b = new Shard('b', sent);
});

/** Delivers messages until none is left. @returns their methods. */
function deliver(): string[] {
  const methods: string[] = [];
  for (let next = sent.shift(); next; next = sent.shift()) {
    const [to, from, method, args] = next;
    methods.push(`${from} ${method.split('.')[1]}`);
    (to === 'a' ? a : b).served.get(method)?.(args as never, { from } as never);
    for (const { at } of [a, b]) at.clock.settle();
  }
  return methods;
}

/** The calls of a shard that has no call. */
const NO_CALLS: VoicePort = {
  identify: () => ({ kind: 'closed', ...VOICE_CLOSE.SERVER_NOT_FOUND }),
  resume: () => ({ kind: 'closed', ...VOICE_CLOSE.SESSION_INVALID }),
};

/** A client with a connection to `a`, over which it identifies. */
function client(identify: object = IDENTIFY, calls: VoicePort = NO_CALLS) {
  const connection = arrange({
    calls,
    open: (version, host) => new VoiceSocket('192.0.2.7', version, host, a.relays),
  });
  connection.say(0, identify);
  return connection;
}

describe('a client whose call is at another shard', () => {
  it('has its session there, with its address, and is sent what the session sends', () => {
    const { wire, sayBinary, say, closeCode } = client();
    expect(deliver()).toEqual(['a received', 'b sent']);
    expect(b.calls.identified[0]).toMatchObject({ serverId: '5', userId: '7', version: 8 });
    expect(b.sockets[0]?.address).toBe('192.0.2.7');
    sayBinary(26, 1, 2);
    say(23, { transition_id: 3 });
    b.calls.sink?.sendBinary(27, Uint8Array.of(9), 300);
    deliver();
    expect(b.calls.session.asked.map(([name]) => name)).toEqual(['dave', 'transitionReady']);
    const [, ready, dave] = wire.frames;
    expect([String(ready), dave]).toEqual(['{"op":2,"d":{"ssrc":1}}', Buffer.from([1, 44, 27, 9])]);
    expect(closeCode()).toBeNull();
  });

  it('resumes there', () => {
    const { say } = arrange({
      calls: NO_CALLS,
      open: (v, host) => new VoiceSocket('192.0.2.7', v, host, a.relays),
    });
    say(7, { server_id: '5', session_id: 'abc', token: 'ticket', seq_ack: 4 });
    deliver();
    expect(b.calls.resumed).toMatchObject([{ sessionId: 'abc', seqAck: 4 }]);
  });

  it('is served here when the call is here, whichever shard owns it', () => {
    const calls = new FakeCalls();
    client(IDENTIFY, calls);
    expect([calls.identified.length, sent]).toEqual([1, []]);
  });

  it('is refused when this shard owns the call, and closed with 4015 when no shard is known to own it safely', () => {
    for (const [owner, isSafe, code] of [
      ['a', true, 4011],
      ['a', false, 4015],
      [null, true, 4015],
    ] as const) {
      a.owner = owner;
      a.isSafe = isSafe;
      expect([client().closeCode(), sent]).toEqual([code, []]);
    }
  });

  it.each([
    ['text', 65_536, false],
    ['binary', 524_288, true],
  ])(
    'is closed with 4020 for a frame of %s beyond %i bytes, of which the other shard receives nothing',
    (_kind, most, binary) => {
      const { socket, closeCode } = client();
      socket.received(new Uint8Array(most), binary);
      expect(deliver()).toContain('a received');
      const larger = client();
      deliver();
      larger.socket.received(new Uint8Array(most + 1), binary);
      expect(deliver()).toEqual([]);
      expect([larger.closeCode(), closeCode() === 4020]).toEqual([4020, false]);
    },
  );

  it('is closed with the code of the other shard, which forgets it', () => {
    const { closeCode } = client({ ...IDENTIFY, token: 'another' });
    expect(deliver()).toEqual(['a received', 'b ended']);
    expect(closeCode()).toBe(4004);
    expect([deliver(), b.at.gone]).toEqual([[], b.sockets]);
  });

  it.each([
    [1006, true],
    [1000, false],
  ])('leaves with %i, after which its session may be resumed: %s', (code, isResumable) => {
    const { socket } = client();
    deliver();
    socket.closed(code);
    expect(deliver()).toEqual(['a closed']);
    expect([b.calls.session.detached, b.at.gone]).toEqual([[isResumable], b.sockets]);
  });

  it('is closed with 4015 when the other shard has no room', () => {
    b.hasRoom = false;
    const { closeCode } = client();
    deliver();
    expect([closeCode(), b.sockets]).toEqual([4015, []]);
  });

  it('is closed with 4015 when the link to the other shard breaks, and a late frame reaches no one', () => {
    const { closeCode, wire } = client();
    deliver();
    b.calls.sink?.send(5, { speaking: 1 }, 300);
    for (const run of a.broken) run('c');
    expect(closeCode()).toBeNull();
    for (const run of a.broken) run('b');
    expect(closeCode()).toBe(4015);
    const { length } = wire.frames;
    deliver();
    expect(wire.frames).toHaveLength(length);
  });

  it('may resume after the link broke at the shard of the call', () => {
    const { closeCode } = client();
    deliver();
    for (const run of b.broken) run('a');
    expect(deliver()).toEqual(['b ended']);
    expect([closeCode(), b.calls.session.detached, b.at.gone]).toEqual([4015, [true], b.sockets]);
  });

  it('is closed with 4015 when the run of the other shard has ended, and not when an earlier run has', () => {
    const { closeCode } = client();
    deliver();
    const ended = (instance: string) => {
      for (const run of a.changes) run({ moved: [], came: [], gone: [{ id: 'b', instance } as never] });
    };
    ended('b.0');
    expect(closeCode()).toBeNull();
    ended('b.1');
    expect(closeCode()).toBe(4015);
  });

  it('leaves with its shard', () => {
    client();
    deliver();
    for (const run of b.changes) run({ moved: [], came: [], gone: [{ id: 'a', instance: 'a.1' } as never] });
    expect([b.calls.session.detached, b.at.gone]).toEqual([[true], b.sockets]);
  });

  it('is not reached by a third shard', () => {
    const { wire, closeCode } = client();
    const [[, , , [number]]] = sent as unknown as [[string, string, string, [number]]];
    deliver();
    const { length } = wire.frames;
    a.served.get('voiceSockets.sent')?.([number, Uint8Array.of(1), true] as never, { from: 'c' } as never);
    a.served.get('voiceSockets.ended')?.([number, 4004, ''] as never, { from: 'c' } as never);
    expect([wire.frames.length, closeCode()]).toEqual([length, null]);
  });

  it('relays the bytes of a frame as received when their memory is reused before the message is sent', () => {
    const { socket } = client();
    deliver();
    const memory = Uint8Array.of(26, 1, 2);
    socket.received(memory, true);
    memory.fill(0);
    deliver();
    expect(b.calls.session.asked).toEqual([['dave', 26, Uint8Array.of(1, 2)]]);
  });

  it('receives nothing from a session that began through an earlier run of its shard', () => {
    client();
    deliver();
    const earlier = b.calls.sink;
    a = new Shard('a', sent, 2);
    const { wire, closeCode } = client();
    deliver();
    const { length } = wire.frames;
    earlier?.send(5, { speaking: 1 }, 300);
    earlier?.close(4014, 'Disconnected.');
    b.at.clock.settle();
    expect(deliver()).toEqual(['b sent', 'b ended']);
    expect([wire.frames.length, closeCode()]).toEqual([length, null]);
  });

  it('is held to the limit of frames and of what it leaves unread by the shard that it has reached', () => {
    const { say, closeCode } = client();
    for (let n = 0; n < 10_000; n += 1) say(3, { t: n, seq_ack: 1 });
    expect(closeCode()).toBe(VOICE_CLOSE.RATE_LIMITED.code);
    const slow = client();
    deliver();
    slow.wire.stalled = true;
    for (let n = 0; n < 100; n += 1) b.calls.sink?.sendBinary(27, new Uint8Array(1_000), n);
    deliver();
    slow.clock.settle();
    slow.wire.drain();
    expect(slow.closeCode()).toBe(4015);
  });
});
