import { recipients, touchAudiences } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Origin, Recipient } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { guildCreatePayload } from '../../engine/guild/payloads.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { Subscribed } from '../placement/ports.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { type DispatchStream, endOfEpoch, epochOf } from '../runtime/stream.ts';

/** A session that may end while it is being subscribed. */
export interface Subscribing extends Recipient {
  /** True once the session has ended: no one would unsubscribe it any more. */
  readonly over?: boolean;
  /** Told where streams are numbered: it has this aggregate's up to `n`, and hears from here on what comes beyond. */
  following?(ownerId: string, n: number): void;
}

/** A session that is to be subscribed. */
export interface Entering {
  readonly subscriber: Subscribing;
  /** From IDENTIFY: 50 to 250. */
  readonly largeThreshold: number;
  /** It has had the guild, and its stream up to this number: it is given what came since, instead of the guild. */
  readonly after: number | null;
  /** Hears what the subscriber is told by `following`, before anything that comes later is delivered. */
  readonly caughtUp?: (n: number) => void;
}

interface Ports {
  readonly id: string;
  nowMs(): number;
  /** True from the moment the guild's end is decided. */
  /** True from the moment the actor has ended. */
  over(): boolean;
  body(t: string, d: object, origin?: Origin | null): DispatchBody;
  /** Runs behind the commits under way: what the payload shows must be durable before it is seen. */
  after(run: (fault: Error | null) => void): void;
  /** Null where nothing is numbered: then nothing can have been missed. */
  stream(): DispatchStream | null;
  /** Who is subscribed, and waits for what comes before. */
  readonly arriving: Set<Recipient>;
  /** Sessions are subscribed that may be those of members in voice; what it answers says where those are. */
  returned(guild: Guild, sessions: readonly Recipient[]): (() => void) | null;
  /** Another object represents the session now; it has the stream up to `n`. */
  displaced(session: Recipient, n: number): void;
  /** One outcome for each, in order. */
  done(outcomes: readonly Subscribed[]): void;
  fault(error: Error): void;
}

/** The first dispatches to new subscribers. */
interface SubscriptionDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Recipient[];
  readonly origin: Origin | null;
}

/**
 * Work that makes sessions subscribers of a guild and delivers GUILD_CREATE to them, or what they have missed.
 *
 * Cost: for those that missed something, one look at what the stream has beyond the first of them, and the sessions it
 * is for; whatever the number of the guild's other subscribers. For the rest a payload each.
 */
export function subscription(entering: readonly Entering[], ports: Ports): Work<Guild> {
  return {
    needs: needsOf(entering),
    run: (guild) => {
      const nowMs = ports.nowMs();
      const stream = ports.stream();
      const outcomes = entering.map((each) => outcomeOf(guild, each, stream));
      const arrived = entering.filter((_, at) => outcomes[at] === 'member');
      // A subscribed session has missed nothing, or its missed dispatches are under way.
      const away = arrived.filter(
        ({ subscriber }) => guild.subscribers.get(subscriber.sessionId) !== subscriber,
      );
      const displaced = stream ? away.flatMap(({ subscriber }) => sessionsNamed(guild, subscriber)) : [];
      // Whoever reached it through an earlier link or another home has been reckoned with all the time.
      const isKnown = ({ subscriber }: Entering) => guild.subscribers.has(subscriber.sessionId);
      const reckoned = new Set(stream ? away.filter(isKnown) : []);
      const heardUpTo = stream?.last ?? 0;
      for (const { subscriber } of arrived) {
        enter(guild, subscriber);
        ports.arriving.add(subscriber);
      }
      touchAudiences(guild);
      // What an actor that ended here without a successor had told is over for all of its sessions.
      const goingOn = away.filter(({ after }) => after === null || !stream?.isOrphan(after));
      const behind = missed(guild, goingOn, stream, nowMs);
      const astray = stream ? away.filter((each) => isStale(each, stream, reckoned.has(each))) : [];
      const again = stream && astray.length > 0 ? unavailable(guild, astray, stream) : [];
      const upTo = again.length > 0 && stream ? stream.next() : (stream?.last ?? 0);
      const origin = stream && { ownerId: ports.id, n: upTo };
      // Who asks again because an answer was lost has been shown the guild, or is about to be.
      const isNew = (each: Entering) => stream === null || away.includes(each);
      const shown = arrived.filter((each) => (each.after === null ? isNew(each) : astray.includes(each)));
      const dispatches = [...behind, ...again, ...deliverGuild(guild, shown, origin, nowMs)];
      const voiceMembers = stream ? ports.returned(guild, away.map(subscriberOf)) : null;
      ports.after((fault) => {
        for (const { subscriber } of arrived) ports.arriving.delete(subscriber);
        // The next owner is asked for the same: what these have is what they came with.
        if (stream && (fault || ports.over()))
          return ports.fault(fault ?? new NotServed('Another shard owns the guild now.'));
        // After a loss all subscribers receive GUILD_DELETE and later GUILD_CREATE.
        if (!fault) deliverAll(dispatches, ports);
        if (stream)
          for (const { subscriber, caughtUp } of arrived) {
            subscriber.following?.(ports.id, upTo);
            caughtUp?.(upTo);
          }
        voiceMembers?.();
        for (const session of displaced) ports.displaced(session, heardUpTo);
        ports.done(outcomes);
      });
    },
    refuse: () => ports.done(entering.map(() => 'gone')),
    fault: ports.fault,
  };
}

const subscriberOf = ({ subscriber }: Entering): Recipient => subscriber;

function deliverAll(all: readonly SubscriptionDispatch[], { body }: Pick<Ports, 'body'>): void {
  for (const { t, d, to, origin } of all) {
    const one = body(t, d, origin);
    for (const subscriber of to) subscriber.deliver(one);
  }
}

/**
 * The members themselves. Who hears presences gets all members of a guild that is not large: they are read once, and
 * whoever is pushed out of the window before its turn is left for the client to ask for.
 */
function needsOf(entering: readonly Entering[]): () => Needs {
  const members = entering.map(({ subscriber }) => subscriber.userId);
  const shown = entering.filter(({ subscriber, after }) => after === null && hearsPresences(subscriber));
  let everyoneUpTo = Math.max(0, ...shown.map(({ largeThreshold }) => largeThreshold));
  return () => {
    const needs = everyoneUpTo > 0 ? { members, everyoneUpTo } : { members };
    everyoneUpTo = 0;
    return needs;
  };
}

const hearsPresences = ({ bot, intents }: Recipient): boolean =>
  !bot || (intents & INTENTS.GUILD_PRESENCES) !== 0;

function outcomeOf(guild: Guild, { subscriber, after }: Entering, stream: DispatchStream | null): Subscribed {
  if (subscriber.over || guild.gone || !guild.members.get(subscriber.userId)) return 'gone';
  return stream && after !== null && after < stream.floor ? 'tooOld' : 'member';
}

/** Another object of the same session. Two shards may name one session at the same time. */
function sessionsNamed(guild: Guild, { sessionId }: Recipient): Recipient[] {
  const before: Subscribing | undefined = guild.subscribers.get(sessionId);
  return before && !before.over ? [before] : [];
}

function enter(guild: Guild, subscriber: Recipient): void {
  const userId = subscriber.userId;
  const known = guild.subscribers.has(subscriber.sessionId);
  guild.subscribers.set(subscriber.sessionId, subscriber);
  if (!known) guild.sessionCounts.set(userId, (guild.sessionCounts.get(userId) ?? 0) + 1);
}

/** Dispatches of what may change which channels a member sees. */
const MOVES_SIGHT: ReadonlySet<string> = new Set([
  ...['GUILD_UPDATE', 'GUILD_ROLE_UPDATE', 'GUILD_ROLE_DELETE', 'CHANNEL_UPDATE', 'CHANNEL_CREATE'],
  ...['CHANNEL_DELETE', 'GUILD_MEMBER_UPDATE'],
]);

/**
 * Whether a session may see other channels than its client knows, and nobody has told it. Who comes to see a channel and
 * who does no longer is reckoned among those who are subscribed, and with an owner later than the one that it heard last
 * it was not, until now; nor with this one, when nothing stood for it any more (`isReckoned`). Nor was it while its user
 * was no member.
 */
function isStale({ subscriber, after }: Entering, stream: DispatchStream, isReckoned: boolean): boolean {
  const dispatches = after === null ? 'tooOld' : stream.since(after);
  if (after === null || dispatches === 'tooOld') return false;
  if (stream.isOrphan(after)) return true;
  const wasLeft = !isReckoned && epochOf(after) === epochOf(stream.last);
  const heardUpTo = wasLeft ? after : endOfEpoch(after);
  const isOwn = (d: object) => (d as { user: { id: string } }).user.id === subscriber.userId;
  return dispatches.some(
    ({ t, d, n }) =>
      (t === 'GUILD_MEMBER_REMOVE' && isOwn(d)) ||
      (n > heardUpTo && MOVES_SIGHT.has(t) && (t !== 'GUILD_MEMBER_UPDATE' || isOwn(d))),
  );
}

/** Sent before GUILD_CREATE is repeated: clients ignore a guild that they hold, unless it was unavailable. */
function unavailable(
  guild: Guild,
  astray: readonly Entering[],
  stream: DispatchStream,
): SubscriptionDispatch[] {
  const to = astray.flatMap(({ subscriber }) => (isShown(subscriber) ? [subscriber] : []));
  const origin = { ownerId: stream.ownerId, n: stream.next() };
  return [{ t: 'GUILD_DELETE', d: { id: guild.id, unavailable: true }, to, origin }];
}

const isShown = ({ bot, intents }: Recipient): boolean => !bot || (intents & INTENTS.GUILDS) !== 0;

/** The guild, for those that have not had it, or have lost sight of it; numbered, as it is of no use once another owner tells the stream. */
function deliverGuild(
  guild: Guild,
  arrived: readonly Entering[],
  origin: Origin | null,
  nowMs: number,
): SubscriptionDispatch[] {
  return arrived.flatMap(({ subscriber, largeThreshold }) => {
    const { userId, intents } = subscriber;
    if (!isShown(subscriber)) return [];
    const d = guildCreatePayload(guild, userId, largeThreshold, intents, nowMs);
    return [{ t: 'GUILD_CREATE', d, to: [subscriber], origin }];
  });
}

/** What those that have had the guild have missed, and may see now. */
function missed(
  guild: Guild,
  arrived: readonly Entering[],
  stream: DispatchStream | null,
  nowMs: number,
): SubscriptionDispatch[] {
  if (!stream) return [];
  const afters = new Map<Recipient, number>();
  for (const { subscriber, after } of arrived) if (after !== null) afters.set(subscriber, after);
  if (afters.size === 0) return [];
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const after of afters.values()) [first, last] = [Math.min(first, after), Math.max(last, after)];
  const dispatches = stream.since(first);
  if (dispatches === 'tooOld') return [];
  const view = visibleTo(guild, afters.keys());
  // A removed member who rejoined receives the guild again.
  const heard = dispatches.filter(({ t }) => t !== 'GUILD_DELETE');
  return heard.flatMap(({ t, d: whole, to: audience, n }) =>
    recipients(view, { t, d: whole, to: audience } as Dispatch, nowMs).flatMap(({ d, to: all }) => {
      const to = n > last ? all : all.filter((session) => (afters.get(session) ?? n) < n);
      return to.length === 0 ? [] : [{ t, d, to, origin: { ownerId: stream.ownerId, n } }];
    }),
  );
}

/** The guild with these as its only subscribers: who receives what is then reckoned for them alone. */
function visibleTo(guild: Guild, sessions: Iterable<Recipient>): Guild {
  const subscribers = new Map<string, Recipient>();
  for (const session of sessions) subscribers.set(session.sessionId, session);
  return { ...guild, subscribers, audiences: new Map() };
}

/** Takes every session of a user who is no longer a member off a guild's dispatches; answers which. */
export function dismiss(guild: Guild, userId: UserId): readonly Recipient[] {
  if (!guild.sessionCounts.has(userId)) return [];
  const sessions = [...guild.subscribers.values()].filter((subscriber) => subscriber.userId === userId);
  for (const subscriber of sessions) unsubscribe(guild, subscriber);
  return sessions;
}

/** Takes a session off a guild's dispatches; the member leaves the resident ones with the last session. */
export function unsubscribe(guild: Guild, subscriber: Recipient): void {
  // Another object may represent the session by now: it has moved from another shard.
  if (guild.subscribers.get(subscriber.sessionId) !== subscriber) return;
  guild.subscribers.delete(subscriber.sessionId);
  const userId = subscriber.userId;
  const left = (guild.sessionCounts.get(userId) ?? 1) - 1;
  if (left > 0) guild.sessionCounts.set(userId, left);
  else guild.sessionCounts.delete(userId);
  touchAudiences(guild);
}
