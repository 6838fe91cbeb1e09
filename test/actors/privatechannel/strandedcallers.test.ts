// Goal: a caller whose session no shard has leaves the call, also when the owner of its user was unreachable at first.
import { expect, it } from 'vitest';
import { StrandedCallers } from '../../../actors/privatechannel/strandedcallers.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { UserId } from '../../../protocol/ids.ts';

const CALLER = '1' as UserId;
const LATER_MS = 10_000;

/** A call with one caller; `answers` are given, in their order, to questions for its session. */
function arrange(answers: readonly Promise<boolean>[]) {
  const clock = new VirtualClock();
  const calling = new Map([[CALLER, { session_id: 's1' }]]);
  const left = [...answers];
  const dropped: string[] = [];
  const stranded = new StrandedCallers({
    ...{ wheel: new TimerWheel(clock), resumeWindowMs: LATER_MS - 5_000 },
    keepsSession: () => left.shift() ?? Promise.resolve(false),
    callers: () => calling,
    drop: (userId, sessionId) => {
      dropped.push(`${userId} ${sessionId}`);
      calling.delete(userId);
    },
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { stranded, dropped, pass };
}

/** An answer that is given later. */
function late() {
  let answer: (isKept: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((resolve) => {
    answer = resolve;
  });
  return { promise, answer };
}

it('removes a caller without a session although its user had no owner at the first look', async () => {
  const { stranded, dropped, pass } = arrange([Promise.reject(new NotServed('The user has no owner.'))]);
  stranded.lookLater();
  await pass(LATER_MS);
  expect(dropped).toEqual([]);
  await pass(LATER_MS);
  expect(dropped).toEqual([`${CALLER} s1`]);
});

it.each([
  ['owners have changed again', (stranded: StrandedCallers) => stranded.lookLater()],
  ['the call has ended', (stranded: StrandedCallers) => stranded.end()],
])('removes no caller for an answer that arrives when %s', async (_what, happen) => {
  const { promise, answer } = late();
  const { stranded, dropped, pass } = arrange([promise]);
  stranded.lookLater();
  await pass(LATER_MS);
  happen(stranded);
  answer(false);
  await pass(0);
  expect(dropped).toEqual([]);
});
