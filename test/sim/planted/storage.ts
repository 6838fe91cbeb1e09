import type { Patch } from './patch.ts';

/** Bugs in storage and in fencing. */
export const STORAGE: readonly Patch[] = [
  {
    name: 'storage-same-epoch',
    about: 'A partition that is taken over keeps its epoch.',
    file: 'test/sim/database.ts',
    kind: 'expression',
    from: '(this.epochs.get(each) ?? 0) + 1',
    to: 'this.epochs.get(each) ?? 1',
  },
  {
    name: 'storage-shown-first',
    about: 'Dispatches and replies leave while their commit is under way.',
    file: 'actors/runtime/aggregate.ts',
    kind: 'expression',
    from: 'durable as unknown as readonly StoredFact[]',
    to: 'queueMicrotask(() => done(null)), durable',
  },
  {
    name: 'storage-answered-first',
    about: 'A command is answered while its commit is under way; its dispatches wait.',
    file: 'actors/runtime/aggregate.ts',
    kind: 'expression',
    from: 'this.epoch?.recording(decided, delivered)',
    to: '(settle(true), this.epoch?.recording(decided, delivered))',
  },
  {
    name: 'storage-guild-first',
    about: 'A guild is shown to who arrives while what is shown is being committed.',
    file: 'actors/guild/guild.shell.ts',
    kind: 'expression',
    from: 'this.commits.after(run)',
    to: 'run(null)',
  },
  {
    name: 'storage-repeated-renumbered',
    about: 'A transaction that is repeated after a lost connection gets another number.',
    file: 'storage/transactions.ts',
    kind: 'expression',
    from: 'this.#driver.batch<Row>(numbered, true)',
    to: 'this.#driver.batch<Row>([numbering(this.#writer, (this.#number += 1)), ...statements])',
    features: ['lobbies'],
    outages: true,
  },
  {
    name: 'storage-leaving-not-kept',
    about: 'That a member has left is shown and not written down.',
    file: 'actors/runtime/aggregate.ts',
    kind: 'expression',
    from: 'rules.isDurable(fact)',
    to: "rules.isDurable(fact) && fact.type !== 'memberRemoved'",
  },
];
