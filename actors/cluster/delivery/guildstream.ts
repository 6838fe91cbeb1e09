import type { DispatchBody } from '../../../engine/fanout/body.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { MemberListRequest } from '../../../protocol/link.sessions.ts';
import type { Owner } from '../../placement/ports.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { LocalSession, Peer } from './peer.ts';
import {
  ABSENT,
  isPending,
  type PendingSubscription,
  SUBSCRIBED,
  type Subscription,
} from './subscriptionstate.ts';

/** A session that subscribes to a guild. `after` null starts with GUILD_CREATE; a number resumes after that stream position. */
export interface GuildSubscription<Session> {
  readonly session: Session;
  readonly after: number | null;
  /** What the session is shown of the guild's members; absent or null for nothing. */
  readonly memberList?: MemberListRequest | null;
}

/** A shard that sends the stream, under the epoch of `owner`. */
interface Sender {
  readonly peer: Peer;
  readonly owner: Owner;
}

/** The sender of the stream, which delivers under the epoch of `owner`. */
export type StreamSource =
  | {
      readonly from: 'nobody';
      /**
       * The last source. Its late dispatches are delivered: when it becomes the source again, it counts them as
       * received.
       */
      readonly last: Sender | null;
    }
  | { readonly from: 'here'; readonly owner: Owner }
  | ({ readonly from: 'peer' } & Sender);

/** Whether the waiting subscriptions are being requested, or will be after a delay. */
type StreamRequests =
  | { readonly name: 'idle' }
  | { readonly name: 'requesting' }
  | { readonly name: 'retrying'; readonly timer: Timer };

/** The stream of one guild with the local sessions that subscribe to it. */
export interface GuildStream {
  readonly guildId: GuildId;
  source: StreamSource;
  /** Number of the newest dispatch; subscribed sessions have everything up to it that they may see. */
  n: number;
  readonly followers: Set<LocalSession>;
  /** Followers that are not subscribed yet, or not any more. */
  readonly pending: Map<LocalSession, PendingSubscription>;
  requests: StreamRequests;
  /** The delay before the next retry. */
  retryMs: number;
}

export const IDLE: StreamRequests = { name: 'idle' };

/** First and longest delay before a failed request is retried. */
export const RETRY_MS = { first: 100, most: 2500 };

/** A stream without subscribers and without a source. */
export const newGuildStream = (guildId: GuildId): GuildStream => ({
  ...{ guildId, source: { from: 'nobody', last: null }, n: 0 },
  ...{ followers: new Set(), pending: new Map(), requests: IDLE, retryMs: RETRY_MS.first },
});

export const subscriptionOf = ({ pending, followers }: GuildStream, local: LocalSession): Subscription =>
  pending.get(local) ?? (followers.has(local) ? SUBSCRIBED : ABSENT);

/** Keeps a subscribed session as a follower and nothing more, as nearly all sessions are. */
export function keep(stream: GuildStream, local: LocalSession, next: Subscription): void {
  if (isPending(next)) stream.pending.set(local, next);
  else stream.pending.delete(local);
  if (next.name === 'absent') {
    stream.followers.delete(local);
    local.guildIds.delete(stream.guildId);
  } else {
    stream.followers.add(local);
    local.guildIds.add(stream.guildId);
  }
}

/** Compares the epoch too: a shard that lost a partition and owns it again has none of the earlier subscriptions. */
export const isSameOwner = (before: Owner | null, now: Owner | null): boolean =>
  before !== null && now !== null && before.instance === now.instance && before.epoch === now.epoch;

const ownerOf = (source: StreamSource): Owner | null => (source.from === 'nobody' ? null : source.owner);

/** Whether the stream's source delivers as this owner. */
export const isFrom = ({ source }: GuildStream, owner: Owner | null): boolean =>
  isSameOwner(ownerOf(source), owner);

/** Whether the stream's source delivers under this epoch. */
export const isUnder = ({ source }: GuildStream, epoch: number): boolean => ownerOf(source)?.epoch === epoch;

/** The epoch of the local actor that delivers the stream; null while another source does. */
export const localEpochOf = ({ source }: GuildStream): number | null =>
  source.from === 'here' ? source.owner.epoch : null;

export function isSameSource(before: StreamSource, now: StreamSource): boolean {
  if (before.from !== now.from) return false;
  if (before.from === 'peer' && now.from === 'peer' && before.peer !== now.peer) return false;
  return before.from === 'nobody' || isSameOwner(ownerOf(before), ownerOf(now));
}

/** The shard that sends the stream, or sent it last; null for this one. */
export function senderOf({ source }: GuildStream): Sender | null {
  if (source.from === 'here') return null;
  return source.from === 'peer' ? source : source.last;
}

/**
 * Whether a dispatch of this peer, sent under this epoch, is of the stream's source. A late one of an earlier owner is not, nor one of
 * an earlier epoch of a shard that is the owner again: the source repeats it, after what the session had of the owners in between.
 *
 * @param epoch Null when the sender does not name it.
 */
export function isSentBySource(stream: GuildStream, peer: Peer, epoch: number | null): boolean {
  const sender = senderOf(stream);
  return sender?.peer === peer && (epoch === null || epoch === sender.owner.epoch);
}

/** Whether GUILD_DELETE says that the guild is unavailable for now. */
export const isUnavailable = ({ d }: DispatchBody): boolean =>
  (d as { readonly unavailable?: boolean }).unavailable === true;
