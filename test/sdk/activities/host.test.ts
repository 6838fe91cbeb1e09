// Goal: an activity in a page is accepted from its own frame alone, receives only its own messages, and acts for the
// person only as agreed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Commands, Events } from '@discord/embedded-app-sdk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RPC_ERROR, RPC_EVENTS } from '../../../protocol/rpc.ts';
import { ActivityHost } from '../../../sdk/activities/index.ts';
import { ROOT } from '../../support/root.ts';
import { APPLICATION, ME, PEER, ScriptedServer } from '../../support/sdk.ts';

const [GUILD, CHANNEL, ELSEWHERE, ORIGIN] = ['31', '41', '42', `http://${APPLICATION}.localhost`];
const SCOPES = [
  ...['identify', 'guilds', 'guilds.members.read', 'rpc.voice.read', 'rpc.activities.write'],
  'relationships.read',
];
const ACTIVITY = `/channels/${CHANNEL}/activities/${APPLICATION}`;
const user = (id: string) => ({ id, username: `user${id}` });

interface Frame {
  readonly cmd?: string;
  readonly evt?: string | null;
  readonly nonce?: string | null;
  readonly data?: Readonly<Record<string, unknown>> | null;
}
interface Posted {
  readonly source: unknown;
  readonly origin: string;
  readonly data: unknown;
}

let server: ScriptedServer;
let host: ActivityHost;
let sent: (readonly [number, Frame])[];
let receive: (message: Posted) => void;
let agrees: boolean;
let opened: string[];
let questions: string[];
let endings: string[];
let activities: (object | null)[];
let turn: (isLandscape: boolean) => void;
const contentWindow = {
  postMessage: (message: readonly [number, Frame], origin: string) =>
    origin === ORIGIN && void sent.push(message),
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [sent, agrees, opened, questions, endings, activities] = [[], true, [], [], [], []];
  const frame = { setAttribute: () => undefined, remove: () => undefined, contentWindow, src: '' };
  vi.stubGlobal('document', { createElement: () => frame, body: {} });
  vi.stubGlobal('navigator', { language: 'en' });
  vi.stubGlobal('addEventListener', (_: string, listener: typeof receive) => {
    receive = listener;
  });
  vi.stubGlobal('removeEventListener', () => undefined);
  server = new ScriptedServer();
  vi.stubGlobal('fetch', server.fetch);
  server.answer('GET /users/@me', () => ({ body: user(ME) }));
  server.answer(`GET /users/${PEER}`, () => ({ body: user(PEER) }));
  server.answer(`PUT ${ACTIVITY}`, () => ({
    body: {
      ...{ origin: ORIGIN, heartbeat_interval: 20_000, permissions: '5' },
      activity: { composite_instance_id: 'i-1', location: { id: 'gc' }, participants: [{ user_id: ME }] },
    },
  }));
  server.answer('GET /oauth2/@me', () => ({
    body: { application: { id: APPLICATION }, scopes: SCOPES, expires: 'later', user: user(ME) },
  }));
  host = new ActivityHost({
    ...{ api: 'http://server.test/api', token: 'own', applicationId: APPLICATION },
    ...{ guildId: GUILD, channelId: CHANNEL, container: { replaceChildren: () => undefined } },
    ended: (reason) => void endings.push(reason),
    page: {
      consent: async () => agrees,
      confirm: async (question) => {
        questions.push(question);
        return agrees;
      },
      openExternal: (url) => opened.push(url) > 0,
      setPresence: (activity) => void activities.push(activity),
      chooseImage: async () => null,
      watchOrientation: (turned) => {
        turn = turned;
        return () => undefined;
      },
    },
  });
  await host.start();
  // The frame is named in its address.
  frameId = new URL(frame.src).searchParams.get('frame_id') ?? '';
});
afterEach(() => {
  host.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

let frameId = '';
const settle = async () => {
  for (let n = 0; n < 12; n += 1) await new Promise((resolve) => setImmediate(resolve));
};
const post = (data: unknown, from: Partial<Posted> = {}) =>
  receive({ source: contentWindow, origin: ORIGIN, data, ...from });
let nonces = 0;
async function ask(cmd: string, args: object = {}, evt?: string): Promise<Frame> {
  nonces += 1;
  const nonce = String(nonces);
  post([1, { cmd, args, nonce, ...(evt !== undefined && { evt }) }]);
  await settle();
  return sent.map(([, one]) => one).find((one) => one.nonce === nonce) ?? {};
}
const shake = () => post([0, { v: 1, encoding: 'json', client_id: APPLICATION, frame_id: frameId }]);
async function signIn(): Promise<void> {
  shake();
  await settle();
  expect(await ask('AUTHENTICATE', { access_token: 't' })).toMatchObject({ evt: null });
}
const heard = (event: string) => sent.flatMap(([, { evt, data }]) => (evt === event ? [data] : []));

describe('an activity', () => {
  test.each([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another application', { origin: 'http://5002.localhost' }],
    ['of another window', { source: {} }],
  ])('is ignored in a message %s', async (_, from) => {
    post([0, { v: 1, encoding: 'json', client_id: APPLICATION, frame_id: frameId }], from);
    await settle();
    expect(sent).toEqual([]);
    shake();
    await settle();
    expect(sent).toMatchObject([[1, { evt: 'READY' }]]);
  });

  test.each([
    ['another application', { client_id: '5002' }],
    ['another frame', { frame_id: 'other' }],
  ])('is disconnected when it claims to be %s', async (_, more) => {
    post([0, { v: 1, encoding: 'json', client_id: APPLICATION, frame_id: frameId, ...more }]);
    await settle();
    expect(sent).toMatchObject([[2, { code: 4000 }]]);
    expect(endings).toEqual(['This frame belongs to another application.']);
  });

  test('receives events of its application, channel and user only', async () => {
    await signIn();
    const events = ['CURRENT_USER_UPDATE', 'ENTITLEMENT_CREATE', 'RELATIONSHIP_UPDATE', 'SPEAKING_START'];
    for (const event of events)
      expect(await ask('SUBSCRIBE', {}, event)).toMatchObject({ data: { evt: event } });
    await ask('SUBSCRIBE', { channel_id: CHANNEL }, 'VOICE_STATE_UPDATE');
    await ask('SUBSCRIBE', { guild_id: GUILD }, 'CURRENT_GUILD_MEMBER_UPDATE');
    await ask('SUBSCRIBE', {}, 'ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE');
    for (const id of [PEER, ME]) host.dispatch('USER_UPDATE', user(id));
    for (const id of ['5002', APPLICATION])
      host.dispatch('ENTITLEMENT_CREATE', { id: '9', application_id: id });
    host.dispatch('RELATIONSHIP_ADD', { id: PEER, type: 1, user: user(PEER) });
    for (const id of [ELSEWHERE, CHANNEL])
      host.dispatch('VOICE_STATE_UPDATE', { user_id: PEER, channel_id: id, member: { user: user(PEER) } });
    for (const [guildId, id] of [
      ['32', ME],
      [GUILD, PEER],
      [GUILD, ME],
    ] as const)
      host.dispatch('GUILD_MEMBER_UPDATE', { guild_id: guildId, user: user(id), nick: 'n' });
    for (const id of ['i-2', 'i-1'])
      host.dispatch('EMBEDDED_ACTIVITY_UPDATE_V2', {
        composite_instance_id: id,
        participants: [{ user_id: ME }, { user_id: PEER }],
      });
    host.speaking(PEER, true);
    await settle();
    expect(heard('CURRENT_USER_UPDATE')).toMatchObject([{ id: ME }]);
    expect(heard('ENTITLEMENT_CREATE')).toMatchObject([{ entitlement: { application_id: APPLICATION } }]);
    expect(heard('RELATIONSHIP_UPDATE')).toMatchObject([{ type: 1, user: { id: PEER } }]);
    expect(heard('VOICE_STATE_UPDATE')).toMatchObject([{ user: { id: PEER } }]);
    expect(heard('CURRENT_GUILD_MEMBER_UPDATE')).toMatchObject([{ user_id: ME, guild_id: GUILD }]);
    expect(heard('SPEAKING_START')).toEqual([{ channel_id: CHANNEL, user_id: PEER }]);
    expect(heard('ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE')).toHaveLength(1);
  });

  test('may not subscribe to another channel or guild', async () => {
    await signIn();
    for (const args of [{ channel_id: ELSEWHERE }, { guild_id: '32' }])
      expect(await ask('SUBSCRIBE', args, 'SPEAKING_START')).toMatchObject({
        data: { code: RPC_ERROR.INVALID_CHANNEL },
      });
    expect(await ask('GET_CHANNEL', { channel_id: ELSEWHERE })).toMatchObject({
      data: { code: RPC_ERROR.INVALID_CHANNEL },
    });
  });

  test('ends when its instance has ended while the page was away, and does not begin another one', async () => {
    await signIn();
    server.answer(`PUT ${ACTIVITY}`, () => ({
      body: {
        ...{ origin: ORIGIN, heartbeat_interval: 20_000, permissions: '5' },
        activity: { composite_instance_id: 'i-2', location: { id: 'gc' }, participants: [{ user_id: ME }] },
      },
    }));
    vi.advanceTimersByTime(20_000);
    await settle();
    expect(endings).toEqual(['The activity has ended: this page was away for too long.']);
    expect(server.asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });

  test('renews its participation, and ends after three failures in a row with the reason of the server', async () => {
    const renewals = () => server.asked.filter(({ method }) => method === 'PUT').length;
    await vi.advanceTimersByTimeAsync(20_000);
    await settle();
    expect(renewals()).toBe(2);
    server.answer(`PUT ${ACTIVITY}`, () => ({ status: 403, body: { message: 'Missing Permissions' } }));
    for (let n = 0; n < 3; n += 1) {
      expect(endings).toEqual([]);
      await vi.advanceTimersByTimeAsync(20_000);
      await settle();
    }
    expect(endings).toEqual(['Missing Permissions']);
    expect(server.asked.at(-1)).toMatchObject({ method: 'DELETE', path: expect.stringContaining(frameId) });
  });
});

const SENDING = [
  ['SHARE_LINK', { message: 'Come' }, [`POST /channels/${CHANNEL}/messages`]],
  [
    'OPEN_SHARE_MOMENT_DIALOG',
    { mediaUrl: 'https://a.example/x.png' },
    [`POST /channels/${CHANNEL}/messages`],
  ],
  [
    'INVITE_USER_EMBEDDED',
    { user_id: PEER, content: 'Hi' },
    ['POST /users/@me/channels', 'POST /channels/77/messages'],
  ],
  ['OPEN_INVITE_DIALOG', {}, [`POST /channels/${CHANNEL}/invites`]],
] as const;

describe('a command that acts for the person', () => {
  beforeEach(async () => {
    server.answer(`POST /channels/${CHANNEL}/messages`, () => ({ body: {} }));
    server.answer('POST /channels/77/messages', () => ({ body: {} }));
    server.answer('POST /users/@me/channels', () => ({ body: { id: '77' } }));
    server.answer(`POST /channels/${CHANNEL}/invites`, () => ({ body: { code: 'abc' } }));
    await signIn();
  });
  const made = () => server.asked.flatMap(({ method, path }) => (method === 'POST' ? [`POST ${path}`] : []));

  test.each(SENDING)('%s %j is done when the person agrees', async (cmd, args, calls) => {
    expect(await ask(cmd, args)).toMatchObject({ evt: null });
    expect(made()).toEqual(calls);
    expect(questions).not.toEqual([]);
  });

  test.each(SENDING)('%s %j is not done when the person refuses', async (cmd, args) => {
    agrees = false;
    await ask(cmd, args);
    expect(made()).toEqual([]);
    expect(questions).toHaveLength(1);
  });

  test('opens only web addresses', async () => {
    for (const url of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', ' https://a.example'])
      expect(await ask('OPEN_EXTERNAL_LINK', { url })).toMatchObject({ data: { code: 4000 } });
    expect(await ask('OPEN_EXTERNAL_LINK', { url: 'https://a.example/' })).toMatchObject({
      data: { opened: true },
    });
    expect(opened).toEqual(['https://a.example/']);
  });

  test('shows its activity under its own name', async () => {
    await ask('SET_ACTIVITY', { activity: { type: 0, details: 'Plays', application_id: '1' } });
    expect(activities).toEqual([
      { name: 'Activity', type: 0, details: 'Plays', application_id: APPLICATION },
    ]);
  });

  test('waits in turn: at most five questions are open or wait', async () => {
    agrees = true;
    const many = await Promise.all(
      Array.from({ length: 8 }, (_, n) => ask('OPEN_EXTERNAL_LINK', { url: `https://a.example/${n}` })),
    );
    const refused = many.filter(({ data }) => data?.code === RPC_ERROR.RATE_LIMITED);
    expect([questions.length, refused.length]).toEqual([5, 3]);
  });
});

describe('a command that an activity shares', () => {
  const command = {
    ...{ id: '71', version: '72', type: 1, name: 'duel', application_id: APPLICATION },
    options: [{ type: 4, name: 'rounds' }],
  };
  const share = { command: 'duel', options: [{ name: 'rounds', value: '3' }], content: 'Join me!' };
  let used: object[];
  beforeEach(async () => {
    used = [];
    server.answer(`GET /channels/${CHANNEL}/application-command-index`, () => ({
      body: { application_commands: [{ ...command, id: '70', application_id: '9' }, command] },
    }));
    server.answer('POST /interactions', ({ body }) => {
      used.push(body as object);
      return { status: 204 };
    });
    await signIn();
  });

  test('is used in the channel, as the person has agreed to', async () => {
    expect(await ask('SHARE_INTERACTION', share)).toMatchObject({ data: { success: true } });
    expect(questions).toEqual(['Use /duel rounds:3 in this channel? Join me!']);
    expect(used).toEqual([
      {
        ...{ type: 2, application_id: APPLICATION, channel_id: CHANNEL, guild_id: GUILD },
        data: {
          id: '71',
          version: '72',
          type: 1,
          name: 'duel',
          options: [{ type: 4, name: 'rounds', value: 3 }],
        },
      },
    ]);
  });

  test('is not used when the person refuses', async () => {
    agrees = false;
    expect(await ask('SHARE_INTERACTION', share)).toMatchObject({ data: { success: false } });
    expect(used).toEqual([]);
  });

  test.each([
    ['is not of the application', { command: 'other' }],
    ['has an unknown option', { command: 'duel', options: [{ name: 'no', value: '1' }] }],
    ['has a value of another kind', { command: 'duel', options: [{ name: 'rounds', value: 'many' }] }],
    ['has no list of options', { command: 'duel', options: 'rounds' }],
  ])('is refused before the person is asked when it %s', async (_, args) => {
    expect(await ask('SHARE_INTERACTION', args)).toMatchObject({ data: { code: RPC_ERROR.INVALID_PAYLOAD } });
    expect([questions, used]).toEqual([[], []]);
  });
});

describe('an activity that has subscribed', () => {
  test('receives orientation changes', async () => {
    await signIn();
    await ask('SUBSCRIBE', {}, 'ORIENTATION_UPDATE');
    for (const isLandscape of [true, false]) turn(isLandscape);
    expect(heard('ORIENTATION_UPDATE')).toEqual([
      { screen_orientation: 1, orientation: 'landscape' },
      { screen_orientation: 0, orientation: 'portrait' },
    ]);
  });

  test('receives the join secret of a party when the user accepts its invite', async () => {
    await signIn();
    await ask('SUBSCRIBE', {}, 'ACTIVITY_JOIN');
    server.answer(`GET /users/${PEER}/sessions/s1/activities/${APPLICATION}/1`, () => ({
      body: { secret: 'opens' },
    }));
    const invite = {
      ...{ id: '81', channel_id: '82', author: user(PEER), application: { id: APPLICATION } },
      activity: { type: 1, session_id: 's1', party_id: 'p' },
    };
    await host.accept(invite);
    expect(heard('ACTIVITY_JOIN')).toEqual([{ applicationId: APPLICATION, secret: 'opens' }]);
    await expect(host.accept({ ...invite, application: { id: '9' } })).rejects.toThrow('not valid');
  });
});

describe('the stock SDK', () => {
  const page = readFileSync(join(ROOT, 'docs/activities.md'), 'utf8');
  const row = (name: string) => page.split('\n').find((line) => line.startsWith(`| ${name}`)) ?? '';
  const REFUSED = ['GET_QUEST', 'GET_QUEST_ENROLLMENT_STATUS', 'QUEST_START_TIMER'];
  /** The enumeration of the SDK names them, but the SDK does not send them. */
  const OF_GAMES = [
    ...['GET_GUILDS', 'GET_GUILD', 'GET_CHANNELS', 'SELECT_VOICE_CHANNEL', 'SELECT_TEXT_CHANNEL'],
    ...['CAPTURE_SHORTCUT', 'SET_CERTIFIED_DEVICES', 'SEND_ANALYTICS_EVENT'],
  ];

  test.each(
    Object.values(Commands)
      .map(String)
      .filter((name) => !OF_GAMES.includes(name)),
  )('has its command %s answered, or refused as documented in docs/activities.md', async (name) => {
    await signIn();
    const { data } = await ask(name, { channel_id: CHANNEL, id: PEER, user_id: PEER });
    const isUnknown = data?.code === RPC_ERROR.INVALID_COMMAND;
    expect(isUnknown).toBe(REFUSED.includes(name));
    const told = name.replace(/_EMBEDDED$/, '');
    const listed = isUnknown ? row('refused') : row('work') + row('accepted');
    expect(listed).toContain(
      isUnknown && name.includes('QUEST') ? 'quests' : name.startsWith('INVITE') ? name : told,
    );
  });

  test('may subscribe to each of its events, with their scopes', () => {
    const { READY: _ready, ...events } = Events as Record<string, string>;
    expect(Object.keys(RPC_EVENTS)).toEqual(expect.arrayContaining(Object.values(events)));
  });
});
