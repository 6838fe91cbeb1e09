import type { Owner } from '../../placement/ports.ts';
import { isSameOwner } from './guildstream.ts';
import type { Peer } from './peer.ts';

/** Whether a session is open at the owner of its user. */
export type UserChannelState =
  /** The session has not been opened from this shard. The caller repeats the opening after a failure. */
  | { readonly name: 'unopened' }
  /** This owner has opened the session. */
  | { readonly name: 'open'; readonly at: Peer | 'here'; readonly owner: Owner }
  /** The session was open. It has to be reopened, at the current owner of its user. */
  | { readonly name: 'lost' }
  /** The session ended, or moved to another shard. */
  | { readonly name: 'ended' };

export type UserChannelEvent =
  /** The owner has answered, and still owns the user. */
  | { readonly type: 'opened'; readonly at: Peer | 'here'; readonly owner: Owner }
  /** Another shard has held the session meanwhile. The caller reopens it. */
  | { readonly type: 'returned' }
  /** The partition of the session's user has this owner now; null: it has none. */
  | { readonly type: 'ownerChanged'; readonly owner: Owner | null }
  /** The peer epoch ended. */
  | { readonly type: 'peerLost'; readonly peer: Peer }
  /** The user's owner has another object for the session. */
  | { readonly type: 'replaced' }
  /** `isMoving`: another shard takes the session over. */
  | { readonly type: 'ended'; readonly isMoving: boolean };

/**
 * `reopen`: in the background, until it succeeds. `endHere`: end the session at this shard as the owner of its user.
 * `endHereLater`: after the resume window.
 */
export type UserChannelEffect = 'reopen' | 'endHere' | 'endHereLater';

/** The state after an event, and what is to be done then. */
interface Step {
  readonly next: UserChannelState;
  readonly effect: UserChannelEffect | null;
}

export const UNOPENED: UserChannelState = { name: 'unopened' };
const LOST: UserChannelState = { name: 'lost' };
const ENDED: UserChannelState = { name: 'ended' };

/** The life of one session's channel. It has no clock and no I/O. */
export function transition(state: UserChannelState, event: UserChannelEvent): Step {
  // This shard, as the owner of the user, may have added the session before it ended or moved.
  if (state.name === 'ended')
    return step(state, event.type === 'opened' && event.at === 'here' ? 'endHereLater' : null);
  switch (event.type) {
    case 'opened':
      return step({ name: 'open', at: event.at, owner: event.owner });
    case 'returned':
      return step(state.name === 'open' ? LOST : state);
    case 'ownerChanged':
      return ownerChanged(state, event.owner);
    case 'peerLost':
      return isOpenAt(state, event.peer) ? step(LOST, 'reopen') : step(state);
    case 'replaced':
      return state.name === 'open' ? step(LOST, 'reopen') : step(state);
    case 'ended':
      return ended(state, event.isMoving);
  }
}

const step = (next: UserChannelState, effect: UserChannelEffect | null = null): Step => ({ next, effect });

const isOpenAt = (state: UserChannelState, at: Peer | 'here'): boolean =>
  state.name === 'open' && state.at === at;

function ownerChanged(state: UserChannelState, owner: Owner | null): Step {
  if (state.name === 'unopened' || (state.name === 'open' && isSameOwner(state.owner, owner)))
    return step(state);
  // Also when it was lost: the caller that reopens a returned session may have failed.
  return step(LOST, 'reopen');
}

/**
 * A moving session stays open here for the resume window. `LocalSessions.remove` notifies the other shards. An opening here that
 * failed may have left parts of the session, so one that is not open elsewhere is ended here.
 */
function ended(state: UserChannelState, isMoving: boolean): Step {
  if (state.name === 'open' && state.at !== 'here') return step(ENDED);
  return step(ENDED, isMoving ? 'endHereLater' : 'endHere');
}
