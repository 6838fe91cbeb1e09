// Goal: each session of a user receives direct notifications in the order of their stream, also after a move from
// another owner or shard.
import { afterEach, expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { UserSession } from '../../../actors/user/user.shell.ts';
import { UserDelivery, type UserDeliveryPorts } from '../../../actors/user/userdelivery.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { ALL_SESSIONS, directStream } from '../../../engine/fanout/direct.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { ALL_INTENTS } from '../../../protocol/intents.ts';
import type { DeliveryPosition } from '../../../storage/cluster/port.ts';
import { settled } from '../session/harness.ts';

const USER = '1' as UserId;
const CHANNEL = '9';
const STREAM = directStream(CHANNEL);
const CHANGE = 'CHANNEL_UPDATE';

/** A state that was shown as of a number is between that number and the next one. */
const SHOWN = 0.5;

const STEP_MS = 50;
/** How long the database keeps records. */
const RECORD_AGE_MS = 60_000;

/** The dispatches of records, if they are no CHANGE. */
const types = new Map<number, string>();
afterEach(() => types.clear());

const sessionOf = (sessionId: string): UserSession => ({
  ...{ sessionId, userId: USER, intents: ALL_INTENTS, bot: false, authorization: null },
  ...{ shard: [0, 1] as const, over: false, deliver: () => undefined },
});

function recordOf({ ownerId, n }: Pick<DeliveryPosition, 'ownerId' | 'n'>) {
  const to = { kind: 'users' as const, userIds: [USER] };
  return {
    ownerId,
    n,
    dispatches: [{ t: types.get(n) ?? CHANGE, d: { n }, to, n, filter: ALL_SESSIONS }],
  } as never;
}

/** A database whose answers wait for the test. */
function slowDatabase(clock: VirtualClock, ageMs: (n: number) => number) {
  const waiting: { resolve(): void; reject(fault: Error): void }[] = [];
  /** Length of the channel's stream in the database. */
  let stored = 0;
  const positions = () =>
    Array.from({ length: stored }, (_, at) => ({
      ...{ userId: USER, ownerId: CHANNEL, n: at + 1, atMs: clock.now() - ageMs(at + 1) },
    }));
  const store: UserDeliveryPorts['store'] = {
    async deliveriesTo(_userIds, sinceMs) {
      const found = positions().filter(({ atMs }) => atMs >= sinceMs);
      await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      return found;
    },
    recordsAt: async (at) => at.map(recordOf),
  };
  const write = (n: number): void => {
    stored = Math.max(stored, n);
  };
  return { store, waiting, write };
}

/**
 * A user's inbox over a database that answers when the test says so, and what each session was delivered, by number.
 *
 * @param ageMs How long ago a dispatch was decided.
 */
function arrange(ageMs: (n: number) => number = () => 0) {
  const clock = new VirtualClock();
  const sessions: UserSession[] = [];
  const heard = new Map<string, number[]>();
  const faults: unknown[] = [];
  const { store, waiting, write } = slowDatabase(clock, ageMs);
  const inboxes = new UserDelivery({
    users: { sessions: () => sessions, listeners: () => sessions },
    owns: () => true,
    store,
    // A home drops what is not beyond what the session has.
    deliver({ sessionId }, { origin, asOf }) {
      const had = heard.get(sessionId) ?? [];
      if (asOf) had.push(asOf.n + SHOWN);
      if (origin && origin.n > (had.at(-1) ?? 0)) had.push(origin.n);
    },
    ...{ clock, wheel: new TimerWheel(clock), recordAgeMs: RECORD_AGE_MS },
    onFault: (fault) => faults.push(fault),
  });
  const make = (sessionId: string): UserSession => {
    heard.set(sessionId, []);
    return sessionOf(sessionId);
  };
  return {
    ...{ inboxes, heard, clock },
    /** How many look-ups wait for the database. */
    lookups: () => waiting.length,
    open(sessionId: string) {
      sessions.push(make(sessionId));
      inboxes.sessionOpened(USER);
    },
    /** Rejoins with the stream up to `n`; the session is open once `reopened` resolves. */
    rejoin(sessionId: string, n: number, reopened = Promise.resolve()) {
      const session = make(sessionId);
      return inboxes.rejoin(session, [[STREAM, n]], async () => [sessions.push(session), await reopened]);
    },
    /** Its owner or home does not answer. */
    rejoinInVain: (sessionId: string) =>
      inboxes.rejoin(make(sessionId), [], () => Promise.reject(new Error('no answer'))),
    /** The channel sends its dispatch `n`, which implies that the one before was sent, too. */
    tell(n: number, t = CHANGE) {
      write(n);
      const origin = { ownerId: STREAM, n, after: n - 1 };
      inboxes.deliver(USER, ALL_SESSIONS, new DispatchBody(t, { n }, 0, origin));
    },
    /** The channel shows its state after its dispatch `n`, which is stored. */
    show(n: number) {
      write(n);
      const asOf = { ownerId: STREAM, n, after: n };
      inboxes.deliver(USER, ALL_SESSIONS, new DispatchBody('LOBBY_CREATE', { n }, 0, null, asOf));
    },
    /** Lets the database answer what it was asked by now. */
    async answer() {
      await settled();
      for (const { resolve } of waiting.splice(0)) resolve();
      await settled();
      expect(faults).toEqual([]);
    },
    /** Has each look-up fail for this time. */
    async lose(forMs: number) {
      for (let ms = 0; ms < forMs; ms += STEP_MS) {
        await settled();
        for (const { reject } of waiting.splice(0)) reject(new Error('no database'));
        await settled();
        clock.advance(STEP_MS);
      }
      faults.length = 0;
    },
  };
}

test('a gap in the stream is filled by a lookup, and dispatches received meanwhile follow', async () => {
  const { heard, open, tell, answer } = arrange();
  open('first');
  for (const n of [1, 2, 4, 5]) tell(n);
  await answer();
  tell(6);
  expect(heard.get('first')).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a session that arrives during a gap lookup receives its missed dispatches in order', async () => {
  const { heard, open, rejoin, tell, answer } = arrange();
  open('first');
  for (const n of [1, 2, 3, 4, 5, 6, 8]) tell(n);
  await settled();
  // The look for the seventh is under way, and knows nothing of this one.
  const joined = rejoin('second', 4);
  await answer();
  await answer();
  expect((await joined).isWhole).toBe(true);
  tell(9);
  expect(heard.get('second')).toEqual([5, 6, 7, 8, 9]);
  expect(heard.get('first')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a session that is being reopened during a gap lookup receives its missed dispatches in order', async () => {
  const { heard, open, rejoin, tell, answer } = arrange();
  open('first');
  for (const n of [1, 2, 4]) tell(n);
  let reopen = () => {};
  const reopened = new Promise<void>((resolve) => {
    reopen = resolve;
  });
  const rejoined = rejoin('second', 1, reopened);
  // This look-up finds the third dispatch, which must not precede the second one.
  await answer();
  expect(heard.get('second')).toEqual([]);
  reopen();
  await answer();
  expect((await rejoined).isWhole).toBe(true);
  expect(heard.get('second')).toEqual([2, 3, 4]);
  expect(heard.get('first')).toEqual([1, 2, 3, 4]);
});

test('dispatches that were decided long before their commit are delivered in order', async () => {
  // Dispatch 4 is dated before the session opened, dispatch 5 after: by their dates alone only 5 counts as missed.
  const { heard, open, tell, answer } = arrange((n) => (n < 5 ? 5_000 : 0));
  open('first');
  tell(4);
  tell(5);
  await answer();
  expect(heard.get('first')).toEqual([4, 5]);
});

test('an unnumbered state is delivered after all stored dispatches before it, and not after a later one', async () => {
  const { heard, open, show, tell, answer } = arrange();
  open('first');
  tell(1);
  show(1);
  // The third is lost on the way.
  tell(2);
  show(3);
  await answer();
  tell(4);
  show(3);
  show(4);
  expect(heard.get('first')).toEqual([1, 1 + SHOWN, 2, 3, 3 + SHOWN, 4, 4 + SHOWN]);
});

test('an unnumbered state that is not delivered is reported with the sessions that miss it', async () => {
  const { inboxes, open, show, tell } = arrange();
  const outdated: unknown[] = [];
  inboxes.onOutdated((ownerId, sessions) =>
    outdated.push([ownerId, sessions.map(({ sessionId }) => sessionId)]),
  );
  open('first');
  open('second');
  tell(1);
  show(1);
  tell(2);
  expect(outdated).toEqual([]);
  show(1);
  expect(outdated).toEqual([[CHANNEL, ['first', 'second']]]);
  const asOf = { ownerId: STREAM, n: 1, after: 1 };
  const body = new DispatchBody('LOBBY_CREATE', {}, 0, null, asOf);
  expect(inboxes.deliver(USER, 'second', body)).toBe(true);
  expect(inboxes.deliver(USER, 'unknown', body)).toBe(false);
  expect(outdated.slice(1)).toEqual([[CHANNEL, ['second']]]);
});

test('an update of a lobby from before a session began is reported instead, and one after it is delivered', async () => {
  const { inboxes, heard, open, tell, answer } = arrange();
  const outdated: unknown[] = [];
  inboxes.onOutdated((ownerId, sessions) =>
    outdated.push([ownerId, sessions.map(({ sessionId }) => sessionId)]),
  );
  for (const n of [1, 4]) types.set(n, 'LOBBY_UPDATE');
  open('first');
  // The first two may be in the state that the session began with; the fourth is lost on the way.
  tell(3);
  await answer();
  expect([heard.get('first'), outdated.splice(0)]).toEqual([[2, 3], [[CHANNEL, ['first']]]]);
  tell(5);
  await answer();
  expect([heard.get('first'), outdated]).toEqual([[2, 3, 4, 5], []]);
});

test('an unnumbered state is delivered after a later message, which does not change it', async () => {
  const { heard, open, show, tell } = arrange();
  open('first');
  tell(1);
  tell(2, 'LOBBY_MESSAGE_CREATE');
  show(1);
  tell(3);
  show(2);
  expect(heard.get('first')).toEqual([1, 2, 1 + SHOWN, 3]);
});

test('a session that came over is sent a dispatch which was decided long before its commit, when a later one names it', async () => {
  const { heard, rejoin, tell, answer } = arrange((n) => (n < 3 ? 5_000 : 0));
  tell(1);
  const rejoined = rejoin('moved', 1);
  await answer();
  await rejoined;
  // The second was decided before the session came over, like the first, and is stored only now.
  tell(3);
  await answer();
  expect(heard.get('moved')).toEqual([2, 3]);
});

test('a session that fails to come over delays the others of its user only until the next lookup', async () => {
  const { heard, open, rejoinInVain, tell, answer } = arrange();
  open('first');
  await expect(rejoinInVain('moved')).rejects.toThrow('no answer');
  tell(1);
  await answer();
  tell(2);
  await answer();
  expect(heard.get('first')).toEqual([1, 2]);
});

test('a session is sent what it has missed before what is new, however long the database was lost', async () => {
  const { heard, open, tell, answer, lose } = arrange();
  open('first');
  tell(1);
  await answer();
  tell(3);
  await lose(120_000);
  tell(4);
  await answer();
  expect(heard.get('first')).toEqual([1, 2, 3, 4]);
});

test('a session that comes over while the database is lost fails, and has everything when it comes over again', async () => {
  const { heard, clock, rejoin, tell, answer, lose } = arrange();
  tell(1);
  tell(2);
  const failed = expect(rejoin('moved', 0)).rejects.toThrow('no database');
  await lose(2_000);
  const early = await Promise.race([failed.then(() => 'failed'), settled().then(() => 'waits')]);
  await lose(10_000);
  await failed;
  const rejoined = rejoin('moved', 0);
  clock.advance(1_000);
  await answer();
  // The first look-up began before the session came over.
  await answer();
  expect([early, (await rejoined).isWhole, heard.get('moved')]).toEqual(['waits', true, [1, 2]]);
});

test('a session that rejoins again while the database is lost waits for as many attempts as before', async () => {
  const { rejoin, lose } = arrange();
  for (const attempt of ['first', 'second']) {
    let isFailed = false;
    const failed = expect(rejoin('moved', 0)).rejects.toThrow('no database');
    void failed.then(() => {
      isFailed = true;
    });
    await lose(4_500);
    expect(isFailed, attempt).toBe(false);
    await lose(500);
    expect(isFailed, attempt).toBe(true);
    await failed;
  }
});

test('dispatches beyond the bound of the queue are read from the database', async () => {
  const { heard, open, tell, answer, lookups } = arrange();
  open('first');
  tell(1);
  // The second dispatch is lost on the way.
  tell(3);
  await settled();
  // The look-up began before these were stored. The queue holds 4,096 dispatches.
  for (let n = 4; n <= 5_000; n += 1) tell(n);
  await answer();
  expect(heard.get('first')?.length).toBeLessThan(5_000);
  await answer();
  expect(heard.get('first')).toEqual(Array.from({ length: 5_000 }, (_, at) => at + 1));
  expect(lookups()).toBe(0);
});

test('dispatches after a gap are delivered when a look-up finds no record of the gap', async () => {
  const { heard, open, tell, answer, lookups } = arrange((n) => (n === 1 ? 0 : 2 * RECORD_AGE_MS));
  open('first');
  tell(1);
  // The second dispatch is lost on the way, and its record has expired.
  tell(3);
  tell(4);
  await answer();
  expect([heard.get('first'), lookups()]).toEqual([[1, 3, 4], 0]);
});
