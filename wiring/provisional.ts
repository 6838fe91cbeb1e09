import type { Provisional } from '../actors/provisional/ports.ts';
import { refusal } from '../protocol/refusal.ts';
import type { Site } from './site.ts';

const NOT_YET = async () => ({ ok: false, refusal: refusal('NOT_BUILT') }) as const;

/** Until it is built: nobody is provisional. */
export const createProvisional = (_site: Site): Provisional => ({
  isProvisional: async () => false,
  signIn: NOT_YET,
  signInByBot: NOT_YET,
  exchangeChild: NOT_YET,
  merge: NOT_YET,
  unmerge: NOT_YET,
  unmergeByBot: NOT_YET,
  deauthorized: async () => {},
  banned: async () => {},
  unbanned: async () => {},
  isBanned: async () => false,
  identities: async () => [],
  identity: async () => null,
  forgetIdentity: NOT_YET,
  profiles: async () => [],
  profile: NOT_YET,
  updateProfile: NOT_YET,
  parentOf: async () => null,
  related: async (a, b) => a === b,
  linkChild: NOT_YET,
  configure: NOT_YET,
  unconfigure: async () => {},
  close: () => {},
});
