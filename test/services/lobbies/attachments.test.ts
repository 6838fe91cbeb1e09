// Goal: an open session is attached to every lobby of its user, also when a lobby is overloaded at that moment.
import { describe, expect, it } from 'vitest';
import { HERE, type Routing } from '../../../actors/placement/routing.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import { refused } from '../../../engine/kernel/aggregate.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { ALL_INTENTS } from '../../../protocol/intents.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Attachments } from '../../../services/lobbies/attachments.ts';
import { createRepeating } from '../../../services/repeating.ts';
import { seatOf } from '../../actors/call/harness.ts';

const [userId, applicationId, lobbyId] = ['11', '7', '50'] as [UserId, ApplicationId, ChannelId];
const session = {
  ...{ sessionId: 's', userId, over: false },
  authorization: { applicationId, scopes: new Set(['lobbies.write']) },
} as unknown as LiveSession;

function arrange(more: Partial<Routing> = {}) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const inputs: unknown[] = [];
  const detached: string[] = [];
  const lobby = { isFull: false, isUnreachable: false, stored: [lobbyId] };
  const scope = new Lifetime(clock);
  const wheel = new TimerWheel(clock);
  const repeating = createRepeating({ wheel, scope, onFault: () => undefined });
  const attachments = new Attachments({
    scope,
    ...{ clock, wheel, routing: { ...HERE, ...more } },
    detach: async (id, _userId, sessionId) => {
      if (lobby.isUnreachable) throw new NotServed('The lobby has no owner.');
      detached.push(`${id} ${sessionId}`);
      return null;
    },
    lobbies: { ofUser: async () => lobby.stored },
    writer: { flush: async () => undefined },
    call: (async (id: ChannelId, type: string, input: unknown) => {
      asked.push(type);
      inputs.push(input);
      return lobby.isFull ? refused(refusal('API_OVERLOADED')) : { ok: true, value: { id } };
    }) as never,
    ...repeating,
    onFault: () => undefined,
  });
  const pass = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  return { attachments, asked, inputs, detached, lobby, pass, scope, wake: repeating.wake };
}

it('fails to open a session while a lobby of its user is overloaded, so that the client tries again', async () => {
  const { attachments, lobby } = arrange();
  lobby.isFull = true;
  await expect(attachments.opened(session)).rejects.toThrow(NotServed);
  lobby.isFull = false;
  expect(await attachments.opened(session)).toEqual([{ id: lobbyId }]);
});

it('attaches a session to a lobby that lost its actor once, as soon as the lobby is loaded', async () => {
  const { attachments, asked, lobby, pass, wake } = arrange();
  await attachments.opened(session);
  lobby.isFull = true;
  attachments.tell.lost(userId, lobbyId, ['s']);
  for (let attempts = 0; attempts < 4; attempts += 1) await pass(8_000);
  asked.length = 0;
  // It is overloaded once more: the first delay begins again.
  attachments.tell.back(userId, lobbyId);
  await pass(600);
  expect(asked.length).toBeGreaterThan(1);
  lobby.isFull = false;
  asked.length = 0;
  wake('51' as ChannelId);
  await pass(10);
  expect(asked).toEqual([]);
  wake(lobbyId);
  await pass(10);
  const { length } = asked;
  wake(lobbyId);
  await pass(60_000);
  expect([length > 0, asked.length]).toEqual([true, length]);
});

it('attaches a session to a joined lobby and to one that lost its actor as soon as the lobby is no longer overloaded', async () => {
  const { attachments, asked, lobby, pass } = arrange();
  await attachments.opened(session);
  for (const tell of [
    () => attachments.tell.joined(userId, lobbyId, applicationId, false),
    () => attachments.tell.lost(userId, lobbyId, ['s']),
  ]) {
    lobby.isFull = true;
    asked.length = 0;
    tell();
    await pass(600);
    expect(asked).toEqual(['attachSessions', 'attachSessions']);
    lobby.isFull = false;
    await pass(1_100);
    await pass(60_000);
    expect(asked).toHaveLength(3);
  }
});

it('reports a session in voice again to a lobby that lost its actor', async () => {
  const { attachments, asked, pass } = arrange();
  const here = { ...session, principal: { userId, bot: false, applicationId, authorization: null } };
  await attachments.opened(here as LiveSession);
  attachments.voiceStates(here as LiveSession, [
    { lobbyId, selfMute: false, selfDeaf: false, selfVideo: false },
  ]);
  await pass(0);
  asked.length = 0;
  attachments.tell.lost(userId, lobbyId, ['s']);
  await pass(0);
  expect(asked).toEqual(['attachSessions', 'setVoice']);
});

it('leaves the calls of all its lobbies when a session from another owner is in none, and then only those that it was in', async () => {
  const { attachments, asked, inputs, pass } = arrange();
  const here = { ...session, principal: { userId, bot: false, applicationId, authorization: null } };
  await attachments.opened(here as LiveSession, true);
  asked.length = 0;
  inputs.length = 0;
  attachments.voiceStates(here as LiveSession, []);
  await pass(0);
  expect([asked.splice(0), inputs]).toEqual([['leaveVoice'], [{ sessionId: 's' }]]);
  attachments.voiceStates(here as LiveSession, []);
  await pass(0);
  expect(asked).toEqual([]);
});

it('sends a session the address of a call once, and again when it asks, when it is another, and to another object of the session', async () => {
  const { attachments, pass } = arrange();
  const sent: unknown[] = [];
  const open = async () => {
    const deliver = ({ d }: { readonly d: { readonly token: string } }) => sent.push(d.token);
    const made = { ...session, ...{ bot: false, intents: ALL_INTENTS, principal: { userId } }, deliver };
    await attachments.opened(made as unknown as LiveSession);
    return made as unknown as LiveSession;
  };
  const invite = (token: string) =>
    attachments.tell.invited(
      userId,
      seatOf('11', { callId: lobbyId, sessionId: 's' }),
      token,
      'voice.example',
    );
  const first = await open();
  for (const token of ['a', 'a', 'b', 'b']) invite(token);
  expect(sent.splice(0)).toEqual(['a', 'b']);
  attachments.voiceServerPing(first, lobbyId);
  await pass(0);
  invite('b');
  expect(sent.splice(0)).toEqual(['b']);
  const wish = { lobbyId, selfMute: false, selfDeaf: false, selfVideo: false };
  attachments.voiceStates(first, [wish]);
  invite('b');
  expect(sent).toEqual([]);
  attachments.voiceStates(first, []);
  invite('b');
  await open();
  invite('b');
  expect(sent).toEqual(['b', 'b']);
});

it.each([
  ['was removed from the lobby and is a member again', false],
  ['was dropped from the call', true],
])('does not report a session again for a call when it %s', async (_how, isMember) => {
  const { attachments, asked, pass } = arrange();
  const here = { ...session, principal: { userId, authorization: null } } as unknown as LiveSession;
  await attachments.opened(here);
  attachments.voiceStates(here, [{ lobbyId, selfMute: false, selfDeaf: false, selfVideo: false }]);
  attachments.tell.left(userId, lobbyId, ['s', 'of another'], isMember);
  attachments.tell.joined(userId, lobbyId, applicationId, false);
  await pass(0);
  attachments.moved(() => true);
  await pass(0);
  expect(asked.filter((type) => type === 'setVoice')).toHaveLength(1);
  expect(attachments.entering(lobbyId, applicationId, userId)).toHaveLength(1);
});

/** What each report says of the session: whether it is in the call, and with which microphone. */
const reportsOf = (asked: readonly string[], inputs: readonly unknown[]) =>
  asked.flatMap((type, at) =>
    type.endsWith('Voice') ? [[type, (inputs[at] as { selfMute?: boolean }).selfMute]] : [],
  );

describe('a session that asks for voice', () => {
  const here = { ...session, principal: { userId, authorization: null } } as unknown as LiveSession;
  const wish = (selfMute: boolean) => ({ lobbyId, selfMute, selfDeaf: false, selfVideo: false });

  it('is reported as it asked last, after the lobby was overloaded, joining or leaving', async () => {
    for (const last of [[], [wish(true)]]) {
      const { attachments, asked, inputs, lobby, pass } = arrange();
      await attachments.opened(here);
      lobby.isFull = true;
      attachments.voiceStates(here, [wish(false)]);
      await pass(100);
      attachments.voiceStates(here, last);
      await pass(100);
      lobby.isFull = false;
      for (const list of [asked, inputs]) list.length = 0;
      await pass(1_000);
      await pass(60_000);
      const report = last.length > 0 ? ['setVoice', true] : ['leaveVoice', undefined];
      expect(reportsOf(asked, inputs)).toEqual([report]);
    }
  });

  it('is reported once more after the report under way, however often it asks meanwhile', async () => {
    const { attachments, asked, inputs, pass } = arrange();
    await attachments.opened(here);
    for (const wishes of [[wish(false)], [wish(true)], [], [wish(true)]])
      attachments.voiceStates(here, wishes);
    expect(reportsOf(asked, inputs)).toEqual([['setVoice', false]]);
    await pass(0);
    expect(reportsOf(asked, inputs)).toEqual([
      ['setVoice', false],
      ['setVoice', true],
    ]);
    attachments.voiceStates(here, []);
    await pass(0);
    expect(reportsOf(asked, inputs).at(-1)).toEqual(['leaveVoice', undefined]);
  });

  it('is reported to the next owner of the lobby only while it is in the call', async () => {
    const { attachments, asked, inputs, pass } = arrange();
    const reports = async () => {
      for (const list of [asked, inputs]) list.length = 0;
      attachments.moved(() => true);
      await pass(0);
      return reportsOf(asked, inputs);
    };
    await attachments.opened(here);
    expect(await reports()).toEqual([]);
    attachments.voiceStates(here, [wish(true)]);
    expect(await reports()).toEqual([['setVoice', true]]);
    attachments.voiceStates(here, []);
    await pass(0);
    expect(await reports()).toEqual([]);
  });

  it('is not reported any more when it has ended', async () => {
    const { attachments, asked, inputs, lobby, pass } = arrange();
    await attachments.opened(here);
    lobby.isFull = true;
    attachments.voiceStates(here, [wish(false)]);
    await pass(100);
    attachments.ended(here);
    lobby.isFull = false;
    for (const list of [asked, inputs]) list.length = 0;
    await pass(60_000);
    expect(reportsOf(asked, inputs)).toEqual([]);
  });
});

it('does not report a session again for a call that its user has joined with another', async () => {
  const { attachments, inputs, pass } = arrange();
  const of = (sessionId: string) =>
    ({ ...session, sessionId, principal: { userId, authorization: null } }) as unknown as LiveSession;
  const [first, second] = [of('s'), of('s2')];
  for (const each of [first, second]) await attachments.opened(each);
  const wish = { lobbyId, selfMute: false, selfDeaf: false, selfVideo: false };
  for (const each of [first, second]) attachments.voiceStates(each, [wish]);
  inputs.length = 0;
  attachments.moved(() => true);
  await pass(0);
  const reported = inputs.filter((input) => (input as { selfMute?: boolean }).selfMute !== undefined);
  expect(reported).toEqual([{ selfMute: false, selfDeaf: false, selfVideo: false, sessionId: 's2' }]);
});

it('attaches nothing of a session that was opened twice and has ended', async () => {
  const { attachments } = arrange();
  await attachments.opened(session);
  // Its link broke, and it was opened again as another object.
  const again = { ...session } as LiveSession;
  await attachments.opened(again);
  expect(attachments.entering(lobbyId, applicationId, userId)).toHaveLength(1);
  attachments.ended(again);
  expect(attachments.entering(lobbyId, applicationId, userId)).toEqual([]);
});

it('sends a lobby again, once for many causes, to the attached sessions that have missed a part of it', async () => {
  const { attachments, inputs, lobby, pass } = arrange();
  for (const sessionId of ['s', 'other']) await attachments.opened({ ...session, sessionId } as LiveSession);
  await attachments.opened({ ...session, sessionId: 'ended' } as LiveSession);
  inputs.length = 0;
  const named = (...sessionIds: string[]) => sessionIds.map((sessionId) => ({ sessionId }));
  for (let times = 0; times < 3; times += 1)
    attachments.outdated(lobbyId, named('s', 'ended', 'of another shard'));
  attachments.outdated('60', named('s'));
  attachments.ended({ ...session, sessionId: 'ended' } as LiveSession);
  lobby.isFull = true;
  expect(inputs).toEqual([]);
  await pass(100);
  lobby.isFull = false;
  await pass(60_000);
  const again = { userId, sessions: [{ sessionId: 's' }], announce: true, again: true };
  expect(inputs).toMatchObject([again, again]);
  attachments.outdated(lobbyId, named('other'));
  await pass(100);
  expect(inputs.slice(2)).toMatchObject([{ ...again, sessions: [{ sessionId: 'other' }] }]);
});

it('sends a lobby again once when it answers, whatever was missed until then, and not to who has left it', async () => {
  const { attachments, inputs, lobby, pass } = arrange();
  for (const sessionId of ['s', 'other', 'third'])
    await attachments.opened({ ...session, sessionId } as LiveSession);
  const outdated = (...ids: string[]) =>
    attachments.outdated(
      lobbyId,
      ids.map((sessionId) => ({ sessionId })),
    );
  lobby.isFull = true;
  for (let times = 0; times < 10; times += 1) {
    outdated('s', 'third');
    await pass(1);
  }
  outdated('other');
  attachments.tell.left(userId, lobbyId, ['third'], false);
  lobby.isFull = false;
  inputs.length = 0;
  await pass(60_000);
  expect(inputs).toMatchObject([{ sessions: [{ sessionId: 's' }, { sessionId: 'other' }], again: true }]);
  outdated('third');
  await pass(60_000);
  expect(inputs).toHaveLength(1);
});

it('reattaches nothing once the server is closing', async () => {
  const { attachments, asked, lobby, pass, scope } = arrange();
  await attachments.opened(session);
  lobby.isFull = true;
  attachments.tell.joined(userId, lobbyId, applicationId, false);
  await pass(0);
  const before = asked.length;
  await scope.close();
  await pass(1_000);
  expect(asked).toHaveLength(before);
});

describe('a join whose lobby is not known yet', () => {
  const CLUSTER = { standalone: false, inFlightMs: 15_000 };
  const other = '60' as ChannelId;
  const open = async (arranged: ReturnType<typeof arrange>, sessionId = 's') => {
    const it = { ...session, sessionId } as LiveSession;
    await arranged.attachments.opened(it);
    return it;
  };

  it('attaches only sessions that it did not name, and sends them the lobby', async () => {
    const arranged = arrange(CLUSTER);
    const { attachments, inputs, pass } = arranged;
    await open(arranged);
    const join = attachments.joining(applicationId, userId);
    expect(join.sessions.map(({ sessionId }) => sessionId)).toEqual(['s']);
    await open(arranged, 'late');
    inputs.length = 0;
    // The report of the lobby overtakes the reply.
    attachments.tell.joined(userId, other, applicationId, true);
    await pass(0);
    expect(inputs).toEqual([]);
    join.end({ kind: 'joined', lobbyId: other });
    await pass(0);
    expect(inputs).toMatchObject([{ sessions: [{ sessionId: 'late' }], announce: true }]);
  });

  it('detaches a session that ended meanwhile', async () => {
    const arranged = arrange(CLUSTER);
    const { attachments, detached } = arranged;
    const ending = await open(arranged);
    const join = attachments.joining(applicationId, userId);
    attachments.ended(ending);
    detached.length = 0;
    join.end({ kind: 'joined', lobbyId: other });
    expect(detached).toEqual(['60 s']);
  });

  it('names all sessions of a user only when the user moved here some time ago', async () => {
    const { attachments, pass } = arrange(CLUSTER);
    attachments.moved((id) => id === userId);
    const joined = attachments.joining(applicationId, userId);
    expect(joined.areAll).toBe(false);
    expect(attachments.joining(applicationId, '12' as UserId).areAll).toBe(true);
    await pass(10_000);
    expect(attachments.joining(applicationId, userId).areAll).toBe(true);
  });

  it('is looked up in the store when its outcome stays unknown', async () => {
    const arranged = arrange(CLUSTER);
    const { attachments, detached, inputs, lobby, pass } = arranged;
    lobby.stored = [];
    const ending = await open(arranged);
    const join = attachments.joining(applicationId, userId);
    attachments.ended(ending);
    join.end({ kind: 'unknown' });
    await open(arranged, 'late');
    lobby.stored = [lobbyId];
    await pass(15_000);
    expect(detached).toEqual(['50 s']);
    expect(inputs).toMatchObject([{ sessions: [{ sessionId: 'late' }], announce: true }]);
  });
});

it('refuses to open a session whose user another shard owns by then, so that the session is opened again', async () => {
  const { attachments, asked } = arrange({ owns: () => false });
  await expect(attachments.opened(session)).rejects.toThrow(NotServed);
  expect([asked, attachments.members]).toEqual([[], 0]);
});

it('detaches a session that ended while the lease of its shard was over, once ownership is clear again', async () => {
  const { attachments, detached } = arrange();
  const ending = { ...session, over: false };
  await attachments.opened(ending as unknown as LiveSession);
  ending.over = true;
  attachments.moved(() => false);
  expect([detached, attachments.members]).toEqual([[`${lobbyId} s`], 0]);
});

it('repeats the end of a session until the owner of the lobby has answered', async () => {
  const { attachments, detached, lobby, pass } = arrange();
  await attachments.opened(session);
  lobby.isUnreachable = true;
  attachments.ended(session);
  await pass(500);
  lobby.isUnreachable = false;
  expect(detached).toEqual([]);
  await pass(1_000);
  expect(detached).toEqual([`${lobbyId} s`]);
  await pass(60_000);
  expect(detached).toHaveLength(1);
});

it('detaches an ended session once more when commands of before its end have arrived', async () => {
  const { attachments, detached, pass } = arrange({ standalone: false, inFlightMs: 15_000 });
  await attachments.opened(session);
  attachments.ended(session);
  expect(detached.splice(0)).toEqual([`${lobbyId} s`]);
  // Until then a command in flight may have attached it.
  await pass(15_000);
  expect(detached).toEqual([`${lobbyId} s`]);
});

it('does not repeat the end of a session that has opened again', async () => {
  const { attachments, detached, lobby, pass } = arrange();
  await attachments.opened(session);
  lobby.isUnreachable = true;
  attachments.ended(session);
  await pass(0);
  lobby.isUnreachable = false;
  await attachments.opened(session);
  await pass(60_000);
  expect(detached).toEqual([]);
});

describe('A check of sessions by a lobby', () => {
  it('detaches the sessions that are not open', async () => {
    const { attachments, detached, pass } = arrange();
    await attachments.opened(session);
    attachments.tell.check(userId, lobbyId, ['s', 'gone']);
    await pass(0);
    expect(detached).toEqual([`${lobbyId} gone`]);
  });

  it('detaches no session of a moved user before it may have opened again', async () => {
    const { attachments, detached, pass } = arrange();
    attachments.moved((id) => id === userId);
    attachments.tell.check(userId, lobbyId, ['s']);
    await pass(5_000);
    expect(detached).toEqual([]);
    await attachments.opened(session);
    for (let second = 0; second < 60; second += 1) await pass(1_000);
    expect(detached).toEqual([]);
  });
});
