import type { Mutation } from './mutations.ts';

/** A mutation that changes nothing which the program promises, and why. */
interface Judged {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

const JUDGED: readonly Judged[] = [];

export const judgedEquivalent = ({ file, from, to }: Mutation): boolean =>
  JUDGED.some((each) => each.file === file && each.from === from && each.to === to);
