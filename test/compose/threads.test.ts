// Goal: quiet threads are archived at their time over a real database, also after a restart, and cost no memory then.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import { openHouse } from '../support/house.ts';

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
let house: Awaited<ReturnType<typeof openHouse>>;

beforeEach(async () => {
  house = await openHouse();
  guildId = house.guildId;
}, 60_000);
afterEach(() => house.close());

/** Lets time pass while the database answers. */
async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += MINUTE_MS) {
    house.clock.advance(MINUTE_MS);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

let guildId: GuildId;
const { system: _, ...nobody } = SYSTEM.by;
const asBot = () => ({ by: { ...nobody, userId: house.botId, bot: true }, requires: 0n });

async function made(minutes: number): Promise<ChannelId> {
  const channels = await house.guilds.call(guildId, 'listChannels', {}, SYSTEM);
  const text = channels.ok && channels.value.find(({ type }) => type === 0);
  if (!text) throw new Error('no text channel');
  const draft = { name: 'Quiet', type: 11, auto_archive_duration: minutes };
  const input = { channelId: text.id, draft };
  const reply = await house.guilds.call(guildId, 'createThread', input, asBot());
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value.id;
}

async function isArchived(channelId: ChannelId): Promise<boolean> {
  const reply = await house.guilds.call(guildId, 'getChannel', { channelId }, { ...SYSTEM, channelId });
  const thread: object = reply.ok ? reply.value : {};
  const data: unknown = 'thread_metadata' in thread ? thread.thread_metadata : null;
  return typeof data === 'object' && data !== null && 'archived' in data && data.archived === true;
}

test('a thread is archived after its time without messages', async () => {
  const [short, long] = [await made(60), await made(1_440)];
  await pass(50 * MINUTE_MS);
  expect(await isArchived(short)).toBe(false);
  const draft = { content: 'still here' };
  const input = { channelId: short, draft, attachments: [], forward: null };
  const sent = await house.guilds.call(guildId, 'createMessage', input, { ...asBot(), channelId: short });
  expect(sent).toMatchObject({ ok: true });
  await pass(50 * MINUTE_MS);
  expect(await isArchived(short)).toBe(false);
  await pass(15 * MINUTE_MS);
  await expect.poll(() => isArchived(short)).toBe(true);
  expect(await isArchived(long)).toBe(false);
}, 60_000);

test('what became due while no server ran is archived after the next start', async () => {
  const { clock } = house;
  const id = await made(60);
  house.close();
  house = await openHouse({}, undefined, new VirtualClock(clock.now() + 2 * HOUR_MS));
  await pass(5 * MINUTE_MS);
  await expect.poll(() => isArchived(id)).toBe(true);
}, 60_000);
