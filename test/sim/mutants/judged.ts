import { read } from '../../support/source.ts';
import { EQUIVALENT_IN_ACTORS } from './judgements/actors.ts';
import { EQUIVALENT_IN_ENGINE } from './judgements/engine.ts';
import type { Mutation } from './mutations.ts';

/** `equivalent`: no promise depends on it. `elsewhere`: other tests are for it, and the simulation does not run it at all. */
type Judgement = 'equivalent' | 'elsewhere';

/** The judgement of a mutation that the simulation does not detect. */
interface Judged {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly as: Judgement;
  readonly why: string;
  /** Text of the line, where `from` stands elsewhere in the file too; absent: on any line. */
  readonly on?: string | undefined;
}

/** By file: the tests that cover it instead. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'actors/cluster/membership/status.ts': 'What operators are shown: test/e2e.',
  'storage/writer.ts':
    'The simulation has a model of the writer; test/suites runs the real one on both databases.',
  'storage/tables.ts': 'The simulation has a model of the database; test/suites runs the statements.',
  'actors/runtime/clock.ts': 'The clock and the end of a real process: test/actors/runtime/clock.test.ts.',
};

/** One by one, for files that are otherwise part of the simulation. */
const ELSEWHERE_ALONE: readonly (readonly [file: string, from: string, to: string, why: string])[] = [
  [
    ...(['actors/runtime/aggregate.ts', 'this.epoch?.takeNumbered() ?? NOT_DELIVERED'] as const),
    ...(['this.epoch?.takeNumbered()', 'A process alone, which would answer nothing: test/e2e.'] as const),
  ],
  [
    ...([
      'actors/cluster/delivery/notify.ts',
      'this.#size >= WAITING_MAX',
      '(this.#size) > (WAITING_MAX)',
    ] as const),
    'A bound of thousands of dispatches.',
  ],
  [
    ...(['actors/cluster/delivery/notify.ts', 'sessionId === which', '(sessionId) !== (which)'] as const),
    'A process alone: test/compose.',
  ],
  [
    ...(['engine/session/journal.ts', 'this.#size + ENTRY_WORDS', '(this.#size) - (ENTRY_WORDS)'] as const),
    'A batch of thousands of entries: test/engine/session/journal.test.ts.',
  ],
  [
    'actors/session/journal.ts',
    'this.#flushLater()',
    'undefined',
    'More than 256 sessions: test/actors/session.',
  ],
  [
    ...([
      'actors/session/persistence.ts',
      'replication && { tap: replication.tap }',
      '(replication) || ({ tap: replication.tap })',
    ] as const),
    'A process alone, which would not start: test/e2e.',
  ],
  ['actors/session/bearers.ts', '16', '16 + 1', 'The digits of an id: test/actors/session/bearers.test.ts.'],
];

const JUDGED: readonly Judged[] = [
  ...[...EQUIVALENT_IN_ACTORS, ...EQUIVALENT_IN_ENGINE].map(([file, from, to, why, on]) => ({
    file,
    from,
    to,
    as: 'equivalent' as const,
    why,
    on,
  })),
  ...ELSEWHERE_ALONE.map(([file, from, to, why]) => ({ file, from, to, as: 'elsewhere' as const, why })),
];

const lineOf = ({ file, line }: Mutation): string => read(file).split('\n')[line - 1] ?? '';

/** `x ?? null` without its `?? null`: both mean that there is nothing. */
const isAbsentAnyway = ({ from, to }: Mutation): boolean => from === `${to} ?? null`;

/** The judgement of an undetected mutation and its reason; null: a gap that a judge or the workload must close. */
export function judged(mutation: Mutation): { readonly as: Judgement; readonly why: string } | null {
  const { file, from, to } = mutation;
  if (isAbsentAnyway(mutation)) return { as: 'equivalent', why: 'Undefined and null both mean absent.' };
  const one = JUDGED.find(
    (each) =>
      each.file === file &&
      each.from === from &&
      each.to === to &&
      (each.on === undefined || lineOf(mutation).includes(each.on)),
  );
  const why = ELSEWHERE[file];
  return one ?? (why === undefined ? null : { as: 'elsewhere', why });
}
