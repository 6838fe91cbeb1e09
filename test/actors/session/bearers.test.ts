// Goal: an application that acts for a user gets a session that says and does what it was granted, and nothing more.
import { describe, expect, it } from 'vitest';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { CAPABILITY } from '../../../protocol/capabilities.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { Scope } from '../../../protocol/scopes.ts';
import {
  actingFor,
  arrange,
  dispatchOf,
  FakeSink,
  HUMAN,
  identifyWith,
  settled,
  TOKEN_ENDS_MS,
} from './harness.ts';

type Arranged = ReturnType<typeof arrange>;

const USER = HUMAN.userId;
const GAME = '300' as ApplicationId;
const OTHER_GAME = '301' as ApplicationId;
const CONNECT = ['identify', 'gateway.connect'] as const;
const LAYER: readonly Scope[] = [...CONNECT, 'lobbies.write', 'activities.write', 'voice'];
const CLOSE = { code: 4004, reason: '' };

function arranged(settings = {}): Arranged {
  const all = arrange(settings);
  const { tokens } = all.backend;
  tokens.set('game', actingFor(USER, LAYER));
  tokens.set('newer', actingFor(USER, CONNECT, { expiresMs: TOKEN_ENDS_MS * 2 }));
  tokens.set('bare', actingFor(USER, CONNECT));
  tokens.set('mute', actingFor(USER, ['identify', 'lobbies.write']));
  tokens.set('other game', actingFor(USER, LAYER, { applicationId: OTHER_GAME }));
  return all;
}

async function open(
  { sessions }: Arranged,
  change: Parameters<typeof identifyWith>[0],
  sink = new FakeSink(),
) {
  const outcome = await sessions.identify(identifyWith({ intents: INTENTS.LOBBIES, ...change }), sink);
  await settled();
  if (outcome.kind !== 'open') throw new Error(`not open: ${JSON.stringify(outcome)}`);
  return { session: outcome.session as GatewaySessionActor, sink };
}

async function resume({ sessions }: Arranged, { id, seq }: { id: string; seq: number }, token: string) {
  const sink = new FakeSink();
  const outcome = await sessions.resume({ token, sessionId: id, seq }, sink);
  await settled();
  return { outcome, sink };
}

describe('IDENTIFY of an application that acts for a user', () => {
  it('is answered with READY without guilds, and its presence is ignored', async () => {
    const all = arranged();
    const presence = { since: null, activities: [], status: 'dnd', afk: false } as never;
    const { sink } = await open(all, { token: 'game', presence });
    expect(sink.names).toEqual(['READY']);
    expect(sink.sent[0]?.d).toMatchObject({ session_type: 'oauth', guilds: [], scopes: LAYER });
    expect(all.backend.named('presence')).toMatchObject([['presence', { status: 'online' }]]);
  });

  it('closes with 4004 and the missing scope', async () => {
    const { sessions } = arranged();
    const outcome = await sessions.identify(identifyWith({ token: 'mute' }), new FakeSink());
    expect(outcome).toMatchObject({ code: 4004, reason: expect.stringContaining('gateway.connect') });
    expect(sessions.size).toBe(0);
  });

  it('does not use up session starts of its user or of the user’s other applications', async () => {
    const { sessions, clock } = arranged({ limited: true, sessionStartsPerDay: 2 });
    const codes: unknown[] = [];
    for (const token of ['game', 'game', 'game', 'other game', 'human']) {
      const outcome = await sessions.identify(identifyWith({ token }), new FakeSink());
      codes.push(outcome.kind === 'closed' ? outcome.code : outcome.kind);
      clock.advance(10_000);
    }
    expect(codes).toEqual(['open', 'open', 4004, 'open', 'open']);
  });

  it('has one static_client_session_id in all sessions of one grant, and another for another grant', async () => {
    const all = arranged();
    const names: unknown[] = [];
    for (const token of ['game', 'newer', 'other game']) {
      const { sink } = await open(all, { token });
      names.push((sink.sent[0]!.d as Record<string, unknown>).static_client_session_id);
    }
    expect(names[0]).toBe(names[1]);
    expect(names[0]).not.toBe(names[2]);
    expect(names[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});

describe('lobbies', () => {
  const lobbies = [{ id: '51' }, { id: '52' }];

  it('are part of READY for a client with the capability', async () => {
    const all = arranged();
    all.backend.lobbies = lobbies;
    const { sink } = await open(all, { token: 'game', capabilities: CAPABILITY.AUTO_LOBBY_CONNECT });
    expect(sink.names).toEqual(['READY']);
    expect(sink.sent[0]?.d).toMatchObject({ lobbies });
  });

  it('follow READY one by one at the pace of the client, with later dispatches behind them', async () => {
    const all = arranged();
    all.backend.lobbies = lobbies;
    const sink = new FakeSink();
    sink.room = false;
    const { session } = await open(all, { token: 'game' }, sink);
    expect(sink.sent[0]?.d).not.toHaveProperty('lobbies');
    session.deliver(dispatchOf('meanwhile'));
    sink.makeRoom();
    await settled();
    expect(sink.names).toEqual(['READY', 'LOBBY_CREATE']);
    sink.room = true;
    sink.makeRoom();
    await settled();
    expect(sink.names).toEqual(['READY', 'LOBBY_CREATE', 'LOBBY_CREATE', 'MESSAGE_CREATE']);
    expect(sink.seqs).toEqual([1, 2, 3, 4]);
    expect(sink.sent.slice(1, 3).map(({ d }) => d)).toEqual(lobbies);
  });

  it('are not sent to clients that did not request them', async () => {
    const all = arranged();
    all.backend.lobbies = lobbies;
    const { sink, session } = await open(all, { token: 'game', intents: 0 });
    session.deliver(dispatchOf('later'));
    expect(sink.names).toEqual(['READY', 'MESSAGE_CREATE']);
  });

  it('release all state when their session ends before all are sent', async () => {
    const all = arranged();
    all.backend.lobbies = lobbies;
    const sink = new FakeSink();
    sink.room = false;
    const { session } = await open(all, { token: 'game' }, sink);
    session.detach(sink, false);
    sink.room = true;
    sink.makeRoom();
    await settled();
    expect(sink.names).toEqual(['READY']);
    expect(all.backend.live.size).toBe(0);
    expect(all.backend.named('ended')).toHaveLength(1);
  });
});

describe('requests of a session', () => {
  const ask = (session: GatewaySessionActor) => {
    session.ask({ name: 'presence', input: { status: 'idle' } as never });
    session.ask({ name: 'voiceState', input: { guildId: null } as never });
    session.ask({ name: 'stream', input: { type: 'ping', streamKey: '' } });
    session.ask({ name: 'lobbyVoice', input: [] });
    session.ask({ name: 'lobbyVoiceServer', input: '51' as ChannelId });
    session.ask({ name: 'members', input: { guildId: '5', query: '', userIds: null, limit: 0 } as never });
    session.ask({ name: 'soundboard', input: [] });
    session.ask({ name: 'channelInfo', input: { guildId: '5' as never, fields: [] } });
  };
  const asked = async (all: Arranged, session: GatewaySessionActor): Promise<unknown[]> => {
    const before = all.backend.calls.length;
    ask(session);
    await settled();
    return all.backend.calls.slice(before).map(([name]) => name);
  };

  it.each([
    ['game', ['presence', 'voiceState', 'stream', 'lobbyVoice', 'lobbyVoiceServer']],
    ['bare', []],
    ['human', ['presence', 'voiceState', 'stream', 'soundboard', 'channelInfo', 'members']],
    ['bot', ['presence', 'voiceState', 'soundboard', 'channelInfo']],
  ])('are admitted for the token "%s" as far as permitted: %j', async (token, names) => {
    const all = arranged();
    const { session } = await open(all, { token });
    expect(await asked(all, session)).toEqual(names);
  });

  it('are ignored after the token has expired, while dispatches continue, until a RESUME with another token', async () => {
    const all = arranged();
    const { tokens } = all.backend;
    const { session, sink } = await open(all, { token: 'game' });
    all.clock.advance(604_800_000);
    expect(await asked(all, session)).toEqual([]);
    session.deliver(dispatchOf('still heard'));
    expect(sink.names).toEqual(['READY', 'MESSAGE_CREATE']);
    tokens.set('refreshed', actingFor(USER, [...CONNECT, 'voice'], { expiresMs: TOKEN_ENDS_MS * 2 }));
    const resumed = await resume(all, session, 'refreshed');
    expect(resumed.sink.names).toEqual(['RESUMED']);
    expect(await asked(all, session)).toEqual(['voiceState', 'stream']);
  });
});

describe('RESUME', () => {
  it.each([
    ['newer', 'open'],
    ['other game', 'invalid'],
    ['human', 'invalid'],
    ['bot', 'invalid'],
    ['mute', 4004],
    ['unknown', 4004],
  ])('answers the token "%s" for an application’s session with %s', async (token, answer) => {
    const all = arranged();
    const { session, sink } = await open(all, { token: 'game' });
    const { outcome } = await resume(all, session, token);
    expect(outcome.kind === 'closed' ? outcome.code : outcome.kind).toBe(answer);
    if (answer !== 'open') session.deliver(dispatchOf('still here'));
    expect(sink.closedWith).toBe(answer === 'open' ? 4000 : null);
    if (answer !== 'open') expect(sink.names).toEqual(['READY', 'MESSAGE_CREATE']);
  });

  it('refuses the session of a user to an application', async () => {
    const all = arranged();
    const { session } = await open(all, { token: 'human' });
    expect((await resume(all, session, 'game')).outcome.kind).toBe('invalid');
  });
});

describe('a revoked authorization', () => {
  it('ends and notifies the sessions of that application only', async () => {
    const all = arranged();
    const game = await open(all, { token: 'game' });
    const rest = [await open(all, { token: 'other game' }), await open(all, { token: 'human' })];
    all.sessions.closeSessionsOfGrant(USER, GAME, CLOSE, 'another grant');
    expect(game.sink.closedWith).toBeNull();
    all.sessions.closeSessionsOfGrant(USER, GAME, CLOSE);
    expect(game.sink.sent.at(-1)).toMatchObject({
      t: 'OAUTH2_TOKEN_REVOKE',
      d: { application_id: GAME },
    });
    expect(game.sink.closedWith).toBe(4004);
    expect((await resume(all, game.session, 'game')).outcome.kind).toBe('invalid');
    for (const { sink } of rest) expect(sink.closedWith).toBeNull();
    all.sessions.closeSessionsOfGrant('999' as UserId, GAME, CLOSE);
    expect(all.sessions.size).toBe(rest.length);
  });
});

describe('the sessions of a grant', () => {
  it('are ended by its revocation also after another session of it has ended', async () => {
    const all = arranged();
    const [first, second, third] = [
      await open(all, { token: 'game' }),
      await open(all, { token: 'game' }),
      await open(all, { token: 'game' }),
    ];
    first.session.end(CLOSE);
    second.session.end(CLOSE);
    all.sessions.closeSessionsOfGrant(USER, GAME, CLOSE);
    expect(third.sink.names).toEqual(['READY', 'OAUTH2_TOKEN_REVOKE']);
    expect(all.sessions.size).toBe(0);
  });
});

describe('the number of sessions', () => {
  it('is counted by kind', async () => {
    const all = arranged();
    for (const token of ['game', 'bot', 'human', 'other', 'newer', 'bot']) await open(all, { token });
    const { sessions } = all;
    expect([sessions.sizeOf('bot'), sessions.sizeOf('person'), sessions.sizeOf('application')]).toEqual([
      3, 1, 2,
    ]);
  });
});

describe('a revoked token of the user', () => {
  it('ends the sessions that it opened, not those of applications', async () => {
    const all = arranged();
    const game = await open(all, { token: 'game' });
    const own = await open(all, { token: 'human' });
    all.sessions.closeSessionsOf(USER, CLOSE);
    expect(own.sink.closedWith).toBe(4004);
    expect(game.sink.closedWith).toBeNull();
  });
});

describe('AUTHORIZE_REQUEST', () => {
  it('reaches subscribed sessions, also after a RESUME, until they unsubscribe', async () => {
    const all = arranged();
    const { sessions } = all;
    const game = { userId: USER, applicationId: GAME };
    const wanting = await open(all, { token: 'game' });
    const other = await open(all, { token: 'game' });
    expect(sessions.requestAuthorization(USER, GAME, 'r0')).toBe(0);
    expect(sessions.wantAuthorizeRequests(game, wanting.session.id, true)).toBe(true);
    expect(sessions.requestAuthorization(USER, GAME, 'r1')).toBe(1);
    expect(wanting.sink.sent.at(-1)).toMatchObject({
      t: 'AUTHORIZE_REQUEST',
      d: { application_id: GAME, request_id: 'r1' },
    });
    expect(other.sink.names).toEqual(['READY']);
    const { sink } = await resume(all, wanting.session, 'game');
    expect(sessions.requestAuthorization(USER, GAME, 'r2')).toBe(1);
    expect(sink.names).toEqual(['RESUMED', 'AUTHORIZE_REQUEST']);
    sessions.wantAuthorizeRequests(game, wanting.session.id, false);
    expect(sessions.requestAuthorization(USER, GAME, 'r3')).toBe(0);
  });

  it('is subscribed only for sessions of the caller', async () => {
    const all = arranged();
    const { session } = await open(all, { token: 'game' });
    const of = (userId: string, applicationId: ApplicationId | null) => ({
      userId: userId as UserId,
      applicationId,
    });
    const { sessions } = all;
    expect(sessions.wantAuthorizeRequests(of(USER, OTHER_GAME), session.id, true)).toBe(false);
    expect(sessions.wantAuthorizeRequests(of(USER, null), session.id, true)).toBe(false);
    expect(sessions.wantAuthorizeRequests(of('999', GAME), session.id, true)).toBe(false);
    expect(sessions.wantAuthorizeRequests(of(USER, GAME), 'nowhere', true)).toBe(false);
    session.end(CLOSE);
    expect(sessions.wantAuthorizeRequests(of(USER, GAME), session.id, true)).toBe(false);
  });
});
