import type { Patch } from './patch.ts';

/** Bugs in the journals of sessions, which are read when the shard of a session has died. */
export const JOURNAL: readonly Patch[] = [
  {
    name: 'journal-following-not-noted',
    about: 'From where on a session follows a guild is not written down.',
    file: 'actors/session/journal.ts',
    kind: 'statement',
    from: 'this.#note(ENTRY.following, handle, streamText(ownerId, n));',
    to: '',
  },
];
