// Goal: a guild subscription answers every event in every state, as a total table, whatever its client has and whoever waits.
import { describe, expect, test } from 'vitest';
import {
  ABSENT,
  type Caller,
  type Client,
  isPending,
  type PendingSubscription,
  receives,
  SUBSCRIBED,
  type Subscription,
  type Waiter,
} from '../../../../actors/cluster/delivery/subscriptionstate.ts';
import {
  type SubscriptionEffect,
  type SubscriptionEvent,
  transition,
} from '../../../../actors/cluster/delivery/subscriptiontransition.ts';
import { numberOf } from '../../../support/followedguild.ts';

const shown = (n: number): string => `${Math.floor(n / 2 ** 32)}:${n % 2 ** 32}`;
const caller = (): Caller => ({ settle: () => undefined, fail: () => undefined });
const [FIRST, SECOND] = [caller(), caller()];
const nameOf = (of: Caller): string => (of === FIRST ? 'first' : 'second');
const fault = new Error('lost');

type EventOf<T extends SubscriptionEvent['type']> = Extract<SubscriptionEvent, { readonly type: T }>;

const again: EventOf<'subscribe'> = {
  ...{ type: 'subscribe', waiter: { kind: 'subscribing', caller: SECOND } },
  ...{ after: null, n: numberOf(1, 40), sinceMs: 5, from: 'peer', deliversUnder: null },
};
const gone: EventOf<'answered'> = { type: 'answered', request: 7, from: 'peer', how: 'gone' };
const late: EventOf<'requestFailed'> = {
  ...{ type: 'requestFailed', request: 7, fault, isFatal: false, nowMs: 30_000 },
};

/** Each event, with the variants that matter. An event that is missing here does not compile. */
const EVENTS = {
  subscribe: {
    again,
    againHere: { ...again, from: 'here', deliversUnder: 1 },
    againUnowned: { ...again, from: 'nobody' },
    resume: { ...again, after: numberOf(1, 5), waiter: { kind: 'resuming', caller: SECOND } },
    resumeHere: {
      ...{ ...again, from: 'here', deliversUnder: 1, after: numberOf(1, 5) },
      waiter: { kind: 'resuming', caller: SECOND },
    },
  },
  requested: { requested: { type: 'requested', request: 8 } },
  answered: {
    member: { ...gone, how: 'member' },
    memberHere: { ...gone, from: 'here', how: 'member' },
    gone,
    tooOld: { ...gone, how: 'tooOld' },
    goneOutdated: { ...gone, request: 6 },
  },
  caughtUp: { caughtUp: { type: 'caughtUp', n: numberOf(1, 20) } },
  caughtUpLate: { caughtUpLate: { type: 'caughtUpLate', n: numberOf(1, 30) } },
  requestFailed: {
    failed: { ...late, nowMs: 9_999 },
    failedLong: { ...late, nowMs: 29_999 },
    failedLate: late,
    failedFatally: { ...late, nowMs: 1, isFatal: true },
    otherFailedLate: { ...late, request: 6 },
  },
  sourceChanged: {
    sourceChanged: { type: 'sourceChanged', n: numberOf(1, 40), deliveredUnder: 1, sinceMs: 5 },
  },
  released: {
    released: { type: 'released', n: numberOf(1, 50) },
    releasedEarlier: { type: 'released', n: numberOf(1, 3) },
    otherReleased: { type: 'released', n: numberOf(2, 1) },
  },
  guildDeleted: { guildDeleted: { type: 'guildDeleted' } },
  unavailable: { unavailable: { type: 'unavailable', nowMs: 6 } },
  memberRemoved: {
    memberRemoved: { type: 'memberRemoved', epoch: 1, deliversUnder: 1 },
    removedByOther: { type: 'memberRemoved', epoch: 2, deliversUnder: 1 },
  },
  replaced: { replaced: { type: 'replaced', n: numberOf(1, 45), nowMs: 6 } },
  left: { left: { type: 'left' } },
} satisfies { readonly [T in SubscriptionEvent['type']]: Readonly<Record<string, EventOf<T>>> };

type Groups = typeof EVENTS;
type EventName = { [T in keyof Groups]: keyof Groups[T] }[keyof Groups];
const BY_NAME = Object.assign({}, ...Object.values(EVENTS)) as Record<EventName, SubscriptionEvent>;

/** The state, then the effects in their order. */
type Answer = readonly [state: string, ...effects: string[]];
type Row = Record<EventName, Answer>;

/** A state that answers only what is listed. */
const only = (state: string, answers: Partial<Row>): Row => {
  const silent = Object.fromEntries(Object.keys(BY_NAME).map((name) => [name, [state]])) as unknown as Row;
  return { ...silent, ...answers };
};

function textOf(state: Subscription): string {
  if (!isPending(state)) return state.name;
  const { name, client, waiter, sinceMs, deliveredUnder } = state;
  const parts = [name, client.kind, 'n' in client ? shown(client.n) : ''];
  if (waiter) parts.push(waiter.kind === 'resuming' ? 'resuming' : 'for', nameOf(waiter.caller));
  if (deliveredUnder !== null) parts.push(`under ${deliveredUnder}`);
  if (sinceMs > 0) parts.push(`since ${sinceMs}`);
  if ('request' in state) parts.push(`in ${state.request}`);
  return parts.filter((part) => part !== '').join(' ');
}

function effectText(effect: SubscriptionEffect): string {
  if (effect.do === 'settle') return `settle ${nameOf(effect.caller)} ${effect.how}`;
  if (effect.do === 'fail') return `fail ${nameOf(effect.caller)} ${effect.fault.message}`;
  if (effect.do === 'sendGuildDelete') return `send GUILD_DELETE ${JSON.stringify(effect.content)}`;
  return effect.do;
}

const REMOVED = 'send GUILD_DELETE {}';
const UNAVAILABLE = 'send GUILD_DELETE {"unavailable":true}';
const FAILED = ['fail first lost', UNAVAILABLE, 'dropCursor', 'retry'] as const;
const SETTLED = 'settle first member';
const LEFT = ['absent', 'dropCursor', 'settle first gone'] as const;
const RESUMED = 'waiting current 1:5 resuming second since 5';
const AGAIN = 'waiting current 1:10 for second since 5';
/** The local actor that delivers to the session will say where it ended. */
const AGAIN_UNDER = 'waiting current 1:10 for second under 1 since 5';

/** Subscriptions whose request, if any, is 7; the client has everything up to 1:10 and the first caller waits. */
const TABLE: Record<Subscription['name'], Row> = {
  absent: only('absent', {
    again: ['waiting nothing for second since 5', 'request'],
    againHere: ['waiting nothing for second since 5', 'request'],
    againUnowned: ['waiting nothing for second since 5', 'request'],
    resume: [RESUMED, 'request'],
    resumeHere: [RESUMED, 'request'],
    guildDeleted: ['absent', 'dropCursor'],
    unavailable: ['absent', 'dropCursor'],
    left: ['absent', 'dropCursor'],
  }),
  subscribed: only('subscribed', {
    again: ['waiting current 1:40 for second since 5', 'request'],
    againHere: ['subscribed', 'settle second member'],
    againUnowned: ['waiting current 1:40 for second since 5', 'request'],
    resume: [RESUMED, 'request'],
    resumeHere: ['waiting current 1:5 resuming second under 1 since 5', 'request'],
    sourceChanged: ['waiting current 1:40 under 1 since 5'],
    guildDeleted: ['absent', 'dropCursor'],
    unavailable: ['waiting unavailable since 6', 'dropCursor', 'retry'],
    memberRemoved: ['absent', 'dropCursor'],
    replaced: ['waiting current 1:45 since 6', 'retry'],
    left: ['absent', 'dropCursor'],
  }),
  waiting: only('waiting current 1:10 for first', {
    again: [AGAIN, SETTLED, 'request'],
    againHere: [AGAIN, SETTLED, 'request'],
    againUnowned: [AGAIN, SETTLED, 'request'],
    resume: [RESUMED, SETTLED, 'request'],
    resumeHere: [RESUMED, SETTLED, 'request'],
    requested: ['requested current 1:10 for first in 8'],
    caughtUp: ['subscribed', SETTLED],
    caughtUpLate: ['waiting current 1:30 for first under 1'],
    failedLate: ['waiting unavailable', ...FAILED],
    failedFatally: ['waiting current 1:10', SETTLED],
    failedLong: ['waiting current 1:10', SETTLED],
    otherFailedLate: ['waiting unavailable', ...FAILED],
    guildDeleted: ['waiting removed 1:10 for first'],
    unavailable: ['waiting unavailable for first', 'dropCursor', 'retry'],
    left: LEFT,
  }),
  waitingAgain: only('waitingAgain current 1:10 for first', {
    again: [AGAIN, SETTLED, 'request'],
    againHere: [AGAIN, SETTLED, 'request'],
    againUnowned: [AGAIN, SETTLED, 'request'],
    resume: [RESUMED, SETTLED, 'request'],
    resumeHere: [RESUMED, SETTLED, 'request'],
    requested: ['requested current 1:10 for first in 8'],
    caughtUp: ['waitingAgain current 1:20 for first', 'retry'],
    caughtUpLate: ['waitingAgain current 1:30 for first under 1'],
    failedLate: ['waitingAgain unavailable', ...FAILED],
    failedFatally: ['waitingAgain current 1:10', SETTLED],
    failedLong: ['waitingAgain current 1:10', SETTLED],
    otherFailedLate: ['waitingAgain unavailable', ...FAILED],
    guildDeleted: ['waitingAgain removed 1:10 for first'],
    unavailable: ['waitingAgain unavailable for first', 'dropCursor', 'retry'],
    left: LEFT,
  }),
  requested: only('requested current 1:10 for first in 7', {
    again: ['requestedAgain current 1:10 for second in 7', SETTLED],
    againHere: [AGAIN, SETTLED, 'request'],
    againUnowned: [AGAIN, SETTLED, 'request'],
    resume: [RESUMED, SETTLED, 'request'],
    resumeHere: [RESUMED, SETTLED, 'request'],
    member: ['answered current 1:10', SETTLED],
    memberHere: ['subscribed', SETTLED],
    gone: ['absent', REMOVED, 'dropCursor', 'settle first gone'],
    tooOld: ['waiting unavailable for first', UNAVAILABLE, 'dropCursor', 'retry'],
    caughtUp: ['subscribed', SETTLED],
    caughtUpLate: ['requested current 1:30 for first under 1 in 7'],
    failed: ['waiting current 1:10 for first'],
    failedLate: ['waiting unavailable', ...FAILED],
    failedFatally: ['waiting current 1:10', SETTLED],
    failedLong: ['waiting current 1:10', SETTLED],
    sourceChanged: ['waiting current 1:10 for first'],
    guildDeleted: ['requested removed 1:10 for first in 7'],
    unavailable: ['waiting unavailable for first', 'dropCursor', 'retry'],
    left: LEFT,
  }),
  requestedAgain: only('requestedAgain current 1:10 for first in 7', {
    again: ['requestedAgain current 1:10 for second in 7', SETTLED],
    againHere: [AGAIN, SETTLED, 'request'],
    againUnowned: [AGAIN, SETTLED, 'request'],
    resume: [RESUMED, SETTLED, 'request'],
    resumeHere: [RESUMED, SETTLED, 'request'],
    member: ['answeredAgain current 1:10 for first'],
    memberHere: ['waitingAgain current 0:0 for first', 'retry'],
    gone: ['waitingAgain nothing for first', REMOVED, 'dropCursor', 'retry'],
    tooOld: ['waitingAgain unavailable for first', UNAVAILABLE, 'dropCursor', 'retry'],
    caughtUp: ['waitingAgain current 1:20 for first', 'retry'],
    caughtUpLate: ['requestedAgain current 1:30 for first under 1 in 7'],
    failed: ['waitingAgain current 1:10 for first'],
    failedLate: ['waitingAgain unavailable', ...FAILED],
    failedFatally: ['waitingAgain current 1:10', SETTLED],
    failedLong: ['waitingAgain current 1:10', SETTLED],
    sourceChanged: ['waitingAgain current 1:10 for first'],
    guildDeleted: ['requestedAgain removed 1:10 for first in 7'],
    unavailable: ['waitingAgain unavailable for first', 'dropCursor', 'retry'],
    left: LEFT,
  }),
  answered: only('answered current 1:10', {
    again: ['answeredAgain current 1:10 for second'],
    againHere: [AGAIN, 'request'],
    againUnowned: [AGAIN, 'request'],
    resume: [RESUMED, 'request'],
    resumeHere: [RESUMED, 'request'],
    caughtUp: ['subscribed'],
    caughtUpLate: ['answered current 1:30 under 1'],
    sourceChanged: ['waiting current 1:10'],
    guildDeleted: ['answered removed 1:10'],
    unavailable: ['waiting unavailable', 'dropCursor', 'retry'],
    left: ['absent', 'dropCursor'],
  }),
  answeredAgain: only('answeredAgain current 1:10 for first', {
    again: ['answeredAgain current 1:10 for second', SETTLED],
    againHere: [AGAIN, SETTLED, 'request'],
    againUnowned: [AGAIN, SETTLED, 'request'],
    resume: [RESUMED, SETTLED, 'request'],
    resumeHere: [RESUMED, SETTLED, 'request'],
    caughtUp: ['waitingAgain current 1:20 for first', 'retry'],
    caughtUpLate: ['answeredAgain current 1:30 for first under 1'],
    sourceChanged: ['waitingAgain current 1:10 for first'],
    guildDeleted: ['answeredAgain removed 1:10 for first'],
    unavailable: ['waitingAgain unavailable for first', 'dropCursor', 'retry'],
    left: LEFT,
  }),
};

const current = (): Client => ({ kind: 'current', n: numberOf(1, 10) });
const forFirst: Waiter = { kind: 'subscribing', caller: FIRST };

function arrange(name: Subscription['name'], change: Partial<PendingSubscription> = {}): Subscription {
  const rest = { client: current(), waiter: forFirst, sinceMs: 0, deliveredUnder: null, ...change };
  if (name === 'absent') return ABSENT;
  if (name === 'subscribed') return SUBSCRIBED;
  if (name === 'requested' || name === 'requestedAgain') return { ...rest, name, request: 7 };
  if (name === 'waiting' || name === 'waitingAgain') return { ...rest, name };
  return { ...rest, name, waiter: name === 'answered' ? null : rest.waiter };
}

function answerOf(state: Subscription, event: string): Answer {
  const { next, effects } = transition(state, BY_NAME[event as EventName]);
  return [textOf(next), ...effects.map(effectText)];
}

describe.each(Object.entries(TABLE))('a subscription that is %s', (name, row) => {
  test.each(Object.entries(row))('answers %s', (event, answer) => {
    expect(answerOf(arrange(name as Subscription['name']), event)).toEqual(answer);
  });
});

/** Subscriptions in the request 7 that differ from those of the first table by one thing, and where their answers differ. */
const REQUESTED: Record<string, readonly [Partial<PendingSubscription>, Partial<Row>]> = {
  'nothing for first': [
    { client: { kind: 'nothing' } },
    {
      gone: LEFT,
      // READY has listed the guild as unavailable.
      failedLate: ['waiting unavailable', 'fail first lost', 'dropCursor', 'retry'],
      failedFatally: ['waiting unavailable', 'fail first lost', 'dropCursor', 'retry'],
      failedLong: ['waiting unavailable', 'fail first lost', 'dropCursor', 'retry'],
      guildDeleted: ['requested nothing for first in 7', 'dropCursor'],
    },
  ],
  nothing: [
    { client: { kind: 'nothing' }, waiter: null },
    {
      gone: ['absent', REMOVED, 'dropCursor'],
      failedLate: ['waiting unavailable', UNAVAILABLE, 'dropCursor', 'retry'],
      failedFatally: ['waiting unavailable', UNAVAILABLE, 'dropCursor', 'retry'],
      failedLong: ['waiting unavailable', UNAVAILABLE, 'dropCursor', 'retry'],
      guildDeleted: ['requested nothing in 7', 'dropCursor'],
    },
  ],
  'unavailable for first': [
    { client: { kind: 'unavailable' } },
    {
      again: ['requestedAgain unavailable for second in 7', SETTLED],
      againHere: ['waiting unavailable for second since 5', SETTLED, 'request'],
      gone: LEFT,
      failed: ['waiting unavailable for first'],
      failedLate: ['waiting unavailable', 'fail first lost', 'dropCursor', 'retry'],
      caughtUpLate: ['requested current 1:30 for first under 1 in 7'],
      guildDeleted: ['requested unavailable for first in 7', 'dropCursor'],
    },
  ],
  unavailable: [
    { client: { kind: 'unavailable' }, waiter: null },
    {
      gone: ['absent', REMOVED, 'dropCursor'],
      failedLate: ['waiting unavailable', 'dropCursor', 'retry'],
      guildDeleted: ['requested unavailable in 7', 'dropCursor'],
    },
  ],
  'removed 1:10 for first': [
    { client: { kind: 'removed', n: numberOf(1, 10) } },
    {
      again: ['requestedAgain removed 1:10 for second in 7', SETTLED],
      againHere: [AGAIN, SETTLED, 'request'],
      gone: LEFT,
      failed: ['waiting removed 1:10 for first'],
      failedLate: ['waiting unavailable', ...FAILED],
      caughtUp: ['subscribed', SETTLED],
      caughtUpLate: ['requested removed 1:30 for first under 1 in 7'],
      sourceChanged: ['waiting removed 1:10 for first'],
    },
  ],
  'current 1:10': [
    { waiter: null },
    {
      again: ['requestedAgain current 1:10 for second in 7'],
      member: ['answered current 1:10'],
      memberHere: ['subscribed'],
      gone: ['absent', REMOVED, 'dropCursor'],
      tooOld: ['waiting unavailable', UNAVAILABLE, 'dropCursor', 'retry'],
      failedLate: ['waiting unavailable', UNAVAILABLE, 'dropCursor', 'retry'],
      left: ['absent', 'dropCursor'],
    },
  ],
  'current 1:10 resuming first': [
    { waiter: { kind: 'resuming', caller: FIRST } },
    {
      again: ['requestedAgain current 1:10 for second in 7', SETTLED],
      member: ['answered current 1:10', SETTLED],
      // `reopen` sends GUILD_DELETE to a session that is being resumed.
      gone: LEFT,
      tooOld: ['absent', 'dropCursor', 'settle first tooOld'],
      failed: ['waiting current 1:10 resuming first'],
      failedLate: ['waiting current 1:10', 'fail first lost'],
      failedFatally: ['waiting current 1:10', 'fail first lost'],
      failedLong: ['waiting current 1:10', 'fail first lost'],
      unavailable: ['waiting unavailable for first', 'dropCursor', 'retry'],
    },
  ],
  'current 1:10 for first under 1': [
    { deliveredUnder: 1 },
    {
      again: ['requestedAgain current 1:10 for second under 1 in 7', SETTLED],
      againHere: [AGAIN_UNDER, SETTLED, 'request'],
      againUnowned: [AGAIN_UNDER, SETTLED, 'request'],
      member: ['answered current 1:10 under 1', SETTLED],
      failed: ['waiting current 1:10 for first under 1'],
      failedLate: ['waiting unavailable under 1', ...FAILED],
      sourceChanged: ['waiting current 1:10 for first under 1'],
      released: ['requested current 1:50 for first in 7'],
      releasedEarlier: ['requested current 1:10 for first in 7'],
      otherReleased: ['requested current 1:10 for first under 1 in 7'],
      replaced: ['requested current 1:45 for first in 7'],
      unavailable: ['waiting unavailable for first under 1', 'dropCursor', 'retry'],
      memberRemoved: LEFT,
      removedByOther: ['requested current 1:10 for first under 1 in 7'],
    },
  ],
  'removed 1:10 under 1': [
    { client: { kind: 'removed', n: numberOf(1, 10) }, waiter: null, deliveredUnder: 1 },
    { released: ['requested removed 1:50 in 7'], replaced: ['requested removed 1:45 in 7'] },
  ],
  'nothing under 1': [
    { client: { kind: 'nothing' }, waiter: null, deliveredUnder: 1 },
    {
      released: ['requested nothing in 7'],
      replaced: ['requested nothing in 7'],
      memberRemoved: ['absent', 'dropCursor'],
    },
  ],
};

test('a subscription that is answered keeps who delivers to it when the user joins once more', () => {
  const state = arrange('answered', { deliveredUnder: 1 });
  expect(answerOf(state, 'again')).toEqual(['answeredAgain current 1:10 for second under 1']);
  expect(answerOf(state, 'againUnowned')).toEqual([AGAIN_UNDER, 'request']);
});

describe.each(Object.entries(REQUESTED))(
  'a subscription that is requested with %s',
  (text, [change, row]) => {
    test.each(Object.entries(row))('answers %s', (event, answer) => {
      const state = arrange('requested', change);
      expect(textOf(state)).toBe(`requested ${text} in 7`);
      expect(answerOf(state, event)).toEqual(answer);
    });
  },
);

describe('a subscription whose answer says that its user had left, who has rejoined since', () => {
  test.each([
    [{ kind: 'nothing' }, ['waitingAgain nothing for first', 'dropCursor', 'retry']],
    [{ kind: 'unavailable' }, ['waitingAgain unavailable for first', 'dropCursor', 'retry']],
    [{ kind: 'removed', n: numberOf(1, 10) }, ['waitingAgain nothing for first', 'dropCursor', 'retry']],
  ] as const)('waits for GUILD_CREATE with %o', (client, answer) => {
    expect(answerOf(arrange('requestedAgain', { client: { ...client } }), 'gone')).toEqual(answer);
  });

  test('sends nothing before its next request when nobody waits and the client has nothing', () => {
    const state = arrange('requestedAgain', { client: { kind: 'nothing' }, waiter: null });
    expect(answerOf(state, 'gone')).toEqual(['waitingAgain nothing', 'dropCursor', 'retry']);
  });
});

test('a removed session asks for GUILD_CREATE in its next request', () => {
  const state = arrange('waiting', { client: { kind: 'removed', n: numberOf(1, 10) } });
  expect(answerOf(state, 'requested')).toEqual(['requested nothing for first in 8']);
});

describe('a dispatch', () => {
  /** By what the client has: whether it receives the dispatch, and what it has then. */
  const RECEIVED: Record<
    Client['kind'],
    Record<'below' | 'at' | 'above' | 'GUILD_CREATE' | 'GUILD_DELETE', readonly [boolean, string]>
  > = {
    nothing: {
      ...{ below: [false, 'nothing'], at: [false, 'nothing'], above: [false, 'nothing'] },
      GUILD_DELETE: [true, 'nothing'],
      GUILD_CREATE: [true, 'current 1:12'],
    },
    unavailable: {
      ...{ below: [false, 'unavailable'], at: [false, 'unavailable'], above: [false, 'unavailable'] },
      GUILD_DELETE: [true, 'unavailable'],
      GUILD_CREATE: [true, 'current 1:12'],
    },
    current: {
      ...{ below: [false, 'current 1:10'], at: [false, 'current 1:10'], above: [true, 'current 1:11'] },
      GUILD_DELETE: [true, 'current 1:12'],
      GUILD_CREATE: [true, 'current 1:12'],
    },
    removed: {
      ...{ below: [false, 'removed 1:10'], at: [false, 'removed 1:10'], above: [true, 'removed 1:11'] },
      GUILD_DELETE: [true, 'removed 1:12'],
      GUILD_CREATE: [true, 'removed 1:12'],
    },
  };
  const DISPATCHES: Record<keyof (typeof RECEIVED)['nothing'], readonly [number, string]> = {
    ...{ below: [numberOf(1, 9), 'ANY'], at: [numberOf(1, 10), 'ANY'], above: [numberOf(1, 11), 'ANY'] },
    GUILD_CREATE: [numberOf(1, 12), 'GUILD_CREATE'],
    GUILD_DELETE: [numberOf(1, 12), 'GUILD_DELETE'],
  };

  test.each(
    Object.entries(RECEIVED).flatMap(([kind, row]) =>
      Object.entries(row).map(([dispatch, received]) => [dispatch, kind, received] as const),
    ),
  )('%s the position of a client with "%s" is received or dropped', (dispatch, kind, received) => {
    const n = kind === 'current' || kind === 'removed' ? { n: numberOf(1, 10) } : {};
    const state = arrange('waiting', { client: { kind, ...n } as Client, waiter: null });
    const [at, t] = DISPATCHES[dispatch as keyof typeof DISPATCHES];
    const isReceived = receives(state, at, t, true);
    expect([isReceived, textOf(state)]).toEqual([received[0], `waiting ${received[1]}`]);
  });

  test.each(['nothing', 'unavailable'] as const)(
    'is received by a session that is not sent guilds, whose client has "%s"',
    (kind) => {
      const state = arrange('waiting', { client: { kind }, waiter: null });
      expect(receives(state, numberOf(1, 9), 'ANY', false)).toBe(true);
    },
  );

  test('is not received before the session is subscribed when it has no number, because GUILD_CREATE contains its state', () => {
    const state = arrange('waiting', { client: { kind: 'nothing' }, waiter: null });
    expect(receives(state, 0, 'ANY', true)).toBe(false);
  });

  test.each([ABSENT, SUBSCRIBED])('is received by a session that is $name', (state) => {
    expect(receives(state, 0, 'ANY', true)).toBe(true);
  });
});
