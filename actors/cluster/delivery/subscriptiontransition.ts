import type { Subscribed } from '../../placement/ports.ts';
import { epochOf } from '../../runtime/stream.ts';
import {
  ABSENT,
  type Caller,
  type Client,
  isPending,
  isRequestedIn,
  isWaiting,
  NOTHING,
  type PendingSubscription,
  positionOf,
  SUBSCRIBED,
  type Subscription,
  UNAVAILABLE,
  type Waiter,
  type Waiting,
} from './subscriptionstate.ts';

/** What happens to a subscription. `n` is a stream position; times are monotonic milliseconds. */
export type SubscriptionEvent =
  | {
      readonly type: 'subscribe';
      readonly waiter: Waiter;
      /** The position that the caller names; null without one. */
      readonly after: number | null;
      /** The stream's own position. */
      readonly n: number;
      readonly sinceMs: number;
      /** The stream's source, which would answer the request; nobody answers a session that has ended. */
      readonly from: 'here' | 'peer' | 'nobody';
      /** Epoch of the local actor that delivers to subscribed sessions; null for other sources. */
      readonly deliversUnder: number | null;
    }
  /** The subscription is part of a request that is being sent. */
  | { readonly type: 'requested'; readonly request: number }
  | {
      readonly type: 'answered';
      readonly request: number;
      readonly from: 'here' | 'peer';
      readonly how: Subscribed;
    }
  /** The source of the stream has sent everything up to `n` and delivers from there. */
  | { readonly type: 'caughtUp'; readonly n: number }
  /** A local actor has sent everything up to `n` for an outdated request; it delivers until it ends. */
  | { readonly type: 'caughtUpLate'; readonly n: number }
  /** A request failed, for the subscriptions in it and those that wait. `request` null: the guild has no owner. */
  | {
      readonly type: 'requestFailed';
      readonly request: number | null;
      readonly fault: Error;
      /** The guild itself failed, so that waiting does not help. */
      readonly isFatal: boolean;
      readonly nowMs: number;
    }
  /** Another shard, or none, is the source of the stream, which had the position `n`. */
  | {
      readonly type: 'sourceChanged';
      readonly n: number;
      /** Epoch of the local actor that has delivered so far; null for other sources. */
      readonly deliveredUnder: number | null;
      readonly sinceMs: number;
    }
  /** The local actor that delivered under the epoch of `n` has ended; it delivered everything up to `n`. */
  | { readonly type: 'released'; readonly n: number }
  /** The session was sent GUILD_DELETE, which ended the membership of its user. */
  | { readonly type: 'guildDeleted' }
  /** The session was sent GUILD_DELETE as unavailable. */
  | { readonly type: 'unavailable'; readonly nowMs: number }
  /** The local actor of this epoch has removed the user. `deliversUnder` is the epoch of the one that is the source. */
  | { readonly type: 'memberRemoved'; readonly epoch: number; readonly deliversUnder: number | null }
  /** The owner has another object for the session since `n`. */
  | { readonly type: 'replaced'; readonly n: number; readonly nowMs: number }
  /** The session ended, or moved to another shard. */
  | { readonly type: 'left' };

/** `dropCursor`: a shard that takes the session over must not resume the stream. `request`: now. `retry`: after a delay. */
export type SubscriptionEffect =
  | { readonly do: 'settle'; readonly caller: Caller; readonly how: Subscribed }
  | { readonly do: 'fail'; readonly caller: Caller; readonly fault: Error }
  | { readonly do: 'sendGuildDelete'; readonly content: { readonly unavailable?: true } }
  | { readonly do: 'dropCursor' }
  | { readonly do: 'request' }
  | { readonly do: 'retry' };

/** The state after an event, and what is to be done then, in this order. */
interface Step {
  readonly next: Subscription;
  readonly effects: readonly SubscriptionEffect[];
}

type EventOf<T extends SubscriptionEvent['type']> = Extract<SubscriptionEvent, { readonly type: T }>;

/** How long callers wait for a guild that is unreachable. */
const CALLERS_WAIT_MS = 10_000;
/**
 * How long a guild may be unreachable before the sessions that have it receive GUILD_DELETE as unavailable. Until then they continue
 * where they were, so it is longer than a database takes to fail over.
 */
const UNAVAILABLE_AFTER_MS = 30_000;

const DROP_CURSOR: SubscriptionEffect = { do: 'dropCursor' };
const REQUEST: SubscriptionEffect = { do: 'request' };
const RETRY: SubscriptionEffect = { do: 'retry' };
const SEND_REMOVED: SubscriptionEffect = { do: 'sendGuildDelete', content: {} };
const SEND_UNAVAILABLE: SubscriptionEffect = { do: 'sendGuildDelete', content: { unavailable: true } };

/** The life of one subscription. It has no clock and no I/O. */
export function transition(state: Subscription, event: SubscriptionEvent): Step {
  switch (event.type) {
    case 'subscribe':
      return subscribe(state, event);
    case 'requested':
      return requested(state, event);
    case 'answered':
      return answered(state, event);
    case 'caughtUp':
      return caughtUp(state, event);
    case 'caughtUpLate':
      return caughtUpLate(state, event);
    case 'requestFailed':
      return requestFailed(state, event);
    case 'sourceChanged':
      return sourceChanged(state, event);
    case 'released':
      return released(state, event);
    case 'guildDeleted':
      return guildDeleted(state);
    case 'unavailable':
      return unavailable(state, event.nowMs);
    case 'memberRemoved':
      return memberRemoved(state, event);
    case 'replaced':
      return replaced(state, event);
    case 'left':
      return unsubscribed(state, 'gone');
  }
}

const step = (next: Subscription, ...effects: readonly SubscriptionEffect[]): Step => ({ next, effects });

const upTo = (n: number): Client => ({ kind: 'current', n });

/** Answers the caller that waits, if any. */
const settled = (state: Subscription, how: Subscribed): readonly SubscriptionEffect[] =>
  isPending(state) && state.waiter ? [{ do: 'settle', caller: state.waiter.caller, how }] : [];

/** The caller that resumes a session accepts GUILD_CREATE from now on. */
const lenient = (waiter: Waiter | null): Waiter | null => waiter && { ...waiter, kind: 'subscribing' };

const isAgain = ({ name }: PendingSubscription): boolean =>
  name === 'waitingAgain' || name === 'requestedAgain' || name === 'answeredAgain';

/** The subscription without its request, if any: it waits for the next one. */
function waits(state: PendingSubscription, change: Partial<Waiting> = {}): Waiting {
  const { client, waiter, sinceMs, deliveredUnder } = state;
  const name = isAgain(state) ? 'waitingAgain' : 'waiting';
  return { name, client, waiter, sinceMs, deliveredUnder, ...change };
}

function unsubscribed(state: Subscription, how: Subscribed): Step {
  return step(ABSENT, DROP_CURSOR, ...settled(state, how));
}

function subscribe(state: Subscription, event: EventOf<'subscribe'>): Step {
  const { waiter, after, n, sinceMs, from, deliversUnder } = event;
  const fresh = (client: Client, deliveredUnder: number | null): Waiting => ({
    ...{ name: 'waiting', client, waiter, sinceMs, deliveredUnder },
  });
  if (state.name === 'absent') return step(fresh(after === null ? NOTHING : upTo(after), null), REQUEST);
  if (state.name === 'subscribed') {
    // A subscribed session has the guild, unless its user left and rejoined. A request with a position lets the owner
    // detect that.
    if (after === null && from === 'here')
      return step(state, { do: 'settle', caller: waiter.caller, how: 'member' });
    return step(fresh(upTo(after ?? n), deliversUnder), REQUEST);
  }
  // An earlier caller for the same session is answered: the session is subscribed once the next request succeeds.
  const earlier = settled(state, 'member');
  // The owner may still be answering the request in flight; that answer must not pass for the answer to the next one.
  if (after === null && from === 'peer') {
    if (state.name === 'requested' || state.name === 'requestedAgain')
      return step({ ...state, name: 'requestedAgain', waiter }, ...earlier);
    if (state.name === 'answered' || state.name === 'answeredAgain')
      return step({ ...state, name: 'answeredAgain', waiter }, ...earlier);
  }
  const resumeAfter = after ?? positionOf(state);
  const client = resumeAfter === null ? state.client : upTo(resumeAfter);
  // A local actor that still delivers to the session moves the position when it ends.
  return step(fresh(client, state.deliveredUnder), ...earlier, REQUEST);
}

function requested(state: Subscription, { request }: EventOf<'requested'>): Step {
  if (!isWaiting(state)) return step(state);
  // The owner cannot see the removal from a position behind it: such a session asks for GUILD_CREATE.
  const client = state.client.kind === 'removed' ? NOTHING : state.client;
  return step({ ...state, name: 'requested', client, request });
}

function answered(state: Subscription, { request, from, how }: EventOf<'answered'>): Step {
  if (!isRequestedIn(state, request)) return step(state);
  if (how === 'member') return from === 'here' ? caughtUp(state, { n: 0 }) : answeredByPeer(state);
  if (how === 'gone') return answeredGone(state);
  if (state.waiter?.kind === 'resuming') return unsubscribed(state, how);
  // GUILD_DELETE as unavailable comes first, because clients ignore GUILD_CREATE for an available guild.
  return step(waits(state, { client: UNAVAILABLE }), SEND_UNAVAILABLE, DROP_CURSOR, RETRY);
}

/** A remote owner sends the position after the missed dispatches; only that ends the request. */
function answeredByPeer(state: PendingSubscription): Step {
  const { client, waiter, sinceMs, deliveredUnder } = state;
  const rest = { client, sinceMs, deliveredUnder };
  if (isAgain(state)) return step({ name: 'answeredAgain', ...rest, waiter });
  // The caller has its answer. If the owner changes before `caughtUp`, the session itself receives the next owner's answer.
  return step({ name: 'answered', ...rest, waiter: null }, ...settled(state, 'member'));
}

/** The user was no member when the owner answered. */
function answeredGone(state: PendingSubscription): Step {
  const { waiter, client } = state;
  // A live session was not subscribed when its user left, so it received no GUILD_DELETE. A session that is being
  // resumed receives it in `reopen`.
  const hasGuild = positionOf(state) !== null && waiter?.kind !== 'resuming';
  const lacksGuildDelete = client.kind !== 'removed' && (hasGuild || (waiter === null && !isAgain(state)));
  const notices = lacksGuildDelete ? [SEND_REMOVED] : [];
  if (!isAgain(state)) {
    const { next, effects } = unsubscribed(state, 'gone');
    return step(next, ...notices, ...effects);
  }
  // The user had left when the owner answered, and has rejoined since.
  const shown = client.kind === 'unavailable' ? client : NOTHING;
  return step(waits(state, { client: shown }), ...notices, DROP_CURSOR, RETRY);
}

function caughtUp(state: Subscription, { n }: Pick<EventOf<'caughtUp'>, 'n'>): Step {
  if (!isPending(state)) return step(state);
  if (isAgain(state)) return step(waits(state, { client: upTo(n) }), RETRY);
  return step(SUBSCRIBED, ...settled(state, 'member'));
}

function caughtUpLate(state: Subscription, { n }: EventOf<'caughtUpLate'>): Step {
  if (!isPending(state)) return step(state);
  const kind = state.client.kind === 'removed' ? 'removed' : 'current';
  return step({ ...state, client: { kind, n }, deliveredUnder: epochOf(n) });
}

/** Callers are answered after `CALLERS_WAIT_MS`, or at once when the guild itself failed. */
function requestFailed(state: Subscription, event: EventOf<'requestFailed'>): Step {
  const { request, fault, isFatal, nowMs } = event;
  if (!isPending(state) || !(isWaiting(state) || isRequestedIn(state, request))) return step(state);
  const { waiter, client, sinceMs } = state;
  const missingMs = nowMs - sinceMs;
  if (!isFatal && missingMs < CALLERS_WAIT_MS) return step(waits(state));
  const failed: readonly SubscriptionEffect[] = waiter ? [{ do: 'fail', caller: waiter.caller, fault }] : [];
  const hasGuild = positionOf(state) !== null;
  // A caller that resumes the session requests it again.
  if (waiter?.kind === 'resuming') return step(waits(state, { waiter: null }), ...failed);
  // The client has the guild, and may still be sent what it has missed.
  if (hasGuild && missingMs < UNAVAILABLE_AFTER_MS)
    return step(waits(state, { waiter: null }), ...settled(state, 'member'));
  const isShown = hasGuild || (waiter === null && client.kind === 'nothing');
  const next = waits(state, { client: UNAVAILABLE, waiter: null });
  return step(next, ...failed, ...(isShown ? [SEND_UNAVAILABLE] : []), DROP_CURSOR, RETRY);
}

/** The subscription is requested from the next source, after what the session has. */
function sourceChanged(state: Subscription, event: EventOf<'sourceChanged'>): Step {
  if (state.name === 'absent') return step(state);
  if (isPending(state)) return step(waits(state));
  const { n, deliveredUnder, sinceMs } = event;
  return step({ name: 'waiting', client: upTo(n), waiter: null, sinceMs, deliveredUnder });
}

function released(state: Subscription, { n }: EventOf<'released'>): Step {
  if (!isPending(state) || state.deliveredUnder !== epochOf(n)) return step(state);
  const { client } = state;
  const isBehind = 'n' in client && n > client.n;
  return step({ ...state, client: isBehind ? { ...client, n } : client, deliveredUnder: null });
}

function guildDeleted(state: Subscription): Step {
  if (state.name === 'absent') return step(state, DROP_CURSOR);
  if (state.name === 'subscribed') return unsubscribed(state, 'gone');
  const position = positionOf(state);
  // The user was removed and rejoined while this session waited for GUILD_CREATE.
  if (position === null) return step(state, DROP_CURSOR);
  // The answer to the request in flight says whether the user has rejoined.
  return step({ ...state, client: { kind: 'removed', n: position } });
}

/** Requests GUILD_CREATE for when the guild is available again. */
function unavailable(state: Subscription, nowMs: number): Step {
  // The GUILD_DELETE arrived after the session had unsubscribed.
  if (state.name === 'absent') return step(state, DROP_CURSOR);
  const next: Waiting = isPending(state)
    ? waits(state, { client: UNAVAILABLE, waiter: lenient(state.waiter) })
    : { name: 'waiting', client: UNAVAILABLE, waiter: null, sinceMs: nowMs, deliveredUnder: null };
  return step(next, DROP_CURSOR, RETRY);
}

/**
 * Ends a subscription to which the actor that removed the member delivers, as that actor has sent GUILD_DELETE. The
 * answer to a request ends the others, also those that only an actor before it delivers to.
 */
function memberRemoved(state: Subscription, { epoch, deliversUnder }: EventOf<'memberRemoved'>): Step {
  if (state.name === 'absent') return step(state);
  const under = isPending(state) ? state.deliveredUnder : deliversUnder;
  return under === epoch ? unsubscribed(state, 'gone') : step(state);
}

/** The session's previous shard had sent a late request: the session continues where the owner replaced its object. */
function replaced(state: Subscription, { n, nowMs }: EventOf<'replaced'>): Step {
  // The actor before still delivers under its epoch, but not to this session beyond `n`.
  if (state.name !== 'subscribed') return released(state, { type: 'released', n });
  const rest = { waiter: null, sinceMs: nowMs, deliveredUnder: null };
  return step({ name: 'waiting', client: upTo(n), ...rest }, RETRY);
}
