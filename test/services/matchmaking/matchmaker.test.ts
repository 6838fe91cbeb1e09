// Goal: each ticket ends once, whatever happens to its lobby and to the owner of the application.
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { userAuthority } from '../../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, FreshId, TicketId, UserId } from '../../../protocol/ids.ts';
import { Matchmaker } from '../../../services/matchmaking/matchmaker.ts';

const APPLICATION = '7' as ApplicationId;
const LOBBY = '50' as ChannelId;
const [ANN, BEN] = ['11', '12'] as [UserId, UserId];

/** A queue for two. `lobbies` answers each creation of a lobby; the last answer stays. */
function arrange(...lobbies: ('made' | 'fault' | 'never')[]) {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const matched: object[] = [];
  const state = { owned: true, moved: (_: (id: string) => boolean): void => undefined, created: 0, ids: 0 };
  const createWith = async (_: string, input: { matched(lobbyId: ChannelId): readonly object[] }) => {
    const how = lobbies[Math.min(state.created, lobbies.length - 1)];
    state.created += 1;
    if (how === 'fault') throw new Error('No lobby.');
    if (how === 'never') return new Promise(() => undefined);
    matched.push(...input.matched(LOBBY));
    return { ok: true, value: { lobbyId: LOBBY, missing: [] } };
  };
  const matchmaker = new Matchmaker({
    lobbies: { call: async () => undefined, extensions: { createWith } },
    notifier: {
      notify: (userId: string, _: string, { status }: { status: string }) => sent.push(`${userId} ${status}`),
    },
    routing: {
      owns: () => state.owned,
      onMoved: (run: typeof state.moved) => Object.assign(state, { moved: run }),
    },
    ...{ clock, wheel: new TimerWheel(clock), scope: { over: false, own: () => undefined } },
    nextId: () => String(state.ids++) as FreshId,
    onFault: () => undefined,
  } as never);
  matchmaker.define('duel', { size: 2, timeoutMs: 60_000, everyMs: 1_000 });
  const draft = { queue: 'duel', properties: {}, lobbyId: null, userIds: null };
  return {
    ...{ state, sent, matched },
    enter: async (userId: UserId) => {
      const reply = await matchmaker.enter(draft, userAuthority(userId, APPLICATION));
      return reply.ok ? reply.value.id : reply.refusal.code;
    },
    statusOf: async (id: TicketId | number, userId: UserId) => {
      const reply = await matchmaker.get(id as TicketId, userAuthority(userId, APPLICATION));
      return reply.ok ? [reply.value.status, reply.value.lobby_id] : reply.refusal.code;
    },
    async pass(ms: number) {
      for (let at = 0; at < ms; at += 100) {
        clock.advance(100);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
  };
}

it('sends matched tickets with the members of the lobby, and does not send them by itself', async () => {
  const { enter, pass, matched, sent, statusOf } = arrange('made');
  const [a, b] = [await enter(ANN), await enter(BEN)];
  await pass(200);
  expect(matched).toMatchObject([
    { id: a, status: 'matched', lobby_id: LOBBY, user_ids: [ANN] },
    { id: b, status: 'matched', lobby_id: LOBBY, user_ids: [BEN] },
  ]);
  expect([await statusOf(a, ANN), await statusOf(b, BEN), sent]).toEqual([
    ['matched', LOBBY],
    ['matched', LOBBY],
    [],
  ]);
});

it('fails at the third lobby that cannot be created, and not before', async () => {
  const twice = arrange('fault', 'fault', 'made');
  const spared = await twice.enter(ANN);
  await twice.enter(BEN);
  await twice.pass(5_000);
  expect([await twice.statusOf(spared, ANN), twice.state.created]).toEqual([['matched', LOBBY], 3]);
  const { enter, pass, state, sent } = arrange('fault');
  await enter(ANN);
  await enter(BEN);
  await pass(5_000);
  expect([state.created, sent]).toEqual([3, [`${ANN} failed`, `${BEN} failed`]]);
});

it('fails when another shard owns the application, and stays when this shard still does', async () => {
  const { enter, state, sent, statusOf } = arrange('made');
  const ticket = await enter(ANN);
  state.moved(() => true);
  expect(await statusOf(ticket, ANN)).toEqual(['waiting', null]);
  state.owned = false;
  state.moved(() => false);
  expect(sent).toEqual([]);
  state.moved(() => true);
  expect([sent, await statusOf(ticket, ANN)]).toEqual([[`${ANN} failed`], ['failed', null]]);
});

it('fails when its lobby cannot be created and another shard owns the application by then', async () => {
  const { enter, pass, state, sent } = arrange('fault', 'never');
  await enter(ANN);
  await enter(BEN);
  state.owned = false;
  await pass(300);
  expect([state.created, sent]).toEqual([1, [`${ANN} failed`, `${BEN} failed`]]);
});
