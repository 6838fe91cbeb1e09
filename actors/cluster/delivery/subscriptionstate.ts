import type { Subscribed } from '../../placement/ports.ts';

/** A call of `subscribe` that waits for its outcome, which it receives once. */
export interface Caller {
  settle(how: Subscribed): void;
  fail(fault: Error): void;
}

/** `resuming`: the session is being resumed and must receive neither a gap nor a second GUILD_CREATE. */
export interface Waiter {
  readonly kind: 'subscribing' | 'resuming';
  readonly caller: Caller;
}

/**
 * The client has the guild's dispatches up to `n`. `removed`: the last of them is GUILD_DELETE, received while the
 * subscription was pending; whether the user has rejoined is known from the next answer.
 */
interface Position {
  readonly kind: 'current' | 'removed';
  /** Moves in place with each dispatch, so that a dispatch allocates nothing. */
  n: number;
}

/** What the client has of the guild. `unavailable`: it shows the guild as unavailable and waits for GUILD_CREATE. */
export type Client = { readonly kind: 'nothing' | 'unavailable' } | Position;

export const NOTHING: Client = { kind: 'nothing' };
export const UNAVAILABLE: Client = { kind: 'unavailable' };

/** What a subscription keeps until the session is subscribed. */
interface Pending {
  client: Client;
  readonly waiter: Waiter | null;
  /** Since when the guild's stream is missing, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** Epoch of a local actor that still delivers the stream; the position is known after that actor ends. */
  readonly deliveredUnder: number | null;
}

/**
 * In each state whose name ends in `Again` the user has joined once more since the request was sent. The request is
 * repeated after its answer, which must not pass for the answer to the repeated one.
 */
export type Waiting = Pending & { readonly name: 'waiting' | 'waitingAgain' };
type Requested = Pending & {
  readonly name: 'requested' | 'requestedAgain';
  /** The request in flight that contains this subscription. */
  readonly request: number;
};
/** A remote owner has answered that the session is subscribed. Only `caughtUp`, sent after the missed dispatches, ends it. */
type Answered = Pending & { readonly name: 'answered' | 'answeredAgain' };
export type PendingSubscription = Waiting | Requested | Answered;

/**
 * The subscription of one session to the stream of one guild. A subscribed session has everything up to the stream's
 * position that it may see, so nothing is kept about it.
 */
export type Subscription =
  | { readonly name: 'absent' }
  | { readonly name: 'subscribed' }
  | PendingSubscription;

export const ABSENT: Subscription = { name: 'absent' };
export const SUBSCRIBED: Subscription = { name: 'subscribed' };

export const isPending = (state: Subscription): state is PendingSubscription =>
  state.name !== 'absent' && state.name !== 'subscribed';

export const isWaiting = (state: Subscription): state is Waiting =>
  state.name === 'waiting' || state.name === 'waitingAgain';

/** Whether this request is in flight and contains the subscription. */
export const isRequestedIn = (state: Subscription, request: number | null): state is Requested =>
  (state.name === 'requested' || state.name === 'requestedAgain') && state.request === request;

/** The position from which the session resumes the stream; null: it has to receive GUILD_CREATE. */
export const positionOf = ({ client }: Pick<Pending, 'client'>): number | null =>
  'n' in client ? client.n : null;

/**
 * False when the session has a position at or beyond this dispatch; otherwise the dispatch becomes its position. Drops
 * duplicates: one shard may deliver a late dispatch as the last owner and repeat it as the next one.
 *
 * @param isShownGuilds Whether the session is sent GUILD_CREATE.
 */
export function receives(state: Subscription, n: number, t: string, isShownGuilds: boolean): boolean {
  if (!isPending(state)) return true;
  // It shows the guild as it is now, and is sent again once the session is subscribed.
  if (n === 0) return false;
  const { client } = state;
  if ('n' in client) {
    if (n <= client.n) return false;
    client.n = n;
    return true;
  }
  // What comes before GUILD_CREATE answers a request from before the guild was withdrawn.
  if (isShownGuilds && t !== 'GUILD_CREATE' && t !== 'GUILD_DELETE') return false;
  // From GUILD_CREATE on the session has a position, also when the owner is lost before it says `following`.
  if (t === 'GUILD_CREATE') state.client = { kind: 'current', n };
  return true;
}
