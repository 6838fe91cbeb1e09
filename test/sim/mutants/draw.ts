import { Random } from '../../fuzz/random.ts';
import { filesUnder, read } from '../../support/source.ts';
import type { Patch } from '../planted/patch.ts';
import { type Mutation, mutationsOf } from './mutations.ts';

/** Files that implement the guarantees of a cluster: order, ownership, delivery, resume, commits. */
const MUTATED = [
  ...['engine/session', 'engine/fanout', 'engine/placement', 'engine/kernel'],
  ...['actors/runtime', 'actors/cluster', 'actors/session', 'actors/guild'],
] as const;
/** The path of a commit, from the queue to the statement. */
const COMMITTING = ['storage/writer.ts', 'storage/tables.ts'];

export interface Mutant extends Mutation {
  /** `<file>:<line>:<at>`, the name that activates it. */
  readonly name: string;
}

/** `count` mutants drawn from `seed`, each expression as likely as another. */
export function mutantsFrom(seed: number, count: number): Mutant[] {
  const files = [...MUTATED.flatMap((folder) => filesUnder(folder, /\.ts$/)), ...COMMITTING];
  const all = files.flatMap((file) => mutationsOf(file, read(file)));
  const random = new Random(seed);
  const drawn: Mutant[] = [];
  while (drawn.length < count && all.length > 0) {
    const [mutation] = all.splice(random.below(all.length), 1) as [Mutation];
    drawn.push({ ...mutation, name: `${mutation.file}:${mutation.line}:${mutation.at}` });
  }
  return drawn;
}

/** Mutants that an earlier run has named, where the program still has their expressions: the nearest to the line that it had. */
export function mutantsAgain(named: readonly Omit<Mutation, 'at'>[]): Mutant[] {
  const found = named.flatMap(({ file, from, to, line }) => {
    const alike = mutationsOf(file, read(file)).filter((each) => each.from === from && each.to === to);
    const [nearest] = alike.sort((a, b) => Math.abs(a.line - line) - Math.abs(b.line - line));
    return nearest ? [{ ...nearest, name: `${file}:${nearest.line}:${nearest.at}` }] : [];
  });
  return [...new Map(found.map((mutant) => [`${mutant.name} ${mutant.to}`, mutant])).values()];
}

/** Sets of mutants that one build can hold: within a set no expression contains another. */
export function buildsOf(mutants: readonly Mutant[]): Mutant[][] {
  const builds: Mutant[][] = [];
  for (const mutant of mutants) {
    const free = builds.find((build) => !build.some((other) => overlap(mutant, other)));
    if (free) free.push(mutant);
    else builds.push([mutant]);
  }
  return builds;
}

const overlap = (a: Mutation, b: Mutation): boolean =>
  a.file === b.file && a.at < b.at + b.from.length && b.at < a.at + a.from.length;

/** The mutants as patches of a build; those of a file in order from its end to its beginning. */
export const patchesOf = (mutants: readonly Mutant[]): Patch[] =>
  mutants
    .toSorted((a, b) => b.at - a.at)
    .map(({ name, file, at, from, to }) => ({ name, about: to, file, at, from, to, kind: 'expression' }));
