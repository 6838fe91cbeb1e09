import { Random } from '../fuzz/random.ts';

/** Activities of users besides writing in guilds, and clients that stop reading for a while. */
export const FEATURES = [
  'direct',
  'lobbies',
  'groups',
  'reads',
  'slow',
  'matches',
  'merges',
  'links',
  'lists',
  'voice',
] as const;
export type Feature = (typeof FEATURES)[number];

/** Share of the seeds that have each feature, and share of the commands in such a seed that belong to its features. */
const HAVING = 0.25;
export const SHARE = 0.35;

/** The features of a seed. Drawn from a separate random sequence, so that seeds without features run as before. */
export function featuresOf(seed: number): readonly Feature[] {
  const random = new Random(seed ^ 0x0fea_7e5d);
  return FEATURES.filter(() => random.next() < HAVING);
}
