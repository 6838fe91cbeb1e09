// Goal: docs/voice.md names what there is: every setting, metric, reason and close code of calls, and none that is not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { SECTIONS } from '../../config/config.ts';
import { DROP_REASONS } from '../../media/sfu/ports.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import { addVoiceMetrics, type WatchedVoice } from '../../transports/admin/voicemetrics.ts';
import { ROOT } from '../support/source.ts';

const page = readFileSync(join(ROOT, 'docs/voice.md'), 'utf8');

/** Texts in the first column of the table with this head, in backticks or bare. */
function column(head: string): string[] {
  const table = page.slice(page.indexOf(`\n| ${head} |`)).split('\n\n')[0]!;
  return table
    .split('\n')
    .slice(3)
    .map((row) => row.split(' | ')[0]!.replace(/^\| /, ''));
}

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

test('docs/voice.md names every setting of calls', () => {
  const named = column('setting').flatMap(quoted).sort();
  expect(named).toEqual(Object.keys(SECTIONS.Voice).sort());
});

test('docs/voice.md names every reason for which a packet is dropped', () => {
  const named = column('reason').flatMap(quoted);
  // Drop reasons of the socket follow the forwarder's.
  expect(named).toEqual([...DROP_REASONS, 'send_failed', 'send_queue_full', 'bug']);
});

test('docs/voice.md names every close code, and whether it can be resumed', () => {
  const rows = page.slice(page.indexOf('\n| code |')).split('\n\n')[0]!.split('\n').slice(3);
  const told = rows.flatMap((row) => {
    const [codes = '', , resumable = ''] = row.replace(/^\| | \|$/g, '').split(' | ');
    const each = resumable.split('; ');
    return codes.split(', ').map((code, at) => [Number(code), (each[at] ?? each[0]) === 'yes']);
  });
  const known = Object.values(VOICE_CLOSE).map(({ code, resumable }) => [code, resumable]);
  expect(new Map(told as [number, boolean][])).toEqual(new Map(known as [number, boolean][]));
});

test('docs/voice.md names every metric of calls', async () => {
  const register = new Registry();
  addVoiceMetrics(register, {} as WatchedVoice);
  const known = register.getMetricsAsArray().map(({ name }) => name);
  const named = column('metric').flatMap((cell) => {
    let last = '';
    return quoted(cell).map((name) => {
      const bare = name.replace(/\{.*/, '');
      // `…_out` stands for the last name with another end.
      const whole = bare.startsWith('…') ? `${stemOf(last, bare, known)}${bare.slice(1)}` : bare;
      last = whole;
      return whole;
    });
  });
  expect(named.sort()).toEqual(known.sort());
});

/** The part of the last name that the dots replace: the longest one that makes a known name. */
function stemOf(last: string, ending: string, known: readonly string[]): string {
  const parts = last.split('_');
  for (let count = parts.length; count > 0; count -= 1) {
    const stem = parts.slice(0, count).join('_');
    if (known.includes(stem + ending.slice(1))) return stem;
  }
  return last;
}
