import { type Audiences, receivesGuilds } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Origin, Recipient } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { ownRequestDispatch } from '../../engine/guild/joinrequests.ts';
import { guildCreatePayload } from '../../engine/guild/payloads.ts';
import { withRequests } from '../../engine/guild/screening.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import type { Subscribed } from '../placement/ports.ts';
import type { Work } from '../runtime/resident.machine.ts';
import type { DispatchStream } from '../runtime/stream.ts';
import { missingOr } from '../runtime/work.ts';
import type { GuildMemberLists } from './guild.memberlists.ts';
import { missed, missedThreads, type SubscriptionDispatch, staleness } from './guild.missed.ts';

/** A session that may end while it is being subscribed. */
export interface Subscribing extends Recipient {
  /** True once the session has ended: nothing would unsubscribe it later. */
  readonly over?: boolean;
  /** What its client wants to be shown of guilds' members. */
  readonly memberLists?: readonly MemberListRequest[] | null;
  /** Called on a cluster: the session has this aggregate's stream up to `n`, and later dispatches are delivered to it. */
  following?(ownerId: string, n: number): void;
}

/** A session that is to be subscribed. */
export interface Entering {
  readonly subscriber: Subscribing;
  /** From IDENTIFY: 50 to 250. */
  readonly largeThreshold: number;
  /** Resume after this stream position instead of sending GUILD_CREATE; null for a session without the guild. */
  readonly after: number | null;
  /** What the session is shown of the guild's members; absent for nothing. */
  readonly memberList?: MemberListRequest | null;
  /** Receives the position that `following` receives, before later dispatches are delivered. */
  readonly caughtUp?: (n: number) => void;
}

/** What an actor knows of the sessions that it subscribed. */
export interface SubscribedBefore {
  /** Subscribed sessions that have not received the earlier dispatches yet. */
  readonly arriving: Set<Recipient>;
  /** Subscribed sessions that were sent GUILD_CREATE by this actor. */
  readonly shown: WeakSet<Recipient>;
  /** The stream position at which each session was subscribed to this actor, under whichever object. */
  readonly subscribedAt: WeakMap<Recipient, number>;
  /**
   * Objects whose session another object represents since this stream position: they have been sent the stream up to it, and perhaps have
   * not received all of it yet.
   */
  readonly displacedAt: WeakMap<Recipient, number>;
  /** What they are shown of the guild's members. */
  readonly memberLists: Pick<GuildMemberLists, 'arrived'>;
}

interface Ports extends SubscribedBefore {
  readonly id: string;
  nowMs(): number;
  /** True from the moment the actor has ended. */
  over(): boolean;
  body(t: string, d: object, origin?: Origin | null): DispatchBody;
  /** Runs after the commits in progress: the state that a payload shows must be durable before it is visible. */
  after(run: (fault: Error | null) => void): void;
  /** Null in standalone mode: then no dispatch can have been missed. */
  stream(): DispatchStream | null;
  readonly audiences: Audiences;
  /** Called with the new subscribers; the returned function reports the voice members among them. */
  returned(guild: Guild, sessions: readonly Recipient[]): (() => void) | null;
  /** Another object represents the session now; it has the stream up to `n`. */
  displaced(session: Recipient, n: number): void;
  /** Receives one outcome for each entering session, in order. */
  done(outcomes: readonly Subscribed[]): void;
  fault(error: Error): void;
}

/**
 * Work that subscribes sessions to a guild and delivers GUILD_CREATE, or the dispatches that a session has missed.
 *
 * Cost: one GUILD_CREATE payload for each session without the guild. For the others, one pass over the stream from the
 * lowest position among them, and its recipients among them, however many other subscribers the guild has.
 */
export function subscription(asking: readonly Entering[], ports: Ports): Work<Guild> {
  return {
    needs: needsOf(asking, ports),
    run: (guild) => {
      const nowMs = ports.nowMs();
      const entering = asking.map((each) => sentUpTo(each, ports.displacedAt));
      const stream = ports.stream();
      const { audiences } = ports;
      const { sessions } = audiences;
      const outcomes = entering.map((each) => outcomeOf(guild, each, stream, sessions));
      const arrived = entering.filter((_, at) => outcomes[at] === 'member');
      // The same subscriber again has missed nothing, or its missed dispatches are being delivered.
      const behind = arrived.filter(({ subscriber }) => sessions.get(subscriber.sessionId) !== subscriber);
      const displaced = stream
        ? behind.flatMap(({ subscriber }) => sessionsNamed(audiences, subscriber))
        : [];
      const deliveredUpTo = stream?.last ?? 0;
      for (const session of displaced) ports.displacedAt.set(session, deliveredUpTo);
      for (const { subscriber } of arrived) {
        // A session that subscribed over an earlier link or from another shard has been in the audiences since then.
        const before = sessions.get(subscriber.sessionId);
        const at = (before && ports.subscribedAt.get(before)) ?? deliveredUpTo;
        ports.subscribedAt.set(subscriber, at);
        audiences.add(subscriber);
        ports.arriving.add(subscriber);
      }
      const past = stream && { stream, subscribedAt: ports.subscribedAt };
      const catchUp = past ? missed(guild, behind, past, nowMs) : [];
      const stale = past ? behind.filter(staleness(guild, behind, past)) : [];
      const withdrawn = stream && stale.length > 0 ? unavailable(guild, stale, stream) : [];
      if (withdrawn.length > 0) stream?.next();
      const shown = arrived.filter((each) => isShownTo(each, { stream, behind, stale, shown: ports.shown }));
      for (const { subscriber } of shown) ports.shown.add(subscriber);
      const creates = guildCreates(guild, shown, stream, nowMs);
      const dispatches = [...catchUp, ...withdrawn, ...creates, ...ownDispatches(guild, shown, stream)];
      const upTo = stream?.last ?? 0;
      const voiceMembers = ports.returned(guild, (stream ? behind : arrived).map(subscriberOf));
      ports.after((fault) => {
        for (const { subscriber } of arrived) ports.arriving.delete(subscriber);
        // The sessions ask the next owner with the position they came with.
        if (stream && (fault || ports.over()))
          return ports.fault(fault ?? new NotServed('Another shard owns the guild now.'));
        if (!fault) deliverAll(dispatches, ports);
        if (stream)
          for (const { subscriber, caughtUp } of arrived) {
            subscriber.following?.(ports.id, upTo);
            caughtUp?.(upTo);
          }
        voiceMembers?.();
        if (!fault) for (const each of arrived) ports.memberLists.arrived(each.subscriber, each.memberList);
        for (const session of displaced) ports.displaced(session, deliveredUpTo);
        ports.done(outcomes);
      });
    },
    refuse: missingOr(() => ports.done(asking.map(() => 'gone')), ports.fault),
    fault: ports.fault,
  };
}

/** A displaced session has been sent more than it had received when it asked. */
function sentUpTo(each: Entering, displacedAt: SubscribedBefore['displacedAt']): Entering {
  const at = displacedAt.get(each.subscriber) ?? 0;
  return each.after === null || at <= each.after ? each : { ...each, after: at };
}

/**
 * Whether GUILD_CREATE goes to the session. One that asks again because a reply was lost has received the guild, or is
 * about to. One that continued the stream of an actor before this one may ask again because that actor took the guild
 * from it.
 */
const isShownTo = (
  each: Entering,
  of: Pick<Ports, 'shown'> & {
    readonly stream: DispatchStream | null;
    readonly behind: readonly Entering[];
    readonly stale: readonly Entering[];
  },
): boolean => {
  if (each.after !== null) return of.stale.includes(each);
  return of.stream === null || of.behind.includes(each) || !of.shown.has(each.subscriber);
};

const subscriberOf = ({ subscriber }: Entering): Recipient => subscriber;

function deliverAll(all: readonly SubscriptionDispatch[], { body }: Pick<Ports, 'body'>): void {
  for (const { t, d, to, origin } of all) {
    const one = body(t, d, origin);
    for (const subscriber of to) subscriber.deliver(one);
  }
}

/**
 * The subscribers' members and join requests, and the threads of what they may have missed. Sessions that receive presences, and are
 * sent the guild, get all members of a guild that is not large: these are read once, and the client requests members that are
 * evicted from the window before the payload is built.
 */
function needsOf(
  entering: readonly Entering[],
  ports: Pick<Ports, 'stream' | 'subscribedAt'>,
): (guild: Guild) => Needs {
  const members = entering.map(({ subscriber }) => subscriber.userId);
  const receiving = entering.filter(({ subscriber }) => receivesPresences(subscriber));
  let readUpTo = 0;
  return (guild) => {
    const stream = ports.stream();
    const threads = missedThreads(guild, entering, stream);
    const own = { ...withRequests(guild, members), threads };
    const isStale = stream && staleness(guild, receiving, { stream, subscribedAt: ports.subscribedAt });
    const shown = receiving.filter((each) => each.after === null || isStale?.(each));
    const everyoneUpTo = Math.max(0, ...shown.map(({ largeThreshold }) => largeThreshold));
    if (everyoneUpTo <= readUpTo) return own;
    // What the members may see is known only when they are read, and then more sessions may be sent the guild.
    readUpTo = everyoneUpTo;
    return { ...own, everyoneUpTo };
  };
}

const receivesPresences = ({ bot, intents }: Recipient): boolean =>
  !bot || (intents & INTENTS.GUILD_PRESENCES) !== 0;

function outcomeOf(
  guild: Guild,
  { subscriber, after }: Entering,
  stream: DispatchStream | null,
  sessions: ReadonlyMap<string, Recipient>,
): Subscribed {
  if (subscriber.over || !guild.members.get(subscriber.userId)) return 'gone';
  // What a subscriber has been sent since its position does not matter, although it is no longer kept.
  if (sessions.get(subscriber.sessionId) === subscriber) return 'member';
  return stream && after !== null && after < stream.floor ? 'tooOld' : 'member';
}

/** Another object of the same session. Two shards may name one session at the same time. */
function sessionsNamed({ sessions }: Audiences, { sessionId }: Recipient): Recipient[] {
  const before: Subscribing | undefined = sessions.get(sessionId);
  return before && !before.over ? [before] : [];
}

/** Sent before GUILD_CREATE is repeated: clients ignore a guild that they hold, unless it was unavailable. */
function unavailable(
  guild: Guild,
  stale: readonly Entering[],
  stream: DispatchStream,
): SubscriptionDispatch[] {
  const to = stale.flatMap(({ subscriber }) => (receivesGuilds(subscriber) ? [subscriber] : []));
  const origin = { ownerId: stream.ownerId, n: stream.next() };
  return [{ t: 'GUILD_DELETE', d: { id: guild.id, unavailable: true }, to, origin }];
}

/** GUILD_CREATE for sessions without the guild or with an outdated view of it; numbered, as it ends with this owner's stream. */
function guildCreates(
  guild: Guild,
  arrived: readonly Entering[],
  stream: DispatchStream | null,
  nowMs: number,
): SubscriptionDispatch[] {
  const origin = stream && { ownerId: stream.ownerId, n: stream.last };
  return arrived.flatMap(({ subscriber, largeThreshold }) => {
    const { userId, intents } = subscriber;
    if (!receivesGuilds(subscriber)) return [];
    const d = guildCreatePayload(guild, userId, largeThreshold, intents, nowMs);
    return [{ t: 'GUILD_CREATE', d, to: [subscriber], origin }];
  });
}

/**
 * What new sessions caused before they could be subscribed: the open join requests of their users, and the voice states that
 * they set themselves, with which voice clients connect. Their number is higher, because a session that has GUILD_CREATE takes
 * nothing else of its number.
 */
function ownDispatches(
  guild: Guild,
  shown: readonly Entering[],
  stream: DispatchStream | null,
): SubscriptionDispatch[] {
  const dispatches = shown.flatMap(({ subscriber, after }) => {
    const request = receivesGuilds(subscriber) ? ownRequestDispatch(guild, subscriber.userId) : null;
    const voiceState = after === null ? ownVoiceState(guild, subscriber) : null;
    return [request, voiceState].flatMap((each) => (each ? [{ ...each, to: [subscriber] }] : []));
  });
  if (dispatches.length === 0) return [];
  const origin = stream && { ownerId: stream.ownerId, n: stream.next() };
  return dispatches.map((each) => ({ ...each, origin }));
}

function ownVoiceState(
  guild: Guild,
  { userId, sessionId }: Subscribing,
): Pick<SubscriptionDispatch, 't' | 'd'> | null {
  const voiceState = guild.voiceStates.get(userId);
  return voiceState?.session_id === sessionId ? { t: 'VOICE_STATE_UPDATE', d: voiceState } : null;
}

/** Unsubscribes every session of a user who is no longer a member. @returns These sessions. */
export function dismiss(audiences: Audiences, userId: UserId): readonly Recipient[] {
  if (!audiences.sessionCounts.has(userId)) return [];
  const sessions = [...audiences.sessions.values()].filter((subscriber) => subscriber.userId === userId);
  for (const subscriber of sessions) unsubscribe(audiences, subscriber);
  return sessions;
}

/** Unsubscribes a session. With the last one, the user's member may be evicted from memory. */
export function unsubscribe(audiences: Audiences, subscriber: Recipient): void {
  // Another object may represent the session now: it has migrated from another shard.
  if (audiences.sessions.get(subscriber.sessionId) === subscriber) audiences.delete(subscriber.sessionId);
}
