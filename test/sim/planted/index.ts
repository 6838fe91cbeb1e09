import { GROUPS } from './groups.ts';
import { HOMES } from './homes.ts';
import { INTERACTIONS } from './interactions.ts';
import { JOURNAL } from './journal.ts';
import { LINKS } from './links.ts';
import { MEMBER_LISTS } from './memberlists.ts';
import { OWNERSHIP } from './ownership.ts';
import type { Patch } from './patch.ts';
import { ROUTER } from './router.ts';
import { RULES } from './rules.ts';
import { SESSIONS } from './sessions.ts';
import { STORAGE } from './storage.ts';
import { STREAMS } from './streams.ts';

/** All bugs that the simulation must find. */
export const BUGS: readonly Patch[] = [
  ...STORAGE,
  ...OWNERSHIP,
  ...ROUTER,
  ...STREAMS,
  ...HOMES,
  ...JOURNAL,
  ...SESSIONS,
  ...RULES,
  ...INTERACTIONS,
  ...GROUPS,
  ...LINKS,
  ...MEMBER_LISTS,
];
