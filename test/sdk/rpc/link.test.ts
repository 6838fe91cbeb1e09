// Goal: an activity does what its scopes allow, once it has authenticated, and a hostile one gets errors or is cut off.
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  hasNeeded,
  RPC_CLOSE,
  RPC_COMMANDS,
  RPC_ERROR,
  RPC_EVENTS,
  RPC_SCOPE,
  type RpcEvent,
} from '../../../protocol/rpc.ts';
import {
  type Authenticated,
  type CommandRunner,
  RpcClosed,
  RpcError,
  RpcLink,
} from '../../../sdk/rpc/link.ts';

const FRAME = 1;
const HANDSHAKE = [0, { v: 1, encoding: 'json', client_id: '5', frame_id: 'f' }];

interface Sent {
  readonly cmd?: string;
  readonly evt?: string | null;
  readonly nonce?: string | null;
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly code?: number;
}

let link: RpcLink;
let sent: (readonly [number, Sent])[];
let ran: string[];
let endings: number[];
let nowMs: number;
let runner: CommandRunner;
let scopes: readonly string[];

beforeEach(() => {
  [sent, ran, endings, nowMs, scopes] = [[], [], [], 0, []];
  runner = {
    authenticate: async (): Promise<Authenticated> => ({
      token: 't',
      scopes: new Set(scopes),
      body: { scopes },
    }),
    run: async (command) => {
      ran.push(command);
      return { ran: command };
    },
    subscribed: (_, { channel_id: channelId }) => (typeof channelId === 'string' ? channelId : null),
  };
  link = new RpcLink({
    ...{ scopes: [EMBEDDED], nowMs: () => nowMs },
    accept({ client_id: clientId, frame_id: frameId }) {
      if (clientId !== '5' || frameId !== 'f') throw new RpcClosed('INVALID_CLIENTID', 'Another frame.');
      return {
        ready: { v: 1 },
        runner: {
          authenticate: (args) => runner.authenticate(args),
          run: (...all) => runner.run(...all),
          subscribed: (...all) => runner.subscribed(...all),
        },
      };
    },
    send: (message) => sent.push(message as never),
    ended: (code) => endings.push(code),
  });
});

let nonces = 0;
async function ask(cmd: string, args: object = {}, evt?: string): Promise<Sent> {
  nonces += 1;
  const nonce = String(nonces);
  link.receive([FRAME, { cmd, args, nonce, ...(evt !== undefined && { evt }) }]);
  await new Promise((resolve) => setImmediate(resolve));
  return sent.map(([, one]) => one).find((one) => one.nonce === nonce) ?? {};
}
const signIn = async (...granted: readonly string[]) => {
  scopes = granted;
  await ask('AUTHENTICATE', { access_token: 't' });
};
const denied = { evt: 'ERROR', data: { code: RPC_ERROR.INVALID_PERMISSIONS } };
const { EMBEDDED, AUTHENTICATED, LOCAL } = RPC_SCOPE;
const GATED = Object.entries(RPC_COMMANDS).filter(([, needs]) => !hasNeeded(needs, new Set([EMBEDDED])));
/** Lists of scopes that a token may have. */
const granted = (needs: 'nothing' | readonly (readonly string[])[]) =>
  (needs === 'nothing' ? [] : needs).filter((all) => !all.includes(LOCAL) && !all.includes(AUTHENTICATED));

describe('a handshake', () => {
  test('is answered with READY', () => {
    link.receive(HANDSHAKE);
    expect(sent).toEqual([[FRAME, { cmd: 'DISPATCH', evt: 'READY', nonce: null, data: { v: 1 } }]]);
  });

  test.each([
    [{ client_id: '6' }, RPC_CLOSE.INVALID_CLIENTID],
    [{ frame_id: 'g' }, RPC_CLOSE.INVALID_CLIENTID],
    [{ v: 2 }, RPC_CLOSE.INVALID_VERSION],
    [{ encoding: 'etf' }, RPC_CLOSE.INVALID_ENCODING],
  ])('is closed, with %j, with %i', (change, code) => {
    link.receive([0, { v: 1, encoding: 'json', client_id: '5', frame_id: 'f', ...change }]);
    expect(sent).toMatchObject([[2, { code }]]);
    expect(endings).toEqual([code]);
    link.receive(HANDSHAKE);
    expect(sent).toHaveLength(1);
  });

  test('is required before any command, and revokes the grants of an earlier page', async () => {
    expect(await ask('CAPTURE_LOG')).toEqual({});
    link.receive(HANDSHAKE);
    await signIn('identify');
    expect(await ask('USER_SETTINGS_GET_LOCALE')).toMatchObject({ evt: null });
    link.receive(HANDSHAKE);
    expect(await ask('USER_SETTINGS_GET_LOCALE')).toMatchObject(denied);
  });

  test('ends the subscriptions of an earlier page', async () => {
    link.receive(HANDSHAKE);
    await ask('SUBSCRIBE', {}, 'ACTIVITY_LAYOUT_MODE_UPDATE');
    link.receive(HANDSHAKE);
    link.emit('ACTIVITY_LAYOUT_MODE_UPDATE', {});
    expect(sent.filter(([, { evt }]) => evt === 'ACTIVITY_LAYOUT_MODE_UPDATE')).toHaveLength(0);
  });

  test('discards an authentication that an earlier page had started', async () => {
    link.receive(HANDSHAKE);
    const { authenticate } = runner;
    let finish = (): void => undefined;
    const pending = new Promise<void>((resolve) => {
      finish = resolve;
    });
    scopes = ['identify'];
    runner.authenticate = (args) => pending.then(() => authenticate(args));
    void ask('AUTHENTICATE', { access_token: 't' });
    link.receive(HANDSHAKE);
    finish();
    expect(await ask('CAPTURE_LOG')).toMatchObject({ evt: null });
    expect(await ask('USER_SETTINGS_GET_LOCALE')).toMatchObject(denied);
  });
});

describe('a command', () => {
  beforeEach(() => link.receive(HANDSHAKE));

  test.each(GATED)(
    '%s is refused without its scope, before and after authentication',
    async (command, needs) => {
      expect(await ask(command)).toMatchObject(denied);
      await signIn('email');
      const isOpen = hasNeeded(needs, new Set([EMBEDDED, AUTHENTICATED, 'email']));
      expect(await ask(command)).toMatchObject(isOpen ? { evt: null } : denied);
      expect(ran).toEqual(isOpen ? [command] : []);
      for (const all of granted(needs)) {
        await signIn(...all);
        expect(await ask(command)).toMatchObject({ cmd: command, evt: null, data: { ran: command } });
      }
    },
  );

  test('fails with the code of its refusal, and with 1000 for any other fault', async () => {
    runner = { ...runner, run: () => Promise.reject(new RpcError('INVALID_USER', 'Who?')) };
    expect(await ask('GET_USER')).toMatchObject({ evt: 'ERROR', data: { code: 4010, message: 'Who?' } });
    runner = { ...runner, run: () => Promise.reject(new Error('secret detail')) };
    const failed = await ask('GET_USER');
    expect(failed).toMatchObject({ evt: 'ERROR', data: { code: 1000 } });
    expect(JSON.stringify(failed)).not.toContain('secret');
  });

  test.each(['NOTHING', '__proto__', 'toString', 'constructor'])('named %s is unknown', async (name) => {
    expect(await ask(name)).toMatchObject({ evt: 'ERROR', data: { code: RPC_ERROR.INVALID_COMMAND } });
  });

  test('is refused with 4000 without a nonce', () => {
    link.receive([FRAME, { cmd: 'GET_USER', args: {} }]);
    expect(sent.at(-1)).toMatchObject([FRAME, { cmd: 'GET_USER', nonce: null, data: { code: 4000 } }]);
  });

  test('is refused beyond 32 concurrent ones', async () => {
    runner = { ...runner, run: () => new Promise(() => undefined) };
    for (let n = 0; n < 32; n++) expect(await ask('GET_USER')).toEqual({});
    expect(await ask('GET_USER')).toMatchObject({ data: { code: RPC_ERROR.RATE_LIMITED } });
  });
});

describe('an event', () => {
  beforeEach(() => link.receive(HANDSHAKE));
  const events = Object.keys(RPC_EVENTS) as RpcEvent[];

  test.each(events)(
    '%s is dispatched with its scopes after a subscription, until the unsubscription',
    async (event) => {
      const heard = () => sent.filter(([, one]) => one.cmd === 'DISPATCH' && one.evt === event).length;
      link.emit(event, {});
      expect(heard()).toBe(0);
      const needs = RPC_EVENTS[event];
      if (needs !== 'nothing') {
        expect(await ask('SUBSCRIBE', {}, event)).toMatchObject(denied);
        const [all = ['rpc']] = granted(needs);
        // Only for local connections.
        if (!hasNeeded(needs, new Set([...all, AUTHENTICATED]))) return;
        await signIn(...all);
      }
      expect(await ask('SUBSCRIBE', {}, event)).toMatchObject({ evt: null, data: { evt: event } });
      link.emit(event, {});
      expect(heard()).toBe(1);
      await ask('UNSUBSCRIBE', {}, event);
      link.emit(event, {});
      expect(heard()).toBe(1);
    },
  );

  test('is no longer sent after its application has authenticated with fewer scopes', async () => {
    await signIn('relationships.read');
    await ask('SUBSCRIBE', {}, 'RELATIONSHIP_UPDATE');
    await signIn('identify');
    link.emit('RELATIONSHIP_UPDATE', {});
    expect(sent.filter(([, { evt }]) => evt === 'RELATIONSHIP_UPDATE')).toEqual([]);
    await signIn('relationships.read');
    link.emit('RELATIONSHIP_UPDATE', {});
    expect(sent.filter(([, { evt }]) => evt === 'RELATIONSHIP_UPDATE')).toHaveLength(1);
  });

  test('reaches only subscriptions to its channel or to any', async () => {
    await signIn('rpc');
    await ask('SUBSCRIBE', { channel_id: '7' }, 'MESSAGE_CREATE');
    const heard = () =>
      sent.filter(([, one]) => one.evt === 'MESSAGE_CREATE' && one.cmd === 'DISPATCH').length;
    link.emit('MESSAGE_CREATE', {}, '8');
    expect(heard()).toBe(0);
    link.emit('MESSAGE_CREATE', {}, '7');
    expect(heard()).toBe(1);
    await ask('UNSUBSCRIBE', { channel_id: '7' }, 'MESSAGE_CREATE');
    link.emit('MESSAGE_CREATE', {}, '7');
    expect(heard()).toBe(1);
  });

  test('is subscribed to for at most 256 channels', async () => {
    await signIn('rpc');
    for (let n = 0; n < 256; n += 1) {
      nowMs += 1_000;
      expect(await ask('SUBSCRIBE', { channel_id: String(n) }, 'MESSAGE_CREATE')).toMatchObject({
        evt: null,
      });
    }
    const subscribe = (channelId: string) => ask('SUBSCRIBE', { channel_id: channelId }, 'MESSAGE_CREATE');
    expect(await subscribe('256')).toMatchObject({ data: { code: RPC_ERROR.RATE_LIMITED } });
    await ask('UNSUBSCRIBE', { channel_id: '0' }, 'MESSAGE_CREATE');
    expect(await subscribe('256')).toMatchObject({ evt: null });
  });

  test.each(['READY', 'NOTHING', '__proto__'])('named %s cannot be subscribed to', async (event) => {
    expect(await ask('SUBSCRIBE', {}, event)).toMatchObject({ data: { code: RPC_ERROR.INVALID_EVENT } });
  });
});

describe('a hostile activity', () => {
  test('is not read when its messages are too large, too deep or cyclic', async () => {
    link.receive(HANDSHAKE);
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const deep = Array.from({ length: 20 }).reduce<object>((inner) => ({ inner }), {});
    const giants = [
      cyclic,
      deep,
      { text: 'x'.repeat(65_537) },
      { ['x'.repeat(65_537)]: 1 },
      { list: Array(5_000).fill(1) },
      { m: new Map() },
    ];
    for (const args of giants) expect(await ask('CAPTURE_LOG', args)).toEqual({});
    expect(await ask('CAPTURE_LOG', { text: 'x'.repeat(60_000) })).toMatchObject({ evt: null });
  });

  test('is rate-limited within a window, and disconnected when it continues', async () => {
    link.receive(HANDSHAKE);
    for (let n = 0; n < 300; n++) link.receive([FRAME, { cmd: 'CAPTURE_LOG', nonce: 'n' }]);
    expect(await ask('CAPTURE_LOG')).toEqual({});
    nowMs = 5_000;
    expect(await ask('CAPTURE_LOG')).toMatchObject({ evt: null });
    for (let n = 0; n < 4_000; n++) link.receive(null);
    expect(endings).toEqual([RPC_CLOSE.RATELIMITED]);
    nowMs = 10_000;
    expect(await ask('CAPTURE_LOG')).toEqual({});
  });

  test('never makes the page throw', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.anything(), fc.tuple(fc.constantFrom(0, 1, 2), fc.anything()))),
        (all) => {
          for (const message of all) link.receive(message);
        },
      ),
    );
  });
});
