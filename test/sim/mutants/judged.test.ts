// Goal: a judgement excuses the expression that it names, and no other of the file.
import { describe, expect, it } from 'vitest';
import { read } from '../../support/source.ts';
import { judged } from './judged.ts';
import { mutationsOf } from './mutations.ts';

const FILE = 'actors/cluster/delivery/localsessions.ts';

/** The judgements of a file's changes of `from`, by the text of their lines. */
function judgementsOf(file: string, from: string, to: string): [line: string, as: string | null][] {
  const lines = read(file).split('\n');
  return mutationsOf(file, read(file))
    .filter((mutation) => mutation.from === from && mutation.to === to)
    .map((mutation) => [lines[mutation.line - 1]?.trim() ?? '', judged(mutation)?.as ?? null]);
}

describe('a judgement', () => {
  it('excuses a literal on the line that it names alone', () => {
    const zeros = judgementsOf(FILE, '0', '0 + 1');
    const excused = zeros.filter(([, as]) => as !== null).map(([line]) => line);
    expect(zeros.length).toBeGreaterThan(excused.length);
    expect(excused).toEqual(['const local = peer.sessions.get(handles[index] ?? 0);']);
  });

  it('excuses a fallback to null that is dropped, but none to another value', () => {
    const at = { file: 'a.ts', at: 0, line: 1 };
    expect(judged({ ...at, from: 'a ?? null', to: 'a' })?.as).toBe('equivalent');
    expect(judged({ ...at, from: 'a ?? 0', to: 'a' })).toBeNull();
  });
});
