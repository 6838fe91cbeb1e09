import type { Social } from '../actors/social/ports.ts';
import type { Site } from './site.ts';

export const createSocial = (_site: Site): Social => ({
  merge: async () => {},
  unmerge: async () => {},
  opened: async () => ({ relationships: [], gameRelationships: [], presences: [] }),
  presented: () => {},
  blocks: async () => false,
  friends: async () => false,
});
