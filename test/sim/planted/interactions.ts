import type { Patch } from './patch.ts';

/** Bugs in uses of commands, and in their answers. */
export const INTERACTIONS: readonly Patch[] = [
  {
    name: 'interactions-answered-again',
    about: 'An interaction takes a second first answer.',
    file: 'engine/interaction/interaction.ts',
    kind: 'expression',
    from: "interaction.state.kind !== 'waiting'",
    to: 'false',
  },
  {
    name: 'interactions-nonce-forgotten',
    about: 'A use that is sent again is another use.',
    file: 'services/interactions/open.ts',
    kind: 'expression',
    from: 'this.#nowMs() - usedMs < NONCE_MS',
    to: 'false',
  },
  {
    name: 'interactions-told-before-stored',
    about: 'The invoker receives a failure that is not stored.',
    file: 'services/interactions/owner.ts',
    kind: 'statement',
    from: "await this.write({ ...interaction, state: { kind: 'failed' } });",
    to: "this.remember({ ...interaction, state: { kind: 'failed' } });",
  },
];
