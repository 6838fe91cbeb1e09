// Goal: in one process a commit that fails ends neither voice nor the delivery of what is written next.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { openInstance, until } from '../support/instance.ts';

let instance: Awaited<ReturnType<typeof openInstance>>;
let log: string[];
let voiceChannel: ChannelId;
let ann: Awaited<ReturnType<typeof member>>;
let ben: Awaited<ReturnType<typeof member>>;

async function member(username: string) {
  const { user, token } = await instance.operator.createUser({ username });
  const userId = user.id as UserId;
  await instance.operator.addMember({ guildId: instance.guildId, userId });
  const connected = await instance.connect(token);
  await until(() => connected.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return { userId, ...connected };
}

const owner = () => ({
  by: { userId: instance.ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
const rename = (name: string) =>
  instance.guilds.call(instance.guildId, 'updateGuild', { draft: { name } }, owner());

beforeEach(async () => {
  log = [];
  instance = await openInstance(
    {},
    {
      voiceJoined: ({ userId }) => void log.push(`joined ${userId}`),
      voiceLeft: (_callId, userId) => void log.push(`left ${userId}`),
      ended: (_callId, where) => void log.push(`ended ${where ?? 'for good'}`),
    },
  );
  const draft = { name: 'voice', type: 2 } as never;
  const reply = await instance.guilds.call(instance.guildId, 'createChannel', { draft }, owner());
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  voiceChannel = (reply.value as { id: ChannelId }).id;
  [ann, ben] = [await member('ann'), await member('ben')];
});
afterEach(() => instance.close());

async function annInVoice(): Promise<void> {
  const self = { selfMute: false, selfDeaf: false, selfVideo: false };
  const input = { guildId: instance.guildId, channelId: voiceChannel, ...self };
  ann.session.ask({ name: 'voiceState', input });
  await until(() => ben.sink.names.includes('VOICE_STATE_UPDATE'), 'VOICE_STATE_UPDATE');
}

it('the members of a call join it again as soon as their guild is loaded', async () => {
  await annInVoice();
  instance.steer.fail = true;
  await expect(rename('Lost')).rejects.toThrow('The disk is gone.');
  instance.steer.fail = false;
  await until(() => log.length === 3, 'the return');
  expect(log).toEqual([`joined ${ann.userId}`, 'ended guild', `joined ${ann.userId}`]);
});

it('a member whose session ends before the guild is loaded again leaves voice then', async () => {
  await annInVoice();
  instance.steer.hold = true;
  const held = instance.operator.createUser({ username: 'held' });
  instance.steer.fail = true;
  await expect(rename('Lost')).rejects.toThrow('The disk is gone.');
  instance.steer.fail = false;
  ann.session.detach(ann.sink, false);
  instance.release();
  await held;
  await until(() => ben.sink.names.filter((t) => t === 'GUILD_CREATE').length === 2, 'GUILD_CREATE');
  expect(instance.guilds.subscriber(instance.guildId, ann.session.id)).toBeNull();
  instance.clock.advance(100);
  const left = () => ben.sink.dispatches.findLast(({ t }) => t === 'VOICE_STATE_UPDATE')?.d;
  await until(() => (left() as { channel_id: string | null }).channel_id === null, 'the end');
  expect(left()).toMatchObject({ user_id: ann.userId });
});

it('the call of a guild continues with its members, and the next message of the guild reaches its sessions', async () => {
  await annInVoice();
  instance.steer.fail = true;
  await expect(rename('Lost')).rejects.toThrow('The disk is gone.');
  instance.steer.fail = false;
  expect(await rename('Kept')).toMatchObject({ ok: true });
  await until(() => ben.sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
  const ofGuild = ben.sink.names.filter((t) => t.startsWith('GUILD_'));
  expect(ofGuild.slice(-3)).toEqual(['GUILD_DELETE', 'GUILD_CREATE', 'GUILD_UPDATE']);
  const again = ben.sink.dispatches.findLast(({ t }) => t === 'GUILD_CREATE')?.d;
  expect(again).toMatchObject({ voice_states: [{ user_id: ann.userId, channel_id: voiceChannel }] });
  await until(() => log.length === 3, 'the return');
  expect(log).toEqual([`joined ${ann.userId}`, 'ended guild', `joined ${ann.userId}`]);
});
