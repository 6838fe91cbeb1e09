import { isRecord } from '../protocol/json.ts';
import { terminalText } from '../protocol/names.ts';

const RESET = '\u001b[0m';
const LEVELS: Readonly<Record<number, { readonly name: string; readonly colour: string }>> = {
  10: { name: 'trace', colour: '\u001b[90m' },
  20: { name: 'debug', colour: '\u001b[36m' },
  30: { name: 'info', colour: '\u001b[32m' },
  40: { name: 'warn', colour: '\u001b[33m' },
  50: { name: 'error', colour: '\u001b[31m' },
  60: { name: 'fatal', colour: '\u001b[1;31m' },
};
const DIM = '\u001b[2m';
/** Fields that are shown in their own place, or say nothing on a person's own machine. */
const SHOWN = new Set(['level', 'time', 'msg', 'err', 'pid', 'hostname', 'name']);
const VALUE_CHARACTERS_MAX = 200;

/**
 * A line of the log as a person reads it: local time, level, sentence, fields, and the stack of an error below. A line that is no
 * object is passed on without its control characters.
 */
export function prettyLine(line: string, coloured: boolean): string {
  const entry = entryOf(line);
  if (entry === null) return `${terminalText(line.trimEnd())}\n`;
  const { name: levelName, colour } = LEVELS[Number(entry.level)] ?? {
    name: String(entry.level),
    colour: '',
  };
  const paint = (text: string, code: string): string =>
    coloured && code !== '' ? code + text + RESET : text;
  const shard = typeof entry.name === 'string' ? `${terminalText(entry.name)} ` : '';
  const fields = Object.entries(entry)
    .filter(([name]) => !SHOWN.has(name))
    .map(([name, value]) => `${terminalText(name)}=${shownValue(value)}`);
  const head = [
    paint(timeOf(entry.time), DIM),
    paint(terminalText(levelName).padEnd(5), colour),
    `${shard}${terminalText(String(entry.msg ?? ''))}`,
    ...(fields.length > 0 ? [paint(fields.join(' '), DIM)] : []),
  ];
  return `${[head.join(' '), ...stackOf(entry.err)].join('\n')}\n`;
}

function entryOf(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function timeOf(time: unknown): string {
  const date = new Date(Number(time));
  if (Number.isNaN(date.getTime())) return '--:--:--.---';
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function shownValue(value: unknown): string {
  const text =
    typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : (JSON.stringify(value) ?? '');
  const plain = terminalText(text);
  return plain.length > VALUE_CHARACTERS_MAX ? `${plain.slice(0, VALUE_CHARACTERS_MAX)}…` : plain;
}

/** The stack, or the message of an error without one, each line indented. */
function stackOf(error: unknown): readonly string[] {
  if (!isRecord(error)) return [];
  const text = typeof error.stack === 'string' ? error.stack : String(error.message ?? '');
  return text.split('\n').map((line) => `    ${terminalText(line.trim())}`);
}
