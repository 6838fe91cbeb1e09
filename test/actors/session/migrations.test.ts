// Goal: a session that another shard held for a moment is opened with its owners once.
import { describe, expect, it } from 'vitest';
import type { SessionArchive } from '../../../actors/session/journal.ports.ts';
import { arrange, FakeSink, identifyWith, settled } from './harness.ts';

/** No other shard has a session. */
const NOBODY: SessionArchive = {
  keepsSessions: true,
  close: () => undefined,
  take: async () => ({ kind: 'unknown' }),
};

describe('a session that is opened again with its owners', () => {
  it('is opened once, although a second shard gives it back meanwhile', async () => {
    const { sessions, backend } = arrange({}, { archive: NOBODY });
    const outcome = await sessions.identify(identifyWith(), new FakeSink());
    await settled();
    if (outcome.kind !== 'open') throw new Error('not open');
    let release = () => {};
    backend.gate = new Promise((resolve) => {
      release = resolve;
    });
    const both = [1, 2].map(() => sessions.reassert(outcome.session.id));
    release();
    await Promise.all(both);
    expect(backend.named('reopen')).toHaveLength(1);
  });

  it('is left alone when it has ended', async () => {
    const { sessions, backend } = arrange({}, { archive: NOBODY });
    await sessions.reassert('nothing');
    expect(backend.named('reopen')).toEqual([]);
  });
});
