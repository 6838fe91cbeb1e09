// Goal: who says nothing for as long as the guild says is found in its AFK channel, silent, and with a ticket for there;
// time moves only as this test says.
import { afterEach, expect, test } from 'vitest';
import type { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { Engine } from '../../embedding.ts';
import { OP } from '../../protocol/opcodes.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { createTestEngine } from '../../testing.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { connectUdp, joinChannel, VoiceClient } from '../support/voice-client.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const AFK_AFTER_MS = 60_000;
/** Well within what heartbeats are due in. */
const STEP_MS = 20_000;

/** A guild with a bot, a voice channel and an AFK channel. */
async function furnish(engine: Engine) {
  const { user } = await engine.admin.createUser({ username: 'keeper' });
  const { id: guildId } = await engine.admin.createGuild({ name: 'Harbour', ownerId: user.id as never });
  const { bot, botToken } = await engine.admin.createApplication({ name: 'Ann', ownerId: user.id as never });
  await engine.admin.addMember({ guildId: guildId as never, userId: bot.id as never });
  const as = { as: user.id };
  const newChannel = async (name: string): Promise<string> => {
    const call = { params: { guild_id: guildId }, body: { name, type: 2 } } as const;
    return (await engine.api.create_guild_channel(call, as)).id;
  };
  const [deck, hammock] = [await newChannel('Deck'), await newChannel('Hammock')];
  const body = { afk_channel_id: hammock, afk_timeout: AFK_AFTER_MS / 1000 } as { afk_timeout: 60 };
  await engine.api.update_guild({ params: { guild_id: guildId }, body }, as);
  return { guildId, deck, hammock, token: botToken };
}

let beats = 0;
/** A heartbeat on both connections: it is answered behind whatever was said before. */
async function beat(gateway: GatewayClient, voice: VoiceClient): Promise<void> {
  gateway.send(OP.HEARTBEAT, gateway.seq);
  await gateway.next(({ op }) => op === OP.HEARTBEAT_ACK, 'an answer to a heartbeat');
  const t = ++beats;
  voice.beat(t);
  await voice.waitFor(VOICE_OP.HEARTBEAT_ACK, ({ d }) => d.t === t);
}

/** Time goes on in steps, through which both connections are kept. */
async function pass(clock: VirtualClock, ms: number, gateway: GatewayClient, voice: VoiceClient) {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    clock.advance(STEP_MS);
    await beat(gateway, voice);
  }
}

test('silence leads to the AFK channel, speaking keeps away from it', async () => {
  const { engine, clock } = await createTestEngine({ config: { e2ee_required: false } });
  closers.push(() => engine.close());
  // Deferred work waits for a clock that the test does not advance.
  const settling = setInterval(() => clock.settle(), 5);
  closers.push(() => clearInterval(settling));
  const { guildId, deck, hammock, token } = await furnish(engine);
  const { gateway: url, voice } = await engine.listen();
  const gateway = await GatewayClient.ready(url, { token });
  const dialect = { caFile: voice!.caFile };
  const { client, ready, udp } = await connectUdp(await joinChannel(gateway, guildId, deck), dialect);
  closers.push(
    () => gateway.close(),
    () => udp.close(),
    () => client.terminate(),
  );
  const placesTold = () =>
    gateway.received.flatMap(({ t, d }) => (t === 'VOICE_STATE_UPDATE' ? [d.channel_id] : []));

  await pass(clock, AFK_AFTER_MS - STEP_MS, gateway, client);
  client.speak(ready.ssrc);
  await beat(gateway, client);
  await pass(clock, AFK_AFTER_MS - STEP_MS, gateway, client);
  expect(placesTold()).toEqual([deck]);

  clock.advance(STEP_MS);
  const moved = await gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.channel_id === hammock);
  expect(moved).toMatchObject({ user_id: gateway.userId, suppress: true, self_mute: false });
  const { token: ticket, endpoint } = await gateway.dispatch('VOICE_SERVER_UPDATE', () => true);
  expect((await client.closed).code).toBe(4014);
  const there = await VoiceClient.connect(String(endpoint), dialect);
  closers.push(() => there.terminate());
  there.identify({
    endpoint: String(endpoint),
    token: String(ticket),
    serverId: guildId,
    channelId: hammock,
    userId: gateway.userId,
    sessionId: gateway.sessionId,
  });
  await there.waitFor(VOICE_OP.READY);
  expect((await engine.calls.list()).map(({ callId, members }) => [callId, members[0]?.silenced])).toEqual([
    [hammock, true],
  ]);
  await pass(clock, 2 * AFK_AFTER_MS, gateway, there);
  expect(placesTold()).toEqual([deck, hammock]);
});
