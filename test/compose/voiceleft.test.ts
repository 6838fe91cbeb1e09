// Goal: the members whom a process had in voice when it died leave voice as soon as the next process has loaded the guild.
import { afterEach, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { openInstance, until } from '../support/instance.ts';

const silent = { selfMute: false, selfDeaf: false, selfVideo: false };
const open: Awaited<ReturnType<typeof openInstance>>[] = [];
const opened = async (nowMs: number) => {
  const instance = await openInstance({}, undefined, new VirtualClock(nowMs));
  open.push(instance);
  return instance;
};
afterEach(async () => {
  for (const instance of open.splice(0)) await instance.close();
});

test('a member of a process that died leaves voice when the next one loads the guild, within a second', async () => {
  const before = await opened(1_700_000_000_000);
  const { guildId, botToken } = before;
  const { sink, session } = await before.connect();
  await until(() => sink.names.includes('GUILD_CREATE'), 'the guild');
  const guild = sink.dispatches.find(({ t }) => t === 'GUILD_CREATE')?.d;
  const { channels } = guild as {
    readonly channels: readonly { readonly id: never; readonly type: number }[];
  };
  const channelId = channels.find(({ type }) => type === 2)?.id ?? null;
  session.ask({ name: 'voiceState', input: { ...silent, guildId, channelId } });
  const rows = () => before.storage.guilds.inVoice(before.botId, [guildId]);
  await until(() => sink.names.includes('VOICE_STATE_UPDATE'), 'voice');
  expect(await rows()).toEqual([{ id: guildId, sessionId: session.id }]);

  const next = await opened(before.clock.now() + 1_000);
  const again = await next.connect(botToken);
  await until(() => again.sink.names.includes('GUILD_CREATE'), 'the guild again');
  next.clock.advance(1_000);
  await until(() => again.sink.names.includes('VOICE_STATE_UPDATE'), 'the leave');
  const left = again.sink.dispatches.find(({ t }) => t === 'VOICE_STATE_UPDATE')?.d;
  expect(left).toMatchObject({ channel_id: null, session_id: session.id });
  expect(await rows()).toEqual([]);
});
