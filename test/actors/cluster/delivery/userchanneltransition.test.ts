// Goal: the channel of a session to the owner of its user answers every event in every state, as a total table.
import { describe, expect, test } from 'vitest';
import type { Peer } from '../../../../actors/cluster/delivery/peer.ts';
import {
  transition,
  UNOPENED,
  type UserChannelEvent,
  type UserChannelState,
} from '../../../../actors/cluster/delivery/userchanneltransition.ts';

const peerOf = (shardId: string, peerEpoch: number): Peer => ({
  ...{ shardId, instance: shardId, peerEpoch, sessions: new Map() },
});
const FAR = peerOf('far', 1);
/** The same shard after a break of the link. */
const FAR_AGAIN = peerOf('far', 2);
const owner = { shardId: 'far', instance: 'far', epoch: 1 };
const next = { shardId: 'next', instance: 'next', epoch: 2 };

type EventOf<T extends UserChannelEvent['type']> = Extract<UserChannelEvent, { readonly type: T }>;

/** Each event, with the variants that matter. An event that is missing here does not compile. */
const EVENTS = {
  opened: {
    opened: { type: 'opened', at: FAR_AGAIN, owner },
    openedHere: { type: 'opened', at: 'here', owner: next },
  },
  returned: { returned: { type: 'returned' } },
  ownerChanged: {
    sameOwner: { type: 'ownerChanged', owner: { ...owner } },
    sameShardLater: { type: 'ownerChanged', owner: { ...owner, epoch: 3 } },
    otherOwner: { type: 'ownerChanged', owner: next },
    noOwner: { type: 'ownerChanged', owner: null },
  },
  peerLost: {
    peerLost: { type: 'peerLost', peer: FAR },
    otherPeerLost: { type: 'peerLost', peer: FAR_AGAIN },
  },
  replaced: { replaced: { type: 'replaced' } },
  ended: {
    ended: { type: 'ended', isMoving: false },
    moved: { type: 'ended', isMoving: true },
  },
} satisfies { readonly [T in UserChannelEvent['type']]: Readonly<Record<string, EventOf<T>>> };

type Groups = typeof EVENTS;
type EventName = { [T in keyof Groups]: keyof Groups[T] }[keyof Groups];
const BY_NAME = Object.assign({}, ...Object.values(EVENTS)) as Record<EventName, UserChannelEvent>;

/** The state, then the effect if any. */
type Answer = readonly [state: string, effect?: string];
type Row = Record<EventName, Answer>;

const STATES = {
  unopened: { unopened: UNOPENED },
  open: {
    openThere: { name: 'open', at: FAR, owner },
    openHere: { name: 'open', at: 'here', owner },
  },
  lost: { lost: { name: 'lost' } },
  ended: { ended: { name: 'ended' } },
} satisfies { readonly [N in UserChannelState['name']]: Readonly<Record<string, UserChannelState>> };

type StateGroups = typeof STATES;
type StateName = { [N in keyof StateGroups]: keyof StateGroups[N] }[keyof StateGroups];
const STATE_BY_NAME = Object.assign({}, ...Object.values(STATES)) as Record<StateName, UserChannelState>;

/** A state that answers only what is listed. */
const only = (state: string, answers: Partial<Row>): Row => {
  const silent = Object.fromEntries(Object.keys(BY_NAME).map((name) => [name, [state]])) as unknown as Row;
  return { ...silent, ...answers };
};

const REOPENED: Answer = ['lost', 'reopen'];
const ANSWERS: Partial<Row> = {
  ...{ opened: ['open at far 2 under 1'], openedHere: ['open at here under 2'] },
  // A failed opening here may have left parts of the session.
  ...{ ended: ['ended', 'endHere'], moved: ['ended', 'endHereLater'] },
};
const OPEN_ANSWERS: Partial<Row> = {
  ...ANSWERS,
  returned: ['lost'],
  ...{ sameShardLater: REOPENED, otherOwner: REOPENED, noOwner: REOPENED },
  replaced: REOPENED,
};

const TABLE: Record<StateName, Row> = {
  unopened: only('unopened', ANSWERS),
  openThere: only('open at far 1 under 1', {
    ...{ ...OPEN_ANSWERS, peerLost: REOPENED },
    ...{ ended: ['ended'], moved: ['ended'] },
  }),
  openHere: only('open at here under 1', OPEN_ANSWERS),
  lost: only('lost', {
    ...ANSWERS,
    // The caller that reopens a returned session may have failed.
    ...{ sameOwner: REOPENED, sameShardLater: REOPENED, otherOwner: REOPENED, noOwner: REOPENED },
  }),
  ended: only('ended', { openedHere: ['ended', 'endHereLater'] }),
};

function textOf(state: UserChannelState): string {
  if (state.name !== 'open') return state.name;
  const { at, owner } = state;
  return `open at ${at === 'here' ? at : `${at.shardId} ${at.peerEpoch}`} under ${owner.epoch}`;
}

describe.each(Object.entries(TABLE))('a channel that is %s', (name, row) => {
  test.each(Object.entries(row))('answers %s', (event, answer) => {
    const { next, effect } = transition(STATE_BY_NAME[name as StateName], BY_NAME[event as EventName]);
    expect([textOf(next), ...(effect ? [effect] : [])]).toEqual(answer);
  });
});
