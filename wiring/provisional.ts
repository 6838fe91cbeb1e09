import type { Provisional } from '../actors/provisional/ports.ts';
import type { Site } from './site.ts';

export const createProvisional = (_site: Site): Provisional => ({
  isProvisional: async () => false,
  banned: async () => {},
});
