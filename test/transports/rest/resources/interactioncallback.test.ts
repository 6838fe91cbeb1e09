// Goal: the message of a callback holds at every bound and is refused one beyond it, with code and path.
import { expect, test } from 'vitest';
import type { FreshId } from '../../../../protocol/ids.ts';
import { CALLBACK } from '../../../../protocol/interactions.ts';
import type { Invocation } from '../../../../services/interactions/ports.ts';
import { openMemoryBlobs } from '../../../../storage/blob/blobs.memory.ts';
import { readCallbackData } from '../../../../transports/rest/resources/interactions.callback.ts';
import { interactionsUnlisted } from '../../../../transports/rest/resources/interactions.ts';
import { leavesOf } from '../../../support/errortree.ts';
import { id } from '../../../support/guild.ts';
import { pipelineOf } from '../../../support/rest.ts';
import { callerOf } from './social.ts';

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
])('a callback with %s is accepted, and one beyond the bound is refused', (_, good, bad, problem) => {
  for (const type of [CALLBACK.MESSAGE, CALLBACK.UPDATE_MESSAGE]) {
    if (type === CALLBACK.UPDATE_MESSAGE && 'tts' in good) continue;
    expect(problems(type, good)).toEqual([]);
    expect(problems(type, bad)).toEqual([problem]);
  }
});

test.each([
  ['a command', 2, 1],
  ['a component', 3, 0],
  ['an autocomplete', 4, 0],
  ['a form', 5, 1],
])('the files of %s are stored only where they are deleted with its token', async (_, type, stored) => {
  const blobs = openMemoryBlobs();
  let lastId = 100;
  const invoked: Invocation[] = [];
  const services = {
    ...{ blobs, nextId: () => id<FreshId>(++lastId), uploads: { fits: async () => true } },
    channels: { owner: async () => ({ guildId: '5' }) },
    interactions: {
      invoke: async (invocation: Invocation) => {
        invoked.push(invocation);
        return { ok: true, value: 'begun' };
      },
    },
  };
  const { pipeline } = pipelineOf(interactionsUnlisted, { services, limited: false });
  const answer = await pipeline.invoke('create_interaction', {
    ...{ caller: callerOf(), publicUrl: '', address: null, locales: [], params: {} },
    body: { type, application_id: '1', guild_id: '5', channel_id: '50', data: { attachments: [{ id: 0 }] } },
    files: [{ field: 'files[0]', filename: 'a.txt', contentType: 'text/plain', bytes: Buffer.from('a') }],
  } as never);
  expect(answer.status).toBe(204);
  const keys: string[] = [];
  for await (const key of blobs.list()) keys.push(key);
  expect([keys.length, Object.keys(invoked[0]!.uploads).length]).toEqual([stored, stored]);
});
