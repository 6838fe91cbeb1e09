// An aggregate's dispatches leave in the order of its decisions, whatever triggers them.
import { expect, test } from 'vitest';
import { OrderedCommits } from '../../../actors/runtime/work.ts';
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
