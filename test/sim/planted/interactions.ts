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
    from: "await this.write(failed, [], [{ t: 'INTERACTION_FAILURE', d, to: 'session' }]);",
    to: "this.#ports.notifyInvoker(failed, [{ t: 'INTERACTION_FAILURE', d, to: 'session' }]);",
  },
  {
    name: 'interactions-end-unsent',
    about: 'The invoker is not sent that the interaction was answered.',
    file: 'services/interactions/invoker.ts',
    kind: 'expression',
    from: 'dispatches.flatMap((each) => addressed(invoker, each))',
    to: "dispatches.flatMap((each) => (each.t === 'INTERACTION_SUCCESS' ? [] : addressed(invoker, each)))",
  },
];
