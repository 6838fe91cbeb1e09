// Goal: edits of old messages have a limit of their own, and an address is blocked for its own invalid requests only.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { watchInvalidCalls } from '../../../engine/ratelimit/invalid.ts';
import { type Attempt, createLimiter } from '../../../engine/ratelimit/limiter.ts';
import { snowflakeAt, type UserId } from '../../../protocol/ids.ts';
import { createCatalog } from '../../../transports/rest/catalog.ts';
import { createLimits, tooMany } from '../../../transports/rest/limits.ts';
import { operations } from '../../../transports/rest/resources/index.ts';

const CALLER = {
  kind: 'bot' as const,
  ...{ userId: '70' as UserId, applicationId: null },
  ...{ applicationFlags: 0, authorization: null },
} as const;
const HOUR_MS = 3_600_000;
const INVALID_CALLS = { limit: 100, windowMs: 600_000 };

function arrange() {
  const clock = new VirtualClock();
  const limiter = createLimiter({ global: { limit: 10_000, windowMs: 1_000 }, entriesMax: 1_000 });
  const take = (attempt: Attempt) => limiter.take(attempt, clock.monotonic());
  const limits = createLimits({ take, invalid: watchInvalidCalls(1_000, INVALID_CALLS) }, clock);
  const entry = createCatalog(operations).get('update_message')!;
  const edit = async (messageId: string, channelId = '50') => {
    clock.advance(2_000);
    const params = { channel_id: channelId, message_id: messageId };
    return (await limits.admit(entry, params, CALLER, '127.0.0.1')).refused;
  };
  return { clock, edit, limits };
}

test('the 21st edit in a minute of messages older than an hour is refused with 30046, per channel', async () => {
  const { clock, edit } = arrange();
  const old = snowflakeAt(clock.now() - HOUR_MS);
  for (let at = 0; at < 20; at += 1) expect(await edit(old)).toBeUndefined();
  const refused = await edit(old);
  expect(refused).toMatchObject({ status: 429, body: { code: 30_046, retry_after: expect.any(Number) } });
  expect(refused?.headers['Retry-After']).toBeTruthy();
  expect(await edit(old, '51')).toBeUndefined();
  expect(await edit(snowflakeAt(clock.now()))).toBeUndefined();
  clock.advance(60_000);
  expect(await edit(old)).toBeUndefined();
});

test('answers 429 of the shared scope do not count as invalid requests of an address', async () => {
  const { edit, limits } = arrange();
  const messageId = snowflakeAt(0);
  const refuse = (scope: 'user' | 'shared' | 'global', times: number) => {
    for (let at = 0; at < times; at += 1) limits.observe('127.0.0.1', tooMany(1_000, scope, {}));
  };
  refuse('shared', 2 * INVALID_CALLS.limit);
  refuse('user', INVALID_CALLS.limit - 1);
  expect(await edit(messageId)).toBeUndefined();
  refuse('global', 1);
  expect(await edit(messageId)).toMatchObject({ status: 429, body: { global: true } });
});
