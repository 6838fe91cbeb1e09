// Goal: edits of old messages have a limit of their own, which says so.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { watchInvalidCalls } from '../../../engine/ratelimit/invalid.ts';
import { type Attempt, createLimiter } from '../../../engine/ratelimit/limiter.ts';
import { snowflakeAt, type UserId } from '../../../protocol/ids.ts';
import { createCatalog } from '../../../transports/rest/catalog.ts';
import { createLimits } from '../../../transports/rest/limits.ts';
import { operations } from '../../../transports/rest/resources/index.ts';

const CALLER = {
  kind: 'bot' as const,
  ...{ userId: '70' as UserId, applicationId: null },
  ...{ applicationFlags: 0, authorization: null },
} as const;
const HOUR_MS = 3_600_000;

function arrange() {
  const clock = new VirtualClock();
  const limiter = createLimiter({ global: { limit: 10_000, windowMs: 1_000 }, entriesMax: 1_000 });
  const take = (attempt: Attempt) => limiter.take(attempt, clock.monotonic());
  const limits = createLimits({ take, invalid: watchInvalidCalls(1_000) }, clock);
  const entry = createCatalog(operations).get('update_message')!;
  const edit = async (messageId: string, channelId = '50') => {
    clock.advance(2_000);
    const params = { channel_id: channelId, message_id: messageId };
    return (await limits.admit(entry, params, CALLER, '127.0.0.1')).refused;
  };
  return { clock, edit };
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
