// Goal: an aggregate's dispatches leave in the order of its decisions, whatever triggers them.
import { expect, test } from 'vitest';
import type { Work } from '../../../actors/runtime/resident.machine.ts';
import {
  answeringBugs,
  asError,
  missingOr,
  OpenWork,
  OrderedCommits,
  resumed,
  rethrow,
} from '../../../actors/runtime/work.ts';
import type { Refusal } from '../../../protocol/refusal.ts';
import type { Commit, Writer } from '../../../storage/ports.ts';

function ordering() {
  const open: Commit[] = [];
  const writer = { commit: (commit: Commit) => open.push(commit) } as unknown as Writer;
  const commits = new OrderedCommits(writer, '1');
  const shown: string[] = [];
  const settle = (fault: Error | null = null) => open.shift()?.done(fault);
  const show = (what: string) => (fault: Error | null) => void shown.push(fault ? `${what} is lost` : what);
  return { commits, shown, show, settle };
}

test('work that a settled commit causes runs behind work that already waits for it', () => {
  const { commits, shown, show, settle } = ordering();
  commits.commit([], () => {
    shown.push('commit');
    commits.after(show('set off'));
  });
  commits.after(() => {
    shown.push('waited');
    commits.after(show('set off by it'));
  });
  expect(commits.waits).toBe(true);
  settle();
  expect(shown).toEqual(['commit', 'waited', 'set off', 'set off by it']);
  expect(commits.waits).toBe(false);
  commits.after(show('at once'));
  expect(shown.at(-1)).toBe('at once');
});

test('work queued after a nested commit waits for that commit', () => {
  const { commits, shown, show, settle } = ordering();
  commits.commit([], () => {
    commits.commit([], show('second'));
    commits.after(show('behind the second'));
  });
  commits.after(show('behind the first'));
  settle();
  expect(shown).toEqual(['behind the first']);
  settle();
  expect(shown).toEqual(['behind the first', 'second', 'behind the second']);
});

test('shows nothing on top of a lost commit', () => {
  const { commits, shown, show, settle } = ordering();
  commits.commit([], () => commits.after(show('set off')));
  commits.after(show('waited'));
  settle(new Error('The database is away.'));
  expect(shown).toEqual(['waited is lost', 'set off is lost']);
});

test('a bug in a waiting callback does not delay later ones', () => {
  const { commits, shown, show, settle } = ordering();
  commits.commit([], () => {
    throw new Error('A bug.');
  });
  expect(() => settle()).toThrow('A bug.');
  commits.after(show('at once'));
  expect(shown).toEqual(['at once']);
});

test('commits are under way until they are settled, and `quiet` runs after the last with what waited behind it', () => {
  const log: string[] = [];
  const open: Commit[] = [];
  const writer = { commit: (commit: Commit) => open.push(commit) } as unknown as Writer;
  const commits = new OrderedCommits(writer, '1', () => log.push('quiet'));
  expect([commits.underWay, commits.waits]).toEqual([0, false]);
  const fence = { partition: 1, epoch: 2 };
  commits.commit([], () => log.push('first'), { fence });
  commits.commit([], () => log.push('second'));
  commits.after(() => log.push('waited'));
  expect(open[0]).toMatchObject({ ownerId: '1', facts: [], fence });
  for (const underWay of [1, 0]) {
    open.shift()?.done(null);
    expect(commits.underWay).toBe(underWay);
  }
  expect([log, commits.started, commits.settled]).toEqual([['first', 'second', 'waited', 'quiet'], 2, 2]);
});

test('a commit that follows a lost one is lost with the fault of the first', () => {
  const { commits, settle } = ordering();
  const faults: unknown[] = [];
  for (let count = 0; count < 3; count += 1) commits.commit([], (fault) => faults.push(fault?.message));
  settle(new Error('First.'));
  settle();
  settle(new Error('Third.'));
  commits.after((fault) => faults.push(fault?.message));
  expect(faults).toEqual(['First.', 'First.', 'Third.', 'First.']);
});

/** Work that notes how it ends. */
function work(log: string[]): Work<never> {
  return {
    run: () => log.push('run'),
    refuse: (_refusal, why) => log.push(why),
    fault: ({ message }) => log.push(message),
  };
}

test('open work is answered once, by its end or by the end of the actor', () => {
  const log: string[] = [];
  const open = new OpenWork<never>();
  const [first, second] = [work(log), work(log)];
  expect([open.size, open.take(first)]).toEqual([0, false]);
  open.fault(new Error('Nothing waits.'));
  open.add(first);
  open.add(second);
  expect([open.size, open.take(first), open.take(first), open.size]).toEqual([2, true, false, 1]);
  open.fault(new Error('The actor ended.'));
  open.fault(new Error('The actor ended again.'));
  expect([log, open.size, open.take(second)]).toEqual([['The actor ended.'], 0, false]);
});

test('a bug in work faults its caller and ends the actor', () => {
  const log: string[] = [];
  answeringBugs(work(log), () => log.push('done'));
  const bug = () => {
    throw asError('A bug.');
  };
  expect(() => answeringBugs(work(log), bug)).toThrow('A bug.');
  expect(log).toEqual(['done', 'A bug.']);
  const outside = rethrow(new Error('Outside its turn.'));
  expect(() => outside.run(undefined as never)).toThrow('Outside its turn.');
});

test('work that has waited for its rows is answered as before', () => {
  const log: string[] = [];
  const rest = resumed(work(log), () => log.push('rest'));
  rest.run(undefined as never);
  rest.fault(new Error('The actor ended.'));
  expect(log).toEqual(['rest', 'The actor ended.']);
});

test('a full backlog is a fault of a question whether something exists, and every other refusal says that it does not', () => {
  const log: string[] = [];
  const refuse = missingOr(
    () => log.push('missing'),
    (fault) => log.push(`${fault.name}: ${fault.message}`),
  );
  const refusal = { message: 'Too much waits.' } as Refusal;
  refuse(refusal, 'full');
  refuse(refusal, 'missing');
  expect(log).toEqual(['NotServed: Too much waits.', 'missing']);
});
