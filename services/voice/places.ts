import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { PrivateChannelShell } from '../../actors/privatechannel/privatechannel.shell.ts';
import type { Registry } from '../../actors/runtime/registry.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { Users } from '../../actors/user/users.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, authorityOf, SYSTEM } from '../../engine/kernel/authority.ts';
import { callCreate } from '../../engine/privatechannel/calls.ts';
import type { PrivateChannelState } from '../../engine/privatechannel/rules.ts';
import { type ChannelId, type GuildId, isGuildId, type UserId } from '../../protocol/ids.ts';
import type { VoiceStateRequest } from '../../protocol/sessionrequests.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';

export interface PlacePorts {
  readonly guilds: Guilds;
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  readonly inPrivate: InPrivate;
  readonly users: Pick<Users, 'sessions'>;
  readonly notifier: Pick<Notifier, 'notifySession' | 'guildIdsOf'>;
  readonly routing: Routing;
  readonly storage: Pick<Storage, 'privateChannels'>;
  /** Reports faults of work that no caller awaits. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** A place for voice: a guild, in one of its channels at a time, or a private channel. */
type VoicePlace =
  | { readonly kind: 'guild'; readonly id: GuildId }
  | { readonly kind: 'private'; readonly id: ChannelId };

type VoiceChangeRequest = Omit<VoiceStateRequest, 'guildId'>;

/** The places of a user session, of which it is in one at a time. Replies may arrive in another order than its requests. */
interface SessionPlaces {
  readonly session: LiveSession;
  /** The one that it last asked for, or stays in because that was refused; null when it asked for none. */
  wanted: VoicePlace | null;
  /** The last one that let it in. */
  joined: VoicePlace | null;
  /** It may be in any place: it was opened at another shard before, or a place has not answered, and none has let it in since. */
  isUnknown: boolean;
  /** By id: the places that it leaves, until their owners have answered. */
  readonly leaving: Map<string, Leaving>;
}

interface Leaving {
  readonly place: VoicePlace;
  readonly left: Promise<void>;
}

/** Upper bound on the private channels that are asked for a session whose place is unknown; those with the newest messages. */
const CHANNELS_MAX = 100;

const NOWHERE: VoiceChangeRequest = { channelId: null, selfMute: false, selfDeaf: false, selfVideo: false };

/** Moves sessions into and out of voice: a bot joins one channel per guild, a user one place at a time. */
export interface VoicePlaces {
  /** Voice State Update (op 4). */
  ask(session: LiveSession, request: VoiceStateRequest): void;
  /** Sends the running calls of a session's private channels to the session when it begins. */
  greet(session: LiveSession, channels: readonly { readonly id: ChannelId }[]): void;
  /** The session was opened at another shard before, so its place is unknown here. */
  reopened(session: LiveSession): void;
  /** The session has ended; `guildIds` were its guilds. */
  ended(session: LiveSession, guildIds: readonly GuildId[]): void;
  /** A call removed a user for good. */
  drop(voiceMember: Pick<VoiceMember, 'callId' | 'guildId' | 'userId' | 'sessionId'>): void;
}

/** Sends a voice request to the owner of the place. */
const askingIn =
  ({ guilds, inPrivate }: PlacePorts) =>
  (
    place: VoicePlace,
    wish: VoiceChangeRequest & { readonly sessionId: string },
    authority: Authority,
  ): Promise<Reply<object | null>> => {
    if (place.kind === 'guild') return guilds.call(place.id, 'setVoiceState', wish, authority);
    const { channelId, ...own } = wish;
    const input = { ...own, join: channelId !== null };
    return inPrivate(place.id, 'setCallState', input, authority);
  };

/** Operations on the owner shard of a place for sessions of other shards. */
const ofOwners = (ports: PlacePorts) => {
  const { guilds, privateChannels, notifier, onFault } = ports;
  const askIn = askingIn(ports);
  const resident = (id: string): boolean =>
    (isGuildId(id) && guilds.isResident(id)) || privateChannels.peek(id) !== undefined;
  const { tell } = ports.routing;
  return {
    /** Only the session that joined voice for its user can leave; requests of other sessions have no effect. */
    leave: tell(
      'places.leave',
      (placeId: string, place: VoicePlace, sessionId: string, authority: Authority): void => {
        if (!resident(placeId)) return;
        askIn(place, { ...NOWHERE, sessionId }, authority).catch((fault) => onFault(fault, sessionId));
      },
    ),
    /** A channel with a call is always resident. */
    greet: tell('places.greet', (channelId: string, userId: UserId, sessionId: string): void => {
      if (!privateChannels.peek(channelId)) return;
      const run = (state: PrivateChannelState): void => {
        const d = callCreate(state);
        if (d) notifier.notifySession(userId, sessionId, 'CALL_CREATE', d);
      };
      privateChannels.work(channelId, { run, refuse: () => {}, fault: () => {} });
    }),
  };
};

const placesOfNew = (session: LiveSession): SessionPlaces => ({
  ...{ session, wanted: null, joined: null, isUnknown: false, leaving: new Map() },
});

const distinct = ({ wanted, joined }: SessionPlaces): VoicePlace[] =>
  [wanted, joined?.id === wanted?.id ? null : joined].filter((place) => place !== null);

/** Takes sessions out of places. */
function leaving(ports: PlacePorts, owners: Pick<ReturnType<typeof ofOwners>, 'leave'>) {
  const { notifier, storage, onFault } = ports;
  const askIn = askingIn(ports);
  /** Leaves a place that the session is in, or may be let into: also when a link breaks. Resolves with the answer. */
  function one({ session, leaving }: SessionPlaces, place: VoicePlace): Promise<void> {
    const { sessionId } = session;
    const left = askIn(place, { ...NOWHERE, sessionId }, authorityOf(session.principal))
      .then(
        () => undefined,
        (fault) => onFault(fault, sessionId),
      )
      .then(() => {
        if (leaving.get(place.id)?.left === left) leaving.delete(place.id);
      });
    leaving.set(place.id, { place, left });
    return left;
  }
  const leave = (session: LiveSession, place: VoicePlace): void =>
    owners.leave(place.id, place, session.sessionId, authorityOf(session.principal));
  async function calls(session: LiveSession, stays?: SessionPlaces): Promise<void> {
    for (const { id } of await storage.privateChannels.of(session.userId, CHANNELS_MAX))
      if (id !== stays?.wanted?.id) leave(session, { kind: 'private', id });
  }
  async function all(session: LiveSession, stays?: SessionPlaces): Promise<void> {
    for (const id of await notifier.guildIdsOf(session.userId))
      if (id !== stays?.wanted?.id) leave(session, { kind: 'guild', id });
    await calls(session, stays);
  }
  /** Only the place that the session is in acts on this. */
  const fromUnknown = (
    { session, isUnknown }: SessionPlaces,
    leaveThem: typeof all,
    stays?: SessionPlaces,
  ) => {
    if (isUnknown && !session.bot)
      leaveThem(session, stays).catch((fault) => onFault(fault, session.sessionId));
  };
  return {
    one,
    atEnd: leave,
    calls: (of: SessionPlaces): void => fromUnknown(of, calls),
    /** @param stays What this session asks for meanwhile is not left. */
    unknown: (of: SessionPlaces, stays?: SessionPlaces): void => fromUnknown(of, all, stays),
  };
}

/** Moves sessions into places. */
function joining(
  ports: PlacePorts,
  leave: ReturnType<typeof leaving>,
  known: { get(session: object): SessionPlaces | undefined },
) {
  const { users, onFault } = ports;
  const askIn = askingIn(ports);

  /** A user is in one place, with one session. */
  function stayIn(own: SessionPlaces, place: VoicePlace): void {
    const before = own.joined;
    own.joined = place;
    if (before && before.id !== place.id) leave.one(own, before);
    for (const session of users.sessions(own.session.userId)) {
      const other = known.get(session);
      if (!other) continue;
      leave.unknown(other, own);
      other.isUnknown = false;
      if (other === own) continue;
      if (other.joined && other.joined.id !== place.id) leave.one(other, other.joined);
      other.joined = null;
    }
  }

  function settleIn(own: SessionPlaces, place: VoicePlace): void {
    own.wanted ??= place;
    if (own.session.over || own.wanted.id !== place.id) leave.one(own, place);
    else stayIn(own, place);
  }

  /**
   * What the start in a place waits for. The end of a private call names no channel: clients would take it for that of the next call, unless
   * it is shown first. The place itself may still have to be left, for a request before this one.
   */
  function endsBefore(own: SessionPlaces, place: VoicePlace): Promise<void>[] {
    const all = [...users.sessions(own.session.userId)].flatMap((session) => known.get(session) ?? []);
    for (const each of new Set([own, ...all])) {
      const { joined } = each;
      if (joined?.kind !== 'private' || place.kind !== 'private' || joined.id === place.id) continue;
      each.joined = null;
      leave.one(each, joined);
    }
    const isAwaited = ({ place: other }: Leaving) =>
      other.id === place.id || (other.kind === 'private' && place.kind === 'private');
    return [...new Set([own, ...all])]
      .flatMap(({ leaving }) => [...leaving.values()].filter(isAwaited))
      .map(({ left }) => left);
  }

  /** It is not known whether the place has let the session in. */
  function forget(own: SessionPlaces, place: VoicePlace): void {
    if (own.session.over || (own.wanted && own.wanted.id !== place.id)) leave.one(own, place);
    else own.isUnknown = true;
  }

  /** A session that was opened again since its request has other places here. */
  function latest(own: SessionPlaces): SessionPlaces {
    const { userId, sessionId } = own.session;
    const open = [...users.sessions(userId)].find((each) => each.sessionId === sessionId);
    return (open && known.get(open)) ?? own;
  }

  return (own: SessionPlaces, place: VoicePlace, wish: VoiceChangeRequest): void => {
    const { session } = own;
    const joins = wish.channelId !== null;
    if (!joins && own.wanted?.id === place.id) own.wanted = null;
    else if (joins && !session.bot) own.wanted = place;
    const settle = (inVoice: boolean): void => {
      const { wanted, joined } = own;
      if (session.bot) {
        if (inVoice && session.over) leave.one(own, place);
      } else if (!inVoice) {
        // The request was refused: the session stays where it was.
        if (joined && wanted === place) own.wanted = joined;
      } else settleIn(latest(own), place);
    };
    const send = (): void => {
      askIn(place, { ...wish, sessionId: session.sessionId }, authorityOf(session.principal))
        .then((reply) => joins && settle(reply.ok && reply.value !== null))
        .catch((fault) => {
          if (joins && !session.bot) forget(latest(own), place);
          onFault(fault, session.sessionId);
        });
    };
    const ends = joins && !session.bot ? endsBefore(own, place) : [];
    if (ends.length === 0) send();
    else Promise.all(ends).then(() => own.wanted === place && !session.over && send());
  };
}

export function createVoicePlaces(ports: PlacePorts): VoicePlaces {
  const { guilds, inPrivate, onFault } = ports;
  const owners = ofOwners(ports);
  const leave = leaving(ports, owners);
  const bySession = new WeakMap<object, SessionPlaces>();
  const join = joining(ports, leave, bySession);

  function placesOf(session: LiveSession): SessionPlaces {
    const known = bySession.get(session) ?? placesOfNew(session);
    bySession.set(session, known);
    return known;
  }

  return {
    ask(session, { guildId, ...wish }) {
      const own = placesOf(session);
      if (guildId !== null) join(own, { kind: 'guild', id: guildId }, wish);
      else if (session.bot) return;
      else if (wish.channelId !== null) join(own, { kind: 'private', id: wish.channelId }, wish);
      else {
        // Users name no guild when they leave voice.
        for (const place of distinct(own)) leave.one(own, place);
        own.wanted = null;
        leave.unknown(own);
      }
    },

    greet({ userId, sessionId }, channels) {
      for (const { id } of channels) owners.greet(id, userId, sessionId);
    },

    reopened(session) {
      placesOf(session).isUnknown = true;
    },

    ended(session, guildIds) {
      const own = placesOf(session);
      for (const id of guildIds) leave.atEnd(session, { kind: 'guild', id });
      for (const place of distinct(own)) if (place.kind === 'private') leave.atEnd(session, place);
      leave.calls(own);
    },

    drop({ callId, guildId, userId, sessionId }) {
      const user = { userId, sessionId };
      const dropped =
        guildId === null
          ? inPrivate(callId, 'dropCaller', user, SYSTEM)
          : guilds.call(guildId, 'dropVoice', { ...user, channelId: callId }, SYSTEM);
      dropped.catch((fault) => onFault(fault, callId));
    },
  };
}
