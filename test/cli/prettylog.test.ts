// Goal: people read a log of sentences, and no line of it can control their terminal.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prettyLine } from '../../cli/prettylog.ts';

const line = (more: object) =>
  JSON.stringify({
    level: 30,
    time: new Date(2026, 0, 2, 3, 4, 5, 6).getTime(),
    pid: 7,
    hostname: 'h',
    ...more,
  });

test('a line has time, level, message and fields', () => {
  expect(prettyLine(line({ msg: 'Draining.', where: 'gateway', took: { ms: 3 } }), false)).toBe(
    '03:04:05.006 info  Draining. where=gateway took={"ms":3}\n',
  );
});

test('a line contains its shard, and an error has its stack below', () => {
  const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at f (a.ts:1:1)' };
  expect(prettyLine(line({ level: 50, name: 'one', msg: 'Failed.', err }), false)).toBe(
    '03:04:05.006 error one Failed.\n    Error: no\n    at f (a.ts:1:1)\n',
  );
});

test('levels have colours on a terminal', () => {
  expect(prettyLine(line({ level: 40, msg: 'x' }), true)).toContain('\u001b[33mwarn \u001b[0m');
});

test('no text of a client reaches the terminal as a control character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      fc.jsonValue(),
      (msg, name, value) => {
        const text = prettyLine(line({ msg, [name]: value, err: { stack: msg } }), false);
        expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
      },
    ),
  );
});

test('a line that is no log record is printed unchanged', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(prettyLine(text, false).endsWith('\n')).toBe(true);
    }),
  );
});
