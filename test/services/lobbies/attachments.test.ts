// Goal: an open session is attached to every lobby of its user, also when a lobby is overloaded at that moment.
import { expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import { refused } from '../../../engine/kernel/aggregate.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Attachments } from '../../../services/lobbies/attachments.ts';

const [userId, applicationId, lobbyId] = ['11', '7', '50'] as [UserId, ApplicationId, ChannelId];
const session = {
  ...{ sessionId: 's', userId, over: false },
  authorization: { applicationId, scopes: new Set(['lobbies.write']) },
} as unknown as LiveSession;

function arrange() {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const lobby = { isFull: false };
  const scope = new Lifetime(clock);
  const attachments = new Attachments({
    scope,
    ...{ clock, wheel: new TimerWheel(clock), routing: HERE, detach: () => undefined },
    lobbies: { ofUser: async () => [lobbyId] },
    writer: { flush: async () => undefined },
    call: (async (id: ChannelId, type: string) => {
      asked.push(type);
      return lobby.isFull ? refused(refusal('API_OVERLOADED')) : { ok: true, value: { id } };
    }) as never,
    onFault: () => undefined,
  });
  const pass = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  return { attachments, asked, lobby, pass, scope };
}

it('fails to open a session while a lobby of its user is overloaded, so that the client tries again', async () => {
  const { attachments, lobby } = arrange();
  lobby.isFull = true;
  await expect(attachments.opened(session)).rejects.toThrow(NotServed);
  lobby.isFull = false;
  expect(await attachments.opened(session)).toEqual([{ id: lobbyId }]);
});

it('attaches a session to a joined lobby and to one that lost its actor as soon as the lobby is no longer overloaded', async () => {
  const { attachments, asked, lobby, pass } = arrange();
  await attachments.opened(session);
  for (const tell of [
    () => attachments.tell.joined(userId, lobbyId, applicationId),
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

it('reattaches nothing once the server is closing', async () => {
  const { attachments, asked, lobby, pass, scope } = arrange();
  await attachments.opened(session);
  lobby.isFull = true;
  attachments.tell.joined(userId, lobbyId, applicationId);
  await pass(0);
  const before = asked.length;
  await scope.close();
  await pass(1_000);
  expect(asked).toHaveLength(before);
});
