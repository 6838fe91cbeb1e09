// Goal: every follower receives a published message despite faults, and work that is done is not repeated.
import { expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { Webhook } from '../../../engine/webhook/webhook.ts';
import { snowflakeAt, type WebhookId } from '../../../protocol/ids.ts';
import { Crossposts } from '../../../services/webhooks/crossposts.ts';
import type { QueuedCrosspost } from '../../../storage/webhook/port.ts';

const START_MS = 1_750_000_000_000;

/** A queue with one message, and followers of it by id; those in `failing`, and messages in it, fail as often as it says. */
function arrange(followerCount: number, failing = new Map<string, number>()) {
  const clock = new VirtualClock(START_MS);
  const wheel = new TimerWheel(clock, 10);
  const scope = new Lifetime(clock);
  const followers = Array.from(
    { length: followerCount },
    (_, index) => ({ id: String(1_000 + index) as WebhookId, guild_id: String(5_000 + index) }) as Webhook,
  );
  const state = {
    queue: [
      { guildId: '1', channelId: '2', messageId: '3', id: snowflakeAt(START_MS), creates: true },
    ] as unknown as QueuedCrosspost[],
    heard: [] as string[],
    faults: 0,
    owns: (_guildId: string) => true,
  };
  const make = () =>
    new Crossposts({
      store: {
        crossposts: async (after, limit) =>
          state.queue.filter(({ id }) => after === null || BigInt(id) > BigInt(after)).slice(0, limit),
        followers: async (_, after, limit) =>
          followers.filter(({ id }) => after === null || BigInt(id) > BigInt(after)).slice(0, limit),
        dropCrosspost: async ({ id }) => {
          state.queue = state.queue.filter((one) => one.id !== id);
        },
      },
      messages: { get: async () => [{ id: '3' }] as never },
      guilds: {
        call: (async (guildId: string, _: string, input: { webhookId: string; sourceId: string }) => {
          const { webhookId, sourceId } = input;
          const key = failing.has(sourceId) ? sourceId : webhookId;
          const left = failing.get(key) ?? 0;
          if (left > 0) {
            failing.set(key, left - 1);
            throw new Error(`Guild ${guildId} does not answer.`);
          }
          state.heard.push(webhookId);
          return { ok: true, value: null };
        }) as never,
      },
      routing: { owns: (guildId) => state.owns(guildId) },
      ...{ wheel, scope },
      nowMs: () => clock.now(),
      onFault: () => {
        state.faults += 1;
      },
    });
  const pass = async (ms: number) => {
    for (let done = 0; done < ms; done += 1_000) {
      clock.advance(1_000);
      for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
    }
  };
  return { state, make, pass, scope };
}

test('work that an earlier process has left is done soon after the start', async () => {
  const { state, make, pass } = arrange(250);
  make().start();
  await pass(6_000);
  expect(new Set(state.heard).size).toBe(250);
  expect(state.heard).toHaveLength(250);
  expect(state.queue).toEqual([]);
});

test('a failed follower is retried until it succeeds, and the work stays queued until then', async () => {
  const { state, make, pass } = arrange(3, new Map([['1001', 2]]));
  const crossposts = make();
  crossposts.wake();
  await pass(1_000);
  expect(state.queue).toHaveLength(1);
  expect(state.heard).not.toContain('1001');
  await pass(12_000);
  expect(state.heard).toContain('1001');
  expect([state.queue.length, state.faults]).toEqual([0, 2]);
});

test('a follower that fails for a day is given up', async () => {
  const { state, make, pass } = arrange(1, new Map([['1000', Number.POSITIVE_INFINITY]]));
  make().start();
  await pass(10_000);
  expect(state.queue).toHaveLength(1);
  (state.queue[0] as { id: string }).id = snowflakeAt(START_MS - 86_400_000);
  await pass(10_000);
  expect(state.queue).toEqual([]);
});

test('work for guilds of another shard is left to that shard', async () => {
  const { state, make, pass } = arrange(1);
  state.owns = () => false;
  make().start();
  await pass(6_000);
  expect([state.heard.length, state.queue.length]).toEqual([0, 1]);
});

test('many messages that fail, or that another shard owns, do not hold up a later one', async () => {
  for (const isOther of [false, true]) {
    const failing = Array.from({ length: 250 }, (_, index) => [String(100 + index), 1_000] as const);
    const { state, make, pass } = arrange(1, new Map(isOther ? [] : failing));
    state.owns = (guildId) => !isOther || guildId === '1';
    const at = (index: number) => ({ messageId: String(100 + index), id: snowflakeAt(START_MS + index) });
    state.queue = Array.from({ length: 250 }, (_, index) => ({
      ...({ guildId: '9', channelId: '2', creates: true } as unknown as QueuedCrosspost),
      ...(at(index) as object),
    })) as QueuedCrosspost[];
    state.queue.push({ ...state.queue[0]!, guildId: '1' as never, ...(at(250) as object) });
    make().wake();
    await pass(20_000);
    expect(state.queue.some(({ guildId }) => guildId === '1')).toBe(false);
    expect(state.queue).toHaveLength(250);
  }
});

test('nothing is done after the end', async () => {
  const { state, make, pass, scope } = arrange(1);
  const crossposts = make();
  crossposts.start();
  await scope.close();
  crossposts.wake();
  await pass(120_000);
  expect(state.heard).toEqual([]);
});
