// Goal: the temporary memberships of a user without a session end, each as the store has it, over faults and changes of owner.
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { type Authority, SYSTEM } from '../../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { TemporaryMemberships } from '../../../services/guilds/temporary.ts';
import { settleAll } from '../../support/ownedguild.ts';

const WINDOW_MS = 120_000;
/** After these times the check of all users, and the check after a fault, are over. */
const [CHECKED_MS, RETRIED_MS] = [WINDOW_MS + 6_000, 31_000];
const [ANN, BOB, CAT] = ['77', '78', '79'] as UserId[] as [UserId, UserId, UserId];
const [FIRST, SECOND] = ['1', '2'] as GuildId[] as [GuildId, GuildId];
const SINCE = '2026-01-01T00:00:00.000000+00:00';

let clock: VirtualClock;
let asked: (readonly [string, string, object, Authority])[];
let faults: (readonly [unknown, string])[];
let failing: GuildId | null;
let held: Map<UserId, readonly GuildId[]>;
let open: Set<string>;
let owned: (id: string) => boolean;
let moved: () => void;
let scope: { over: boolean; own(close: () => unknown): void };

function arrange(): TemporaryMemberships {
  const call = async (guildId: GuildId, command: string, input: object, authority: Authority) => {
    asked.push([guildId, command, input, authority]);
    if (guildId === failing) throw new Error('The shard is lost.');
    return { ok: true, value: null };
  };
  return new TemporaryMemberships({
    guilds: { call } as never,
    users: { sessions: (userId) => (open.has(userId) ? [{} as never] : []) },
    storage: {
      users: {
        temporaryGuilds: async (userId) =>
          (held.get(userId) ?? []).map((guildId) => ({ guildId, joinedAt: SINCE })),
        temporaryUsers: async (after, limit) =>
          [...held.keys()].filter((userId) => userId > (after ?? '')).slice(0, limit),
      },
    },
    routing: {
      owns: (id) => owned(id),
      onMoved: (run) => {
        moved = () => run(() => true);
      },
    },
    ...{ wheel: new TimerWheel(clock), scope, resumeWindowMs: WINDOW_MS },
    onFault: (error, id) => faults.push([error, id]),
  });
}

beforeEach(() => {
  clock = new VirtualClock();
  [asked, faults, failing, open] = [[], [], null, new Set()];
  held = new Map([[ANN, [FIRST, SECOND]]]);
  owned = () => true;
  scope = { over: false, own: () => undefined };
});

const pass = async (ms: number): Promise<void> => {
  clock.advance(ms);
  await settleAll();
};
const ends = () =>
  asked.splice(0).map(([guildId, , input]) => [guildId, (input as { userId: string }).userId]);

describe('the end of the last session', () => {
  it('sends each guild a command that names the membership, so that a newer one stays', async () => {
    arrange().ended(ANN);
    await settleAll();
    expect(asked).toEqual(
      [FIRST, SECOND].map((guildId) => [
        ...[guildId, 'endTemporaryMembership', { userId: ANN, joinedAt: SINCE, ifOffline: false }],
        SYSTEM,
      ]),
    );
    expect(faults).toEqual([]);
  });

  it('is repeated after a fault, which is reported with the user, until all guilds have answered', async () => {
    failing = FIRST;
    arrange().ended(ANN);
    await settleAll();
    expect(faults).toMatchObject([[{ message: 'The shard is lost.' }, ANN]]);
    await pass(RETRIED_MS);
    expect(faults).toHaveLength(2);
    failing = null;
    ends();
    await pass(RETRIED_MS);
    expect(asked.map(([, , input]) => input)).toEqual(
      [ANN, ANN].map((userId) => ({ userId, joinedAt: SINCE, ifOffline: true })),
    );
    ends();
    await pass(RETRIED_MS);
    expect(ends()).toEqual([]);
  });

  it('is not repeated for a user who has a session again, or another owner', async () => {
    failing = FIRST;
    held.set(BOB, [FIRST]);
    const memberships = arrange();
    for (const userId of [ANN, BOB]) memberships.ended(userId);
    await settleAll();
    ends();
    open.add(ANN);
    owned = (id) => id !== BOB;
    await pass(RETRIED_MS);
    expect(ends()).toEqual([]);
  });
});

describe('a change of owner', () => {
  it('ends the memberships of own users who have no session when sessions had time to return', async () => {
    for (const userId of [BOB, CAT]) held.set(userId, [FIRST]);
    owned = (id) => id !== CAT;
    arrange();
    await pass(CHECKED_MS);
    ends();
    moved();
    open.add(BOB);
    await pass(WINDOW_MS);
    expect(ends()).toEqual([]);
    await pass(6_000);
    expect(ends()).toEqual([
      [FIRST, ANN],
      [SECOND, ANN],
    ]);
    await pass(CHECKED_MS);
    expect(ends()).toEqual([]);
  });

  it('delays the check of the one before', async () => {
    arrange();
    for (let each = 0; each < 3; each += 1) {
      await pass(WINDOW_MS);
      moved();
    }
    expect(ends()).toEqual([]);
    await pass(CHECKED_MS);
    expect(ends()).toHaveLength(2);
  });

  it('checks all users, page by page, although a guild fails', async () => {
    const users = Array.from({ length: 250 }, (_, n) => String(1_000 + n) as UserId);
    held = new Map(users.map((userId, n) => [userId, [n === 0 ? SECOND : FIRST]]));
    failing = SECOND;
    arrange();
    clock.advance(CHECKED_MS);
    for (let turn = 0; turn < 5; turn += 1) await settleAll();
    expect(ends().map(([, userId]) => userId)).toEqual(users);
    expect(faults).toHaveLength(1);
  });
});

it('checks after the start too, and no more when the server closes', async () => {
  arrange();
  await pass(CHECKED_MS);
  expect(ends()).toHaveLength(2);
  moved();
  scope.over = true;
  await pass(CHECKED_MS);
  expect(ends()).toEqual([]);
});
