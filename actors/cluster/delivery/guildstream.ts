import type { DispatchBody } from '../../../engine/fanout/body.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { Owner, Subscribed } from '../../placement/ports.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { LocalSession, Peer } from './peer.ts';

/** A session that subscribes to a guild. `after` null starts with GUILD_CREATE; a number resumes after that stream position. */
export interface GuildSubscription<Session> {
  readonly session: Session;
  readonly after: number | null;
}

/** A session that is not subscribed to its guild yet, or not any more. */
export interface PendingSubscription {
  readonly local: LocalSession;
  /** The session's stream position; null without one: the session has to receive GUILD_CREATE. */
  after: number | null;
  /** The session is being resumed: it must receive neither a gap nor a second GUILD_CREATE. */
  readonly strict: boolean;
  readonly sinceMs: number;
  /** Epoch of a local actor that still delivers the stream; the session's position is known after that actor ends. */
  deliveredUnder?: number | undefined;
  /** Identifies the request in flight that contains this subscription. */
  request: object | null;
  /** The user joined once more while the request was in flight: it is repeated from where its answer ends. */
  asksAgain?: boolean;
  /** The session received GUILD_DELETE after the request was sent. */
  isRemoved?: boolean;
  readonly settle: ((how: Subscribed) => void) | null;
  readonly fail: ((fault: Error) => void) | null;
}

/** The stream of one guild with the local sessions that subscribe to it. */
export interface GuildStream {
  readonly guildId: GuildId;
  /** Source of the stream: a peer, or this shard; null without a source. */
  source: Peer | 'here' | null;
  /**
   * The source that was lost from sight, until there is one again. What it still sends is delivered: should it be the
   * source again, it takes that as received.
   */
  lastSource: Peer | null;
  /** The guild's owner, whose epoch the source delivers under. */
  owner: Owner | null;
  /**
   * Number of the newest dispatch; subscribers without a pending request have everything up to it that they may see.
   */
  n: number;
  readonly followers: Set<LocalSession>;
  readonly pending: Map<LocalSession, PendingSubscription>;
  /** Sessions that received GUILD_DELETE as unavailable; they receive GUILD_CREATE again. */
  readonly unavailable: Set<LocalSession>;
  isRequesting: boolean;
  retryMs: number;
  retry: Timer | null;
}

/** A stream without subscribers and without a source. */
export const newGuildStream = (guildId: GuildId, retryMs: number): GuildStream => ({
  ...{ guildId, source: null, lastSource: null, owner: null, n: 0 },
  ...{ followers: new Set(), pending: new Map(), unavailable: new Set() },
  ...{ isRequesting: false, retryMs, retry: null },
});

/** Whether a remote owner still works on the request. */
export const isBeingAnswered = ({ source }: GuildStream, { request, local }: PendingSubscription): boolean =>
  source !== 'here' && source !== null && request !== null && !local.session.over;

/** Compares the epoch too: a shard that lost a partition and owns it again has none of the earlier subscriptions. */
export const isSameOwner = (before: Owner | null, now: Owner | null): boolean =>
  before !== null && now !== null && before.instance === now.instance && before.epoch === now.epoch;

/** The peer that sends the stream, or sent it last. */
export const peerOf = ({ source, lastSource }: GuildStream): Peer | null =>
  source === 'here' ? null : (source ?? lastSource);

/** Whether GUILD_DELETE says that the guild is unavailable for now. */
export const isUnavailable = ({ d }: DispatchBody): boolean =>
  (d as { readonly unavailable?: boolean }).unavailable === true;

/** False when the session has a position at or beyond this dispatch; otherwise the dispatch becomes its position. */
export function isNewTo(
  local: LocalSession,
  { pending, unavailable }: GuildStream,
  n: number,
  { t }: DispatchBody,
): boolean {
  const subscription = pending.get(local);
  if (!subscription) return true;
  const { after } = subscription;
  // Drops duplicates: one shard may deliver a late dispatch as the last owner and repeat it as the next one.
  if (after !== null && n <= after) return false;
  if (t === 'GUILD_CREATE') unavailable.delete(local);
  // From GUILD_CREATE on the session has a position, also when the owner is lost before it says `following`.
  if (after !== null || t === 'GUILD_CREATE') subscription.after = n;
  return true;
}
