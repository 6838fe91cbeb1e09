import { Random } from '../fuzz/random.ts';

/** What people do beside writing in guilds, and clients that stop reading for a while. */
export const FEATURES = ['direct', 'lobbies', 'groups', 'reads', 'slow'] as const;
export type Feature = (typeof FEATURES)[number];

/** Share of the seeds that have each feature, and of what is done in such a seed that belongs to it. */
const HAVING = 0.25;
export const SHARE = 0.35;

/** The features of a seed. Drawn from numbers of their own, so that a seed without features is as it was before they existed. */
export function featuresOf(seed: number): readonly Feature[] {
  const random = new Random(seed ^ 0x0fea_7e5d);
  return FEATURES.filter(() => random.next() < HAVING);
}
