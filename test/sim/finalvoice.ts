import type { GoLiveStream } from '../../engine/call/stream.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { SimClient } from './client.ts';
import type { SimCluster } from './cluster.ts';
import type { Database } from './database.ts';
import type { FaultName } from './faults.ts';
import type { Judge } from './judge.ts';
import type { Scenario } from './scenario.ts';
import type { SimShard } from './shard.ts';
import type { VoiceWish } from './voicework.ts';

/**
 * Faults after which calls and dispatches to one session may be lost between shards: what a session left may not know, and a stream that
 * began just before its shard was lost is not known to have been.
 */
const LOSING_EVENTS: ReadonlySet<FaultName> = new Set([
  ...(['breakLink', 'partPeers', 'stop', 'loseDirectory', 'loseDatabase', 'kill'] as const),
]);

interface VoiceFinalPorts {
  readonly judge: Judge;
  readonly database: Database;
  readonly cluster: SimCluster;
  readonly clients: readonly SimClient[];
}

/** A user in voice, as the owner of the guild, private channel or lobby has it. */
interface Seat {
  readonly userId: string;
  readonly sessionId: string;
  readonly channelId: string;
  readonly muted: boolean;
  readonly streams: boolean;
}

interface Place {
  readonly kind: 'guild' | 'private' | 'lobby';
  readonly id: string;
  readonly owner: SimShard;
  readonly seats: readonly Seat[];
}

interface OwnState {
  readonly user_id: string;
  readonly session_id: string;
  readonly channel_id: string | null;
  readonly self_mute: boolean;
  readonly self_stream?: boolean;
}

/**
 * Every user in voice is connected to the call of the owner of its place, is in one place, and is shown to all; streams are those of the
 * owner. Events of calls are not stored: a link that breaks may lose them, those of streams also before the repair.
 */
export function judgeVoice(
  ports: VoiceFinalPorts,
  wishes: ReadonlyMap<string, VoiceWish>,
  { faults, breaks, isUnsteady }: Pick<Scenario, 'faults' | 'breaks'> & { readonly isUnsteady: boolean },
): void {
  const { judge, clients, cluster } = ports;
  const losesEvents = breaks > 0 || isUnsteady || faults.some((fault) => LOSING_EVENTS.has(fault));
  const bySession = new Map(
    clients.flatMap((client) =>
      client.up && client.life.sessionId ? [[client.life.sessionId, client]] : [],
    ),
  );
  const places = placesOf(ports);
  const seated = new Map<string, string>();
  for (const place of places)
    for (const seat of place.seats) {
      const { userId, sessionId } = seat;
      const where = `${userId} with ${sessionId} in ${place.kind} ${place.id}`;
      const client = bySession.get(sessionId);
      if (losesEvents) continue;
      judge.expect(client !== undefined, 'voice', () => `${where} has no session`);
      if (client && !isConnected(place, seat))
        judge.expect(false, 'voice', () => `${client.name}: ${where} is not connected to the call`);
      if (client?.name.startsWith('bot') || place.kind === 'lobby') continue;
      const other = seated.get(userId);
      judge.expect(other === undefined, 'one place', () => `${where} and in ${other}`);
      seated.set(userId, place.id);
    }
  for (const { voice, instance } of cluster.running)
    judgeCalls(judge, instance, voice?.calls.list() ?? [], places);
  judgeStreaming(places, judge);
  if (breaks > 0) return;
  if (!losesEvents) judgeWishes(judge, places, wishes);
  const kept = places.filter(({ kind }) => kind !== 'private' || !losesEvents);
  for (const client of bySession.values()) {
    judgeShown(client, kept, judge, losesEvents);
    if (!losesEvents) judgeWatched(client, places, judge);
  }
}

/** Whether anybody in voice has no session. */
export function hasStranded(ports: VoiceFinalPorts): boolean {
  const open = new Set(ports.clients.flatMap(({ up, life }) => (up && life.sessionId) || []));
  return placesOf(ports).some(({ kind, seats }) =>
    seats.some(({ sessionId }) => kind !== 'private' && !open.has(sessionId)),
  );
}

/** The owner's calls have who is in voice there, and nobody else. */
function judgeCalls(
  judge: Judge,
  instance: string,
  calls: readonly { readonly callId: string; readonly members: readonly { readonly userId: string }[] }[],
  places: readonly Place[],
): void {
  const seats = places.flatMap((place) => (place.owner.instance === instance ? place.seats : []));
  for (const { callId, members } of calls)
    for (const { userId } of members) {
      const isSeated = seats.some((seat) => seat.userId === userId && seat.channelId === callId);
      const isStream = !places.some(
        ({ id, seats }) => id === callId || seats.some((seat) => seat.channelId === callId),
      );
      judge.expect(isSeated || isStream, 'voice', () => `${instance} has ${userId} in the call ${callId}`);
    }
}

function judgeWishes(judge: Judge, places: readonly Place[], wishes: ReadonlyMap<string, VoiceWish>): void {
  for (const { client, sessionId, serverId, joins, mutes } of wishes.values()) {
    if (!client.up || client.life.sessionId !== sessionId) continue;
    const { lobbies, guilds } = client.life;
    if (lobbies ? !lobbies.replicas.has(serverId) : !guilds.get(serverId)) continue;
    const said = (seat: { readonly muted: boolean } | undefined) =>
      seat ? `in it, ${seat.muted ? 'muted' : 'heard'}` : 'not in it';
    const seat = places.find(({ id }) => id === serverId)?.seats.find((each) => each.sessionId === sessionId);
    const [got, wanted] = [said(seat), said(joins ? { muted: mutes } : undefined)];
    judge.expect(
      got === wanted,
      'voice',
      () => `${client.name} (${sessionId}) is ${got} of ${serverId}, not ${wanted}`,
    );
  }
}

/** What the client is shown of voice. */
function judgeShown(
  { name, life, voice, userId }: SimClient,
  places: readonly Place[],
  judge: Judge,
  losesEvents: boolean,
): void {
  for (const { id, kind, seats } of places) {
    const replica = kind === 'guild' ? life.guilds.get(id) : null;
    const expect = expecting(judge, name, id);
    if (replica)
      expect(
        'voice states',
        [...replica.voice].map((each) => each.join(' ')),
        seats.map((seat) => `${seat.userId} ${seat.channelId}`),
      );
    if (kind === 'lobby' && life.lobbies?.replicas.has(id))
      expect(
        'voice states',
        [...(voice?.view.lobbies.get(id) ?? [])].map((each) => each.join(' ')),
        seats.map((seat) => `${seat.userId} ${seat.sessionId}`),
      );
    const mine = seats.filter((seat) => seat.userId === userId && seat.sessionId === life.sessionId);
    if (losesEvents) continue;
    const own = voice?.view.places.get(id);
    expect(
      'its place',
      own === undefined ? [] : [own],
      mine.map(({ channelId }) => channelId),
    );
  }
}

/** Users who are shown to stream do, and nobody else does. */
function judgeStreaming(places: readonly Place[], judge: Judge): void {
  for (const { id, seats, owner } of places)
    expecting(judge, owner.instance, id)(
      'streams',
      streamsIn(owner, id).map(({ ownerId }) => ownerId),
      seats.flatMap((seat) => (seat.streams ? [seat.userId] : [])),
    );
}

/** The streams that the client is in, as it is shown them. */
function judgeWatched(
  { name, life, voice, userId }: SimClient,
  places: readonly Place[],
  judge: Judge,
): void {
  for (const { id, owner } of places) {
    const watched = streamsIn(owner, id).filter(
      ({ voiceMembers }) => voiceMembers.get(userId as UserId)?.sessionId === life.sessionId,
    );
    expecting(judge, name, id)(
      'its streams',
      [...(voice?.view.streams.keys() ?? [])].filter((key) => key.split(':')[1] === id),
      watched.map(({ key }) => key),
    );
  }
}

const streamsIn = ({ voice }: SimShard, serverId: string): GoLiveStream[] =>
  (voice?.calls.list() ?? []).flatMap(({ callId }) => {
    const stream = voice?.streams.of(callId);
    return stream && (stream.guildId ?? stream.channelId) === serverId ? [stream] : [];
  });

const expecting =
  (judge: Judge, name: string, placeId: string) =>
  (what: string, got: readonly string[], wanted: readonly string[]): void => {
    const [a, b] = [got, wanted].map((each) => [...each].sort().join(', '));
    judge.expect(a === b, 'voice', () => `${name} has ${what} of ${placeId} as ${a}, not ${b}`);
  };

function isConnected({ owner }: Place, { userId, channelId }: Seat): boolean {
  const call = owner.voice?.calls.list().find(({ callId }) => callId === channelId);
  return call?.members.some((member) => member.userId === userId && member.attached) ?? false;
}

/** All places with somebody in voice, as their owners have them. */
function placesOf({ cluster, database }: VoiceFinalPorts): Place[] {
  const places: Place[] = [];
  const add = (kind: Place['kind'], id: string, owner: SimShard, states: Iterable<OwnState>): void => {
    const seats = [...states].flatMap((state): Seat[] =>
      state.channel_id === null
        ? []
        : [
            {
              ...{ userId: state.user_id, sessionId: state.session_id, channelId: state.channel_id },
              ...{ muted: state.self_mute, streams: state.self_stream ?? false },
            },
          ],
    );
    places.push({ kind, id, owner, seats });
  };
  const never = { refuse: () => undefined, fault: () => undefined };
  for (const shard of cluster.running) {
    const { ownership, server } = shard;
    const { guild, privateChannel } = server.registries;
    for (const id of database.guilds.keys() as Iterable<GuildId>)
      if (ownership.owns(id) && guild.peek(id))
        guild.work(id, { ...never, run: ({ voiceStates }) => add('guild', id, shard, voiceStates.values()) });
    for (const id of database.privateChannels.keys() as Iterable<ChannelId>)
      if (ownership.owns(id) && privateChannel.peek(id))
        privateChannel.work(id, {
          ...never,
          run: ({ call }) => add('private', id, shard, call?.voiceStates.values() ?? []),
        });
    for (const id of database.lobbies.keys() as Iterable<ChannelId>)
      if (ownership.owns(id)) add('lobby', id, shard, database.lobbies.get(id)?.voiceStates.values() ?? []);
  }
  return places;
}
