// Goal: nobody is shown a Go Live stream whose shard was lost, and a user whose session resumed elsewhere is in one place.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

let cluster: TestCluster;
beforeAll(async () => {
  (await openCluster(1)).close();
}, 60_000);
afterEach(() => cluster.close());

const SILENT = { selfMute: false, selfDeaf: false, selfVideo: false };

type Connected = Awaited<ReturnType<ClusterInstance['connect']>>;
type Place = readonly [guildId: GuildId | null, channelId: ChannelId];

const told = <T>({ dispatches }: RecordingSink, t: string): T[] =>
  dispatches.flatMap((each) => (each.t === t ? [each.d as T] : []));

/** Two members of a guild, their sessions at a shard that owns neither the guild nor the user. */
async function arrange() {
  cluster = await openCluster(3);
  const world = await cluster.found();
  const { guildId, ownerId, ownerToken } = world;
  const { user, token } = await cluster.while(cluster.instance(0).operator.createUser({ username: 'bob' }));
  const userId = user.id as UserId;
  await cluster.while(cluster.instance(0).operator.addMember({ guildId, userId, permissions: 0n }));
  const home = cluster.strangerTo(guildId);
  for (const id of [ownerId, userId]) await cluster.move(id, home);
  const [ann, bob] = [
    await cluster.while(home.connect(ownerToken)),
    await cluster.while(home.connect(token)),
  ];
  const guildsOf = ({ sink }: Connected) => told<{ id: GuildId; channels: Channel[] }>(sink, 'GUILD_CREATE');
  await cluster.until(() => guildsOf(ann).length > 0 && guildsOf(bob).length > 0, 'the guild');
  const voice = (index = 0): Place => {
    const guild = guildsOf(ann)[index];
    return [guild?.id ?? guildId, guild?.channels.find(({ type }) => type === 2)?.id as ChannelId];
  };
  return { world, home, ann, bob, annId: ownerId, bobId: userId, voice };
}
interface Channel {
  readonly id: ChannelId;
  readonly type: number;
}

const put = ({ session }: Connected, [guildId, channelId]: Place | readonly [null, null]): void =>
  session.ask({ name: 'voiceState', input: { ...SILENT, guildId, channelId } });

const ticketsOf = ({ sink }: Connected) => told(sink, 'VOICE_SERVER_UPDATE');

/** The owner of the place is lost, and another shard takes over. */
async function lose(id: string): Promise<void> {
  const next = cluster.strangerTo(id);
  await cluster.adopt(next, cluster.kill(cluster.ownerOf(id)));
}

interface VoiceState {
  readonly user_id: UserId;
  readonly channel_id: ChannelId | null;
  readonly self_stream?: boolean;
}

describe('a stream of a call', () => {
  it.each([
    ['in a guild', 'is killed', true, lose],
    ['in a guild', 'hands over', true, (id: string) => cluster.move(id, cluster.strangerTo(id))],
    ['in a private channel', 'is killed', false, lose],
  ])('%s ends for everybody there when its shard %s', async (_where, _how, isGuild, move) => {
    const { ann, bob, annId, bobId, voice, home } = await arrange();
    const opened = await cluster.while(home.openPrivate(annId, bobId));
    if (!opened.ok) throw new Error(opened.refusal.message);
    await cluster.move(opened.value.id, cluster.strangerTo(annId));
    const place: Place = isGuild ? voice() : [null, opened.value.id];
    const [guildId, channelId] = place;
    for (const each of [ann, bob]) put(each, place);
    await cluster.until(() => ticketsOf(ann).length > 0 && ticketsOf(bob).length > 0, 'tickets');
    ann.session.ask({ name: 'stream', input: { type: 'create', place: { guildId, channelId } } } as never);
    const keyOf = () => told<{ stream_key: string }>(ann.sink, 'STREAM_CREATE')[0]?.stream_key;
    await cluster.until(() => keyOf() !== undefined, 'the stream');
    bob.session.ask({ name: 'stream', input: { type: 'watch', streamKey: keyOf() ?? '' } });
    await cluster.until(() => told(bob.sink, 'STREAM_CREATE').length > 0, 'the stream at the other');
    const shown = (at: Connected) =>
      told<VoiceState>(at.sink, 'VOICE_STATE_UPDATE').findLast(({ user_id }) => user_id === annId);
    await cluster.until(() => shown(bob)?.self_stream === true, 'the sign of the stream');
    await cluster.pass(500);
    const tickets = [ann, bob].map((each) => ticketsOf(each).length);
    await move(guildId ?? channelId);
    for (const each of [ann, bob]) {
      const isOver = () => told<{ stream_key: string }>(each.sink, 'STREAM_DELETE').length > 0;
      await cluster.until(() => isOver() && shown(each)?.self_stream === false, 'the end');
      expect(told(each.sink, 'STREAM_DELETE')[0]).toMatchObject({ stream_key: keyOf() });
      expect(shown(each)?.channel_id).toBe(channelId);
    }
    await cluster.pass(10_000);
    expect([ann, bob].map((each) => ticketsOf(each).length)).toEqual(tickets.map((count) => count + 1));
  });
});

describe('a user whose session was opened at another shard', () => {
  it('leaves the voice of one guild for that of another', async () => {
    const { ann, annId, voice, home } = await arrange();
    const second = await cluster.while(home.operator.createGuild({ name: 'Second', ownerId: annId }));
    await cluster.until(() => told(ann.sink, 'GUILD_CREATE').length === 2, 'the second guild');
    put(ann, voice(0));
    await cluster.until(() => ticketsOf(ann).length > 0, 'a ticket');
    await cluster.move(annId, cluster.strangerTo(annId));
    await cluster.pass(2_000);
    put(ann, voice(1));
    const last = () => told<VoiceState & { guild_id: string }>(ann.sink, 'VOICE_STATE_UPDATE');
    await cluster.until(() => last().some(({ guild_id }) => guild_id === second.id), 'the second place');
    await cluster.pass(1_000);
    const [firstId] = voice(0);
    expect(last().findLast(({ guild_id }) => guild_id === firstId)?.channel_id).toBeNull();
    expect(last().findLast(({ guild_id }) => guild_id === second.id)?.channel_id).toBe(voice(1)[1]);
  });
});
