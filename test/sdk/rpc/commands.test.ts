// Goal: every published command and event of RPC works or is refused with a documented code, as docs/rpc.md lists them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RPC_COMMANDS, RPC_ERROR, RPC_EVENTS, RPC_OP } from '../../../protocol/rpc.ts';
import { RpcHost } from '../../../sdk/rpc/host.ts';
import { ROOT } from '../../support/root.ts';
import { APPLICATION, ME, ScriptedServer } from '../../support/sdk.ts';

/** @source https://docs.discord.com/developers/topics/rpc#commands-and-events */
const OFFICIAL_COMMANDS = [
  ...['AUTHORIZE', 'AUTHENTICATE', 'GET_GUILD', 'GET_GUILDS', 'GET_CHANNEL', 'GET_CHANNELS', 'SUBSCRIBE'],
  ...['UNSUBSCRIBE', 'SET_USER_VOICE_SETTINGS', 'SELECT_VOICE_CHANNEL', 'GET_SELECTED_VOICE_CHANNEL'],
  ...['SELECT_TEXT_CHANNEL', 'GET_VOICE_SETTINGS', 'SET_VOICE_SETTINGS', 'PUSH_TO_TALK', 'SET_ACTIVITY'],
  ...['SET_CERTIFIED_DEVICES', 'SEND_ACTIVITY_JOIN_INVITE', 'CLOSE_ACTIVITY_REQUEST'],
];
const OFFICIAL_EVENTS = [
  ...['GUILD_STATUS', 'GUILD_CREATE', 'CHANNEL_CREATE', 'VOICE_CHANNEL_SELECT', 'VOICE_STATE_CREATE'],
  ...['VOICE_STATE_UPDATE', 'VOICE_STATE_DELETE', 'VOICE_SETTINGS_UPDATE', 'VOICE_CONNECTION_STATUS'],
  ...['SPEAKING_START', 'SPEAKING_STOP', 'MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE'],
  ...[
    'NOTIFICATION_CREATE',
    'ACTIVITY_JOIN',
    'ACTIVITY_SPECTATE',
    'ACTIVITY_JOIN_REQUEST',
    'ACTIVITY_INVITE',
  ],
  ...['CURRENT_USER_UPDATE', 'RELATIONSHIP_UPDATE', 'ENTITLEMENT_CREATE', 'ENTITLEMENT_DELETE'],
];
/** Scopes that an application can have. */
const SCOPES = [
  ...[
    'rpc',
    'rpc.voice.read',
    'rpc.voice.write',
    'rpc.activities.write',
    'rpc.notifications.read',
    'identify',
  ],
  ...[
    'rpc.video.read',
    'rpc.video.write',
    'rpc.screenshare.read',
    'rpc.screenshare.write',
    'relationships.read',
  ],
  ...['guilds', 'guilds.members.read', 'guilds.channels.read'],
];

/** The names in a table of docs/rpc.md, by the first column. */
function rowsOf(title: string): Map<string, string[]> {
  const page = readFileSync(join(ROOT, 'docs/rpc.md'), 'utf8');
  const [, body = ''] = page.split(`| ${title} | |\n| --- | --- |\n`);
  const [table = ''] = body.split('\n\n');
  return new Map(
    table.split('\n').map((line) => {
      const [, row = '', names = ''] = line.split('|');
      return [
        row.trim(),
        names.match(/[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|OVERLAY|AUTHORIZE|AUTHENTICATE|SUBSCRIBE|UNSUBSCRIBE/g) ??
          [],
      ];
    }),
  );
}
const commandRows = rowsOf('commands');
const eventRows = rowsOf('events');
const codeOf = (row: string): number | null => Number(/^refused with (\d+)$/.exec(row)?.[1] ?? 0) || null;

type Reply = {
  readonly evt?: string | null;
  readonly data?: { readonly code?: number; readonly message?: string };
};

let host: RpcHost;
let ask: (cmd: string, args?: object, evt?: string) => Promise<Reply>;

beforeAll(async () => {
  const server = new ScriptedServer();
  server.answer(`GET /applications/${APPLICATION}/rpc`, () => ({ body: { id: APPLICATION, name: 'Game' } }));
  server.answer('GET /oauth2/@me', () => ({
    body: { application: { id: APPLICATION }, scopes: SCOPES, expires: 'later', user: { id: ME } },
  }));
  server.answer(`GET /applications/${APPLICATION}/skus`, () => ({ body: [] }));
  server.answer(`GET /users/@me/applications/${APPLICATION}/entitlements`, () => ({ body: [] }));
  const { os, openSocket, fetch, createAudio } = server.host();
  host = new RpcHost({
    ...{ api: 'http://server.test/api', gatewayUrl: 'ws://server.test', token: 'own', os, fetch },
    ...{ open: openSocket, nowMs: () => performance.now(), ended: () => undefined, audio: createAudio() },
    page: { locale: 'en', confirm: async () => true, openExternal: () => true, consent: async () => true },
  });
  server.welcome({ guilds: [] });
  await host.started();
  const waiting = new Map<string, (reply: Reply) => void>();
  const connection = host.connect({
    ...{ kind: 'ipc', origin: null, closed: () => undefined },
    send: (_, data) => waiting.get((data as { nonce: string }).nonce ?? '')?.(data as Reply),
  });
  ask = (cmd, args = {}, evt) =>
    new Promise((resolve) => {
      const nonce = `${waiting.size}`;
      waiting.set(nonce, resolve);
      connection.receive(RPC_OP.FRAME, { cmd, args, nonce, evt });
    });
  connection.receive(RPC_OP.HANDSHAKE, { v: 1, client_id: APPLICATION });
  for (let n = 0; n < 8; n += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(await ask('AUTHENTICATE', { access_token: 't' })).toMatchObject({ evt: null });
});
afterAll(() => host?.close());

test('every official command and event is known, and docs/rpc.md lists each once', () => {
  expect(Object.keys(RPC_COMMANDS)).toEqual(expect.arrayContaining(OFFICIAL_COMMANDS));
  expect(Object.keys(RPC_EVENTS)).toEqual(expect.arrayContaining(OFFICIAL_EVENTS));
  expect([...commandRows.values()].flat().sort()).toEqual(Object.keys(RPC_COMMANDS).sort());
  expect([...eventRows.values()].flat().sort()).toEqual(Object.keys(RPC_EVENTS).sort());
});

describe('RPC commands', () => {
  const all = [...commandRows].flatMap(([row, names]) => names.map((name) => [name, row] as const));
  test.each(all)('%s is %s', async (name, row) => {
    const { evt, data } = await ask(name, { channel_id: '1', guild_id: '1', active: false, devices: [] });
    const code = evt === 'ERROR' ? data?.code : undefined;
    const refused = codeOf(row);
    if (refused !== null)
      expect([code, data?.message]).toEqual([refused, expect.stringMatching(/^[A-Z].+\.$/)]);
    else {
      expect([RPC_ERROR.INVALID_COMMAND, RPC_ERROR.UNKNOWN_ERROR]).not.toContain(code);
      expect(data?.message ?? '').not.toContain('has not authenticated');
    }
  });

  test.each(['NOTHING', '__proto__', 'toString', ''])('"%s" does not exist', async (name) => {
    expect(await ask(name)).toMatchObject({ data: { code: RPC_ERROR.INVALID_COMMAND } });
  });
});

describe('RPC events', () => {
  const all = [...eventRows].flatMap(([row, names]) => names.map((name) => [name, row] as const));
  test.each(all)('%s: %s', async (name, row) => {
    const { data } = await ask('SUBSCRIBE', { channel_id: '1', guild_id: '1' }, name);
    const isOfGuild = name === 'GUILD_STATUS' || name === 'CURRENT_GUILD_MEMBER_UPDATE';
    // The person is in no guild here.
    const expected = isOfGuild ? { code: RPC_ERROR.INVALID_GUILD } : { evt: name };
    expect(data).toMatchObject(codeOf(row) === null ? expected : { code: codeOf(row) });
  });

  test.each(['NOTHING', 'READY', '__proto__'])('"%s" cannot be subscribed to', async (name) => {
    expect(await ask('SUBSCRIBE', {}, name)).toMatchObject({ data: { code: RPC_ERROR.INVALID_EVENT } });
  });
});
