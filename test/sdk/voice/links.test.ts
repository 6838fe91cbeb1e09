// Goal: both connections of a voice client identify, beat, resume and give up as the gateways' documents say.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type GatewayIdentity, GatewayLink } from '../../../sdk/voice/gatewaylink.ts';
import { VoiceLink } from '../../../sdk/voice/voicelink.ts';
import { CLOSE_TO_RESUME, type OpenSocket, type SocketEvents } from '../../../sdk/voice/wire.ts';

/** The server's end of every connection that was opened. */
class Server {
  readonly connections: {
    readonly url: string;
    readonly events: SocketEvents;
    readonly sent: unknown[];
    code: number | null;
  }[] = [];

  readonly open: OpenSocket = (url, events) => {
    const connection = { url, events, sent: [] as unknown[], code: null as number | null };
    this.connections.push(connection);
    return {
      send: (data) => connection.sent.push(typeof data === 'string' ? JSON.parse(data) : [...data]),
      close: (code) => {
        connection.code = code;
      },
    };
  };

  get last() {
    return this.connections.at(-1)!;
  }

  say(message: object): void {
    this.last.events.message(JSON.stringify(message));
  }

  end(code: number): void {
    this.last.events.closed(code, 'because');
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function gateway(identity: Partial<GatewayIdentity> = {}) {
  const server = new Server();
  const heard: string[] = [];
  const link = new GatewayLink({
    url: 'ws://test/?v=10',
    token: 'token',
    intents: 129,
    ...identity,
    open: server.open,
    events: {
      ready: ({ session_id: id }) => heard.push(`ready ${id}`),
      dispatch: (name) => heard.push(name),
      online: (online) => heard.push(online ? 'online' : 'offline'),
      ended: (code, reason) => heard.push(`ended ${code} ${reason}`),
    },
  });
  return { server, heard, link };
}

const hello = { op: 10, d: { heartbeat_interval: 1000 } };
const ready = { op: 0, s: 1, t: 'READY', d: { session_id: 'abc' } };

describe('the gateway link', () => {
  test('abandons a server that accepts the connection and sends nothing, and tries again', () => {
    const { server, heard } = gateway();
    vi.advanceTimersByTime(14_999);
    expect(server.connections).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(server.last.code).toBe(CLOSE_TO_RESUME);
    expect(heard).toEqual(['offline']);
    vi.advanceTimersByTime(1_000);
    expect(server.connections).toHaveLength(2);
    server.say({ ...hello, d: { heartbeat_interval: 60_000 } });
    vi.advanceTimersByTime(30_000);
    expect(server.connections).toHaveLength(2);
  });

  test('identifies, passes dispatches on, and sends heartbeats with the last sequence number', () => {
    const { server, heard, link } = gateway();
    server.say(hello);
    expect(server.last.sent).toEqual([
      { op: 2, d: expect.objectContaining({ token: 'token', intents: 129 }) },
    ]);
    server.say(ready);
    server.say({ op: 0, s: 7, t: 'GUILD_CREATE', d: {} });
    vi.advanceTimersByTime(1000);
    expect(server.last.sent.at(-1)).toEqual({ op: 1, d: 7 });
    link.send(17, [{ lobby_id: '2' }]);
    expect(server.last.sent.at(-1)).toEqual({ op: 17, d: [{ lobby_id: '2' }] });
    expect(heard).toEqual(['online', 'ready abc', 'GUILD_CREATE']);
  });

  test('identifies with all that it was given, and with what has changed since', () => {
    const presence = { status: 'idle', activities: [], since: null, afk: false };
    const { server, link } = gateway({ token: 'Bearer one', capabilities: 1 << 16, presence });
    server.say(hello);
    expect(server.last.sent).toMatchObject([
      { op: 2, d: { token: 'Bearer one', capabilities: 65_536, presence } },
    ]);
    link.change({ token: 'Bearer two' });
    server.end(4009);
    vi.advanceTimersByTime(1000);
    server.say(hello);
    expect(server.last.sent).toMatchObject([{ op: 2, d: { token: 'Bearer two', presence } }]);
  });

  test('resumes at the address in READY, and at the first address when that server sends no Hello', () => {
    const { server } = gateway();
    server.say(hello);
    server.say({ ...ready, d: { ...ready.d, resume_gateway_url: 'ws://elsewhere' } });
    server.end(1006);
    vi.advanceTimersByTime(1000);
    expect(server.last.url).toBe('ws://elsewhere/?v=10');
    server.end(1006);
    vi.advanceTimersByTime(2000);
    expect(server.last.url).toBe('ws://test/?v=10');
    server.say(hello);
    expect(server.last.sent).toMatchObject([{ op: 6 }]);
  });

  test.each([['no number'], [-1], [0], [1e12]])(
    'sends heartbeats within bounds for the interval %s',
    (interval) => {
      const { server } = gateway();
      server.say({ op: 10, d: { heartbeat_interval: interval } });
      server.say(ready);
      vi.advanceTimersByTime(99);
      expect(server.last.sent).toHaveLength(1);
      vi.advanceTimersByTime(10 * 60_000);
      expect(server.connections[0]!.sent).toContainEqual({ op: 1, d: 1 });
    },
  );

  test.each([
    ['a connection that broke', (server: Server) => server.end(1006)],
    ['op 7', (server: Server) => server.say({ op: 7, d: null })],
    ['a heartbeat without an answer', () => void vi.advanceTimersByTime(2000)],
    ['op 9 with true', (server: Server) => server.say({ op: 9, d: true })],
  ])('resumes after %s', (_, lose) => {
    const { server, heard } = gateway();
    server.say(hello);
    server.say(ready);
    lose(server);
    vi.advanceTimersByTime(1000);
    expect(server.connections).toHaveLength(2);
    server.say(hello);
    expect(server.last.sent).toEqual([{ op: 6, d: { token: 'token', session_id: 'abc', seq: 1 } }]);
    server.say({ op: 0, s: 2, t: 'RESUMED', d: {} });
    expect(heard).toEqual(['online', 'ready abc', 'offline', 'online', 'RESUMED']);
  });

  test.each([
    ['op 9', (server: Server) => server.say({ op: 9, d: false })],
    ['4009', (server: Server) => server.end(4009)],
  ])('identifies again after %s', (_, lose) => {
    const { server } = gateway();
    server.say(hello);
    server.say(ready);
    lose(server);
    vi.advanceTimersByTime(1000);
    server.say(hello);
    expect(server.last.sent).toMatchObject([{ op: 2 }]);
  });

  test('gives up on a fatal close code, and waits longer after each attempt', () => {
    const { server, heard } = gateway();
    server.end(1006);
    vi.advanceTimersByTime(760);
    expect(server.connections).toHaveLength(2);
    server.end(1006);
    vi.advanceTimersByTime(760);
    expect(server.connections).toHaveLength(2);
    vi.advanceTimersByTime(760);
    expect(server.connections).toHaveLength(3);
    server.end(4004);
    vi.advanceTimersByTime(60_000);
    expect(server.connections).toHaveLength(3);
    expect(heard).toEqual(['offline', 'offline', 'ended 4004 because']);
  });

  test('is silent once closed', () => {
    const { server, heard, link } = gateway();
    server.say(hello);
    link.close();
    server.end(1000);
    vi.advanceTimersByTime(60_000);
    expect(server.connections).toHaveLength(1);
    expect(server.last.code).toBe(1000);
    expect(heard).toEqual([]);
  });
});

function voice() {
  const server = new Server();
  const heard: string[] = [];
  const link = new VoiceLink({
    url: 'ws://test/voice/',
    ticket: {
      serverId: '1',
      channelId: '2',
      userId: '3',
      sessionId: 'abc',
      token: 'token',
      maxDaveVersion: 1,
    },
    open: server.open,
    events: {
      ready: ({ ssrc }) => heard.push(`ready ${ssrc}`),
      json: (op) => heard.push(`json ${op}`),
      binary: (op, payload) => heard.push(`binary ${op} ${payload}`),
      lost: (code) => heard.push(`lost ${code}`),
      resumed: () => heard.push('resumed'),
      ended: ({ code, retry }) => heard.push(`ended ${code} ${retry}`),
    },
  });
  return { server, heard, link };
}

const voiceHello = { op: 8, d: { heartbeat_interval: 1000 } };
const voiceReady = { op: 2, d: { ssrc: 9 } };

describe('the voice link', () => {
  test('identifies with its ticket, and acknowledges text and binary frames', () => {
    const { server, heard, link } = voice();
    server.say(voiceHello);
    expect(server.last.url).toBe('ws://test/voice/?v=9');
    expect(server.last.sent).toMatchObject([
      { op: 0, d: { server_id: '1', channel_id: '2', user_id: '3', session_id: 'abc', token: 'token' } },
    ]);
    server.say(voiceReady);
    server.say({ op: 5, seq: 3, d: {} });
    vi.advanceTimersByTime(1000);
    expect(server.last.sent.at(-1)).toEqual({ op: 3, d: { t: 1, seq_ack: 3 } });
    server.say({ op: 6, d: { t: 1 } });
    server.last.events.message(Uint8Array.of(1, 2, 27, 5, 6));
    vi.advanceTimersByTime(1000);
    expect(server.last.sent.at(-1)).toEqual({ op: 3, d: { t: 2, seq_ack: 258 } });
    link.sendBinary(26, Uint8Array.of(8, 9));
    expect(server.last.sent.at(-1)).toEqual([26, 8, 9]);
    expect(heard).toEqual(['ready 9', 'json 5', 'binary 27 5,6']);
  });

  test('resumes with what it has seen', () => {
    const { server, heard } = voice();
    server.say(voiceHello);
    server.say(voiceReady);
    server.say({ op: 5, seq: 3, d: {} });
    server.end(4015);
    vi.advanceTimersByTime(1000);
    server.say(voiceHello);
    expect(server.last.sent).toMatchObject([{ op: 7, d: { session_id: 'abc', seq_ack: 3 } }]);
    server.say({ op: 9, d: null });
    expect(heard).toEqual(['ready 9', 'json 5', 'lost 4015', 'resumed']);
  });

  test.each([
    [4006, true],
    [4014, false],
    [4017, false],
    [4021, false],
    [4022, false],
  ])('ends when it is closed with %i; another ticket would help: %s', (code, retry) => {
    const { server, heard } = voice();
    server.say(voiceHello);
    server.end(code);
    vi.advanceTimersByTime(60_000);
    expect(server.connections).toHaveLength(1);
    expect(heard).toEqual([`ended ${code} ${retry}`]);
  });

  test('leaves a connection that does not answer, and gives up after eight', () => {
    const { server, heard } = voice();
    server.say(voiceHello);
    vi.advanceTimersByTime(3000);
    expect(server.last.code).toBe(CLOSE_TO_RESUME);
    for (let attempt = 0; attempt < 20; attempt++) {
      vi.advanceTimersByTime(15_000);
      server.end(1006);
    }
    expect(heard.at(-1)).toBe('ended 1006 true');
    expect(server.connections).toHaveLength(9);
  });

  test('is not troubled by what is no frame', () => {
    const { server, heard } = voice();
    for (const text of ['', '{', '[]', 'null', '{"op":"x"}']) server.last.events.message(text);
    for (let length = 0; length < 3; length++) server.last.events.message(new Uint8Array(length));
    expect(heard).toEqual([]);
  });
});

describe('after a pause of the process', () => {
  /** Time passes for the clock, and for no timer. */
  const standStill = (ms: number) => {
    const now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now + ms);
  };
  afterEach(() => void vi.restoreAllMocks());

  test('a gateway connection with an unread answer is kept, and closed when no later answer arrives', () => {
    const { server } = gateway();
    server.say({ op: 10, d: { heartbeat_interval: 40_000 } });
    vi.advanceTimersByTime(40_000);
    standStill(600_000);
    vi.advanceTimersByTime(40_000);
    expect(server.last.code).toBeNull();
    expect(server.last.sent.filter((each) => (each as { op: number }).op === 1)).toHaveLength(2);
    vi.restoreAllMocks();
    vi.advanceTimersByTime(40_000);
    expect(server.connections[0]?.code).toBe(CLOSE_TO_RESUME);
  });
});
