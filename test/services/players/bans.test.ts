// Goal: a ban from the server reaches everything that hangs on an account, whatever breaks meanwhile, and ends with its time.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import { until } from '../../support/instance.ts';
import { codeOf, openPlayers } from './arrange.ts';

const MINUTE_MS = 60_000;
let at: Awaited<ReturnType<typeof openPlayers>>;
let game: Awaited<ReturnType<typeof at.game>>;

beforeAll(async () => {
  at = await openPlayers();
}, 60_000);
afterAll(() => at.instance.close());
beforeEach(async () => {
  game = await at.game();
  at.part.fail = false;
  at.part.gate = null;
  for (const list of [at.part.moves, at.told, at.faults, at.later]) list.splice(0);
});

const merge = (userId: UserId, token: string) =>
  at.players.merge({ applicationId: game.id, userId, ...at.botProof(token) });
const linkedTo = async (player: string) => {
  const external = { providerType: 'BOT', providerId: null, providerIssuedUserId: player } as const;
  return (await at.players.identity(game.id, external))?.userId ?? null;
};
const completed = (userId: UserId) =>
  until(() => at.told.some(({ userId: to, t }) => to === userId && t === 'USER_MERGE_OPERATION_COMPLETED'));

/** Until nothing is being moved any more. */
async function through(): Promise<void> {
  let left = 1;
  for (let turn = 0; left > 0 && turn < 500; turn += 1) {
    left = (await at.instance.storage.identities.merges()).length;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  expect(left).toBe(0);
}

describe('a ban', () => {
  async function bannedPlayer(untilMs: number | null) {
    const { token } = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    await merge(ada.userId, token);
    await completed(ada.userId);
    await at.players.banned(ada.userId, untilMs);
    return ada;
  }
  /** A user who is banned while their merge waits. */
  async function bannedDuringMerge() {
    const { token } = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    let open = () => {};
    at.part.gate = new Promise((resolve) => {
      open = resolve;
    });
    await merge(ada.userId, token);
    await at.players.banned(ada.userId, null);
    const finishMerge = async () => {
      at.part.gate = null;
      open();
      await completed(ada.userId);
    };
    return { ada, finishMerge };
  }
  const again = async (userId: UserId) => merge(userId, (await at.enter(game.id, 'p1')).token);

  test('ends every token and gives the player a restricted account while it lasts', async () => {
    const endMs = at.instance.clock.now() + MINUTE_MS;
    const ada = await bannedPlayer(endMs);
    expect(await at.players.isBanned(ada.userId)).toBe(true);
    expect(await at.instance.features.oauth.grants(ada.userId)).toEqual([]);
    const bob = await at.person(game.id);
    expect(codeOf(await again(bob.userId))).toBe(530_017);
    at.instance.clock.advance(MINUTE_MS);
    expect(await at.players.isBanned(ada.userId)).toBe(false);
    expect(codeOf(await again(bob.userId))).toBe(0);
    await completed(bob.userId);
  });

  test('refuses a merge whose access was granted before it', async () => {
    const { token } = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    await at.players.banned(ada.userId, null);
    expect(codeOf(await merge(ada.userId, token))).toBe(50_025);
    expect(await linkedTo('p1')).not.toBe(ada.userId);
  });

  test('lasts until it is lifted if it has no end', async () => {
    const ada = await bannedPlayer(null);
    const bob = await at.person(game.id);
    at.instance.clock.advance(1_000 * MINUTE_MS);
    expect(codeOf(await again(bob.userId))).toBe(530_017);
    // Any shard lifts it.
    at.foreign.add(ada.userId);
    await at.players.unbanned(ada.userId);
    expect(codeOf(await again(bob.userId))).toBe(0);
    await completed(bob.userId);
  });

  test('interrupted by a crash is completed at the next start', async () => {
    const { token } = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    await merge(ada.userId, token);
    await completed(ada.userId);
    const { oauth } = at.instance.features;
    const { id: elsewhere } = await at.game();
    const order = { userId: ada.userId, applicationId: elsewhere, refreshable: false };
    await oauth.issue({ ...order, scopes: ['identify'] });
    at.part.gate = new Promise(() => {});
    // The ban is durable, a player of the account parts from it, and nothing answers any more.
    void at.players.banned(ada.userId, null);
    await until(() => at.told.some(({ t }) => t === 'USER_APPLICATION_IDENTITY_REMOVE'));
    at.part.gate = null;
    expect(await oauth.granted(ada.userId, elsewhere)).not.toBeNull();
    await at.start().resume();
    expect(await oauth.grants(ada.userId)).toEqual([]);
    expect(await linkedTo('p1')).not.toBe(ada.userId);
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });

  test('lifted before the next start is not resumed', async () => {
    const ada = await at.person(game.id);
    const move = { kind: 'ban', id: at.instance.foundation.nextId(), userId: ada.userId } as const;
    await at.instance.commit(ada.userId, [{ type: 'moveBegun', move }]);
    await at.start().resume();
    expect(await at.instance.features.oauth.authenticate(ada.token)).not.toBeNull();
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });

  test('is retried until it succeeds while the user is being merged', async () => {
    const { ada, finishMerge } = await bannedDuringMerge();
    expect(at.later).toHaveLength(1);
    expect(await linkedTo('p1')).toBe(ada.userId);
    await finishMerge();
    at.later.splice(0).forEach((run) => void run());
    await through();
    expect(await linkedTo('p1')).not.toBe(ada.userId);
    expect(at.faults).toEqual([]);
  });

  test('is a fault for the log only when the merge lasts longer than the longest pause between retries', async () => {
    const { finishMerge } = await bannedDuringMerge();
    const retry = async () => {
      const [run] = at.later.splice(0);
      run?.();
      await until(() => at.later.length === 1);
    };
    for (let pauseMs = 2_000; pauseMs < MINUTE_MS; pauseMs *= 2) await retry();
    expect(at.faults).toEqual([]);
    await retry();
    expect(at.faults.splice(0)).toHaveLength(1);
    await finishMerge();
    for (const run of at.later.splice(0)) run();
    await through();
  });

  test('refuses the player of a banned provisional account', async () => {
    const player = await at.enter(game.id, 'p1');
    await at.players.banned(player.userId, null);
    expect(await at.instance.features.oauth.authenticate(player.token)).toBeNull();
    expect(codeOf(await at.players.signInByBot(game.id, 'p1', null))).toBe(40_007);
  });
});
