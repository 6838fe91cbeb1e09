import type { Patch } from './patch.ts';

/** Bugs in the routing of commands to their owner, and in running them once. */
export const ROUTER: readonly Patch[] = [
  {
    name: 'router-broken-swallowed',
    about: 'That the other end has broken a stream off is not passed on.',
    file: 'actors/cluster/routing/router.ts',
    kind: 'expression',
    from: 'this.#sessions?.broken(from)',
    to: 'undefined',
  },
];
