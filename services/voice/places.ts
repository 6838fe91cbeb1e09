import type { Routing } from '../../actors/placement/routing.ts';
import type { CallLoading } from '../../actors/privatechannel/callloading.ts';
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
import type { Repeat } from '../repeating.ts';
import {
  type AskPorts,
  askingIn,
  askingRepeatedly,
  NOWHERE,
  type VoiceChangeRequest,
  type VoicePlace,
} from './asking.ts';

export interface PlacePorts extends AskPorts {
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  readonly callLoading: Pick<CallLoading, 'waits'>;
  readonly users: Pick<Users, 'sessions'>;
  readonly notifier: Pick<Notifier, 'notifySession' | 'guildIdsOf'>;
  readonly routing: Routing;
  readonly storage: Pick<Storage, 'guilds' | 'privateChannels'>;
  /** Repeats reads that failed. */
  readonly repeat: Repeat;
  /** Reports faults of work that no caller awaits. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** The places of a user session, of which it is in one at a time. Replies may arrive in another order than its requests. */
interface SessionPlaces {
  readonly session: LiveSession;
  /** The one that it last asked for, or stays in because that was refused; null when it left voice, undefined before it asked. */
  wanted: VoicePlace | null | undefined;
  /** The last one that let it in. */
  joined: VoicePlace | null;
  /** It may be in any place: it was opened at another shard before, or a place has not answered, and none has let it in since. */
  isUnknown: boolean;
  /** The places that it has asked to join, until their owners have answered. */
  readonly joining: Set<Pending>;
  /** By id: the places that it leaves, until their owners have answered. */
  readonly leaving: Map<string, Pending>;
}

interface Pending {
  readonly place: VoicePlace;
  readonly answered: Promise<void>;
}

/** By session. */
type KnownPlaces = Pick<WeakMap<object, SessionPlaces>, 'get'>;

/** Upper bound on the private channels that are asked for a session whose place is unknown; those with the newest messages. */
const CHANNELS_MAX = 100;

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
  drop(voiceMember: Pick<VoiceMember, 'callId' | 'guildId' | 'userId' | 'sessionId'>): Promise<Reply<null>>;
}

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
    /** A channel with a call is resident, or about to be. */
    greet: tell('places.greet', (channelId: string, userId: UserId, sessionId: string): void => {
      if (!privateChannels.peek(channelId) && !ports.callLoading.waits(channelId)) return;
      const run = (state: PrivateChannelState): void => {
        const d = callCreate(state);
        if (d) notifier.notifySession(userId, sessionId, 'CALL_CREATE', d);
      };
      privateChannels.work(channelId, { run, refuse: () => {}, fault: () => {} });
    }),
  };
};

const placesOfNew = (session: LiveSession): SessionPlaces => ({
  ...{ session, wanted: undefined, joined: null, isUnknown: false, joining: new Set(), leaving: new Map() },
});

/** Where it may be, as far as that is known here. */
const distinct = ({ wanted, joined, joining }: SessionPlaces): VoicePlace[] => {
  const all = [wanted, joined, ...[...joining].map(({ place }) => place)].flatMap((place) => place ?? []);
  return [...new Map(all.map((place) => [place.id, place])).values()];
};

/** The places that the tables have the session in. */
async function storedPlaces(
  { notifier, storage }: Pick<PlacePorts, 'notifier' | 'storage'>,
  { userId, sessionId }: LiveSession,
): Promise<VoicePlace[]> {
  const { guilds, privateChannels } = storage;
  const [guildIds, channels] = await Promise.all([
    notifier.guildIdsOf(userId),
    privateChannels.of(userId, CHANNELS_MAX),
  ]);
  const [inVoice, inCalls] = await Promise.all([
    guildIds.length === 0 ? [] : guilds.inVoice(userId, guildIds),
    channels.length === 0
      ? []
      : privateChannels.inCall(
          userId,
          channels.map(({ id }) => id),
        ),
  ]);
  return [
    ...inVoice
      .filter((each) => each.sessionId === sessionId)
      .map(({ id }) => ({ kind: 'guild', id }) as const),
    ...inCalls
      .filter((each) => each.sessionId === sessionId)
      .map(({ id }) => ({ kind: 'private', id }) as const),
  ];
}

/** Takes sessions out of places. */
function leaving(
  ports: PlacePorts,
  owners: Pick<ReturnType<typeof ofOwners>, 'leave'>,
  ask: ReturnType<typeof askingRepeatedly>,
) {
  const { notifier, storage, routing, users, wheel, onFault } = ports;
  /** Leaves a place that the session is in, or may be let into: also when a link breaks. */
  function one({ session, leaving }: SessionPlaces, place: VoicePlace): void {
    const { sessionId } = session;
    const answered = ask(session, place, NOWHERE)
      .then(
        () => undefined,
        (fault) => onFault(fault, sessionId),
      )
      .then(() => {
        if (leaving.get(place.id)?.answered === answered) leaving.delete(place.id);
      });
    leaving.set(place.id, { place, answered });
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
  /** Leaves the places that the tables have the session in, whether they are in memory or not. */
  async function stored(of: SessionPlaces, stays: SessionPlaces | undefined): Promise<void> {
    const { session } = of;
    const { userId } = session;
    const places = await storedPlaces(ports, session);
    const wanted = new Set([of, ...(stays ? [stays] : [])].flatMap(distinct).map(({ id }) => id));
    // Ended, opened again, or at another owner of its user.
    if (session.over || !routing.owns(userId) || ![...users.sessions(userId)].includes(session)) return;
    for (const place of places) if (!wanted.has(place.id)) one(of, place);
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
    unknown: (of: SessionPlaces, stays?: SessionPlaces): void => {
      fromUnknown(of, all, stays);
      if (!of.isUnknown || of.session.bot) return;
      // Requests of an earlier owner of the user have been answered by then.
      wheel.after(() => ports.repeat(of.session.userId, () => stored(of, stays)), routing.inFlightMs);
    },
  };
}

/** Moves sessions into places, and out of what they leave for these. */
class Moves {
  readonly #ports: PlacePorts;
  readonly #ask: ReturnType<typeof askingRepeatedly>;
  readonly #leave: ReturnType<typeof leaving>;
  readonly #known: KnownPlaces;

  constructor(
    ports: PlacePorts,
    ask: ReturnType<typeof askingRepeatedly>,
    leave: ReturnType<typeof leaving>,
    known: KnownPlaces,
  ) {
    this.#ports = ports;
    this.#ask = ask;
    this.#leave = leave;
    this.#known = known;
  }

  join(own: SessionPlaces, place: VoicePlace, wish: VoiceChangeRequest): void {
    if (own.session.bot) this.#join(own, place, wish);
    else {
      own.wanted = place;
      void this.#joinAfterEnds(own, place, wish);
    }
  }

  leave(own: SessionPlaces, place: VoicePlace): void {
    if (own.wanted?.id === place.id) own.wanted = null;
    if (own.joined?.id === place.id) own.joined = null;
    this.#leave.one(own, place);
  }

  async #joinAfterEnds(own: SessionPlaces, place: VoicePlace, wish: VoiceChangeRequest): Promise<void> {
    while (own.wanted === place && !own.session.over) {
      const ends = this.#endsBefore(own, place);
      if (ends.length === 0) return this.#join(own, place, wish);
      await Promise.all(ends);
    }
  }

  /**
   * What the start in a place waits for. The end of a private call names no channel: clients would take it for that of the next call, unless
   * it is shown first. The place itself may still have to be left, for a request before this one.
   */
  #endsBefore(own: SessionPlaces, place: VoicePlace): Promise<void>[] {
    const isOtherCall = (other: VoicePlace) =>
      other.kind === 'private' && place.kind === 'private' && other.id !== place.id;
    return [...new Set([own, ...this.#ofUser(own)])].flatMap((each) => {
      const { joined, joining, leaving } = each;
      if (joined && isOtherCall(joined)) {
        each.joined = null;
        this.#leave.one(each, joined);
      }
      const ends = [...leaving.values()].filter((end) => end.place.id === place.id || isOtherCall(end.place));
      const starts = [...joining].filter((start) => isOtherCall(start.place));
      return [...ends, ...starts].map(({ answered }) => answered);
    });
  }

  #join(own: SessionPlaces, place: VoicePlace, wish: VoiceChangeRequest): void {
    const { session, joining } = own;
    const isWanted = () => session.bot || this.#latest(own).wanted?.id === place.id;
    const pending: Pending = {
      place,
      answered: this.#ask(session, place, wish, isWanted)
        .then(
          (reply) => this.#settle(own, place, reply.ok && reply.value !== null),
          (fault) => {
            if (!session.bot) this.#unanswered(this.#latest(own), place);
            this.#ports.onFault(fault, session.sessionId);
          },
        )
        .then(() => {
          joining.delete(pending);
        }),
    };
    joining.add(pending);
  }

  #settle(own: SessionPlaces, place: VoicePlace, inVoice: boolean): void {
    const { session, wanted, joined } = own;
    if (session.bot) {
      if (inVoice && session.over) this.#leave.one(own, place);
    } else if (inVoice) this.#settleIn(this.#latest(own), place);
    // The request was refused: the session stays where it was.
    else if (joined && wanted === place) own.wanted = joined;
  }

  #settleIn(own: SessionPlaces, place: VoicePlace): void {
    if (own.wanted === undefined) own.wanted = place;
    if (own.session.over || own.wanted?.id !== place.id) this.#leave.one(own, place);
    else this.#stayIn(own, place);
  }

  /** It is not known whether the place has let the session in. */
  #unanswered(own: SessionPlaces, place: VoicePlace): void {
    if (own.session.over || (own.wanted !== undefined && own.wanted?.id !== place.id))
      this.#leave.one(own, place);
    else own.isUnknown = true;
  }

  /** A user is in one place, with one session. */
  #stayIn(own: SessionPlaces, place: VoicePlace): void {
    const before = own.joined;
    own.joined = place;
    if (before && before.id !== place.id) this.#leave.one(own, before);
    for (const other of this.#ofUser(own)) {
      this.#leave.unknown(other, own);
      other.isUnknown = false;
      if (other === own) continue;
      if (other.joined && other.joined.id !== place.id) this.#leave.one(other, other.joined);
      other.joined = null;
    }
  }

  /** A session that was opened again since its request has other places here. */
  #latest(own: SessionPlaces): SessionPlaces {
    const { sessionId } = own.session;
    return this.#ofUser(own).find(({ session }) => session.sessionId === sessionId) ?? own;
  }

  /** The places of all open sessions of the user that are known here. */
  #ofUser({ session }: SessionPlaces): SessionPlaces[] {
    return [...this.#ports.users.sessions(session.userId)].flatMap((each) => this.#known.get(each) ?? []);
  }
}

export function createVoicePlaces(ports: PlacePorts): VoicePlaces {
  const { guilds, inPrivate } = ports;
  const owners = ofOwners(ports);
  const ask = askingRepeatedly(ports);
  const leave = leaving(ports, owners, ask);
  const bySession = new WeakMap<object, SessionPlaces>();
  const moves = new Moves(ports, ask, leave, bySession);

  function placesOf(session: LiveSession): SessionPlaces {
    const known = bySession.get(session) ?? placesOfNew(session);
    bySession.set(session, known);
    return known;
  }

  return {
    ask(session, { guildId, ...wish }) {
      const own = placesOf(session);
      const place: VoicePlace | null =
        guildId !== null
          ? { kind: 'guild', id: guildId }
          : wish.channelId !== null
            ? { kind: 'private', id: wish.channelId }
            : null;
      if (place?.kind !== 'guild' && session.bot) return;
      if (place && wish.channelId !== null) moves.join(own, place, wish);
      else if (place) moves.leave(own, place);
      else {
        // Users name no guild when they leave voice.
        for (const each of distinct(own)) moves.leave(own, each);
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
      return guildId === null
        ? inPrivate(callId, 'dropCaller', user, SYSTEM)
        : guilds.call(guildId, 'dropVoice', { ...user, channelId: callId }, SYSTEM);
    },
  };
}
