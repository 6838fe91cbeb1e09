import type { Patch } from './patch.ts';

/** In what is written down of sessions, and read when their home is dead. */
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
