import type { Patch } from './patch.ts';

/** Bugs in ownership and its handover. */
export const OWNERSHIP: readonly Patch[] = [
  {
    name: 'ownership-wrong-partition',
    about: 'Commits carry the epoch of the partition beside their own.',
    file: 'actors/cluster/membership/ownership.ts',
    kind: 'statement',
    from: 'if (own) return own;',
    to: 'if (own) return { partition: (partition + 1) % this.#partitions, epoch: own.epoch };',
  },
  {
    name: 'ownership-lost-ignored',
    about: 'That the membership has ended is noted, and nothing else.',
    file: 'actors/cluster/membership/membership.ts',
    kind: 'statement',
    from: "this.#send({ type: 'lost' });",
    to: '',
  },
  {
    name: 'ownership-never-published',
    about: 'The directory does not hear of the epoch of what is taken over.',
    file: 'actors/cluster/membership/partitionmoves.ts',
    kind: 'statement',
    from: 'await scope.during(directory.publish(epochs));',
    to: '',
  },
];
