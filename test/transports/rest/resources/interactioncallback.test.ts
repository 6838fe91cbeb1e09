// Goal: the message of a callback holds at every bound and is refused one beyond it, with code and path.
import { expect, test } from 'vitest';
import { CALLBACK } from '../../../../protocol/interactions.ts';
import { readCallbackData } from '../../../../transports/rest/resources/interactions.callback.ts';
import { leavesOf } from '../../../support/errortree.ts';

const many = (length: number, one: object) => Array.from({ length }, () => one);

function problems(type: 4 | 5 | 7, data: object): string[] {
  const read = readCallbackData({ type, data }, []);
  if (read.ok) return [];
  expect(read.refusal).toMatchObject({ status: 400, code: 50_035 });
  return leavesOf(read.refusal.errors ?? {});
}

test.each<[string, object, object, string]>([
  [
    '10 embeds',
    { embeds: many(10, { title: 't' }) },
    { embeds: many(11, { title: 't' }) },
    'data.embeds: BASE_TYPE_MAX_LENGTH',
  ],
  ['a boolean tts', { tts: true }, { tts: 'yes' }, 'data.tts: BOOLEAN_TYPE_CONVERT'],
  ['flags that are a number', { flags: 64 }, { flags: 'hidden' }, 'data.flags: NUMBER_TYPE_COERCE'],
])('a callback with %s is read, and one beyond it is refused', (_, good, bad, problem) => {
  for (const type of [CALLBACK.MESSAGE, CALLBACK.UPDATE_MESSAGE]) {
    if (type === CALLBACK.UPDATE_MESSAGE && 'tts' in good) continue;
    expect(problems(type, good)).toEqual([]);
    expect(problems(type, bad)).toEqual([problem]);
  }
});
