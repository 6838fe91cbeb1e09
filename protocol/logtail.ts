/** A line of the log, with its number. */
interface LogLine {
  readonly number: number;
  readonly text: string;
}

/** The newest lines of a log. */
export interface LogTail {
  add(text: string): void;
  /** Lines after a number, oldest first. */
  after(number: number): readonly LogLine[];
}

const LINES_MAX = 1000;
const CHARACTERS_MAX = 4000;

/** Keeps the newest lines, bounded in number and length. */
export function createLogTail(): LogTail {
  const lines: LogLine[] = [];
  let count = 0;
  return {
    add(text) {
      count++;
      lines.push({ number: count, text: text.trimEnd().slice(0, CHARACTERS_MAX) });
      if (lines.length > LINES_MAX) lines.shift();
    },
    after: (number) => lines.filter((line) => line.number > number),
  };
}
