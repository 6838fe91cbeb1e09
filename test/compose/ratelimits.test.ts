// Goal: a server without rate limits answers 429 for nothing but the slow mode that a guild gave its channel.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
const AT_ONCE = 150;
let engine: Engine;
let api: string;
let guildId: string;
let owner: string;
let bot: string;
let person: string;

const ask = async (method: string, path: string, authorization: string | null, body?: object) => {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: {
      ...(authorization !== null && { authorization }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
};
const channel = async (name: string, fields: object = {}): Promise<string> =>
  (await ask('POST', `/guilds/${guildId}/channels`, owner, { name, ...fields })).body.id;
const statuses = async (calls: readonly Promise<{ status: number }>[]) => [
  ...new Set((await Promise.all(calls)).map(({ status }) => status)),
];
const times = <T>(make: (index: number) => T): T[] =>
  Array.from({ length: AT_ONCE }, (_, index) => make(index));

beforeAll(async () => {
  engine = await createEngine({
    config: {
      listen_port: 0,
      voice: false,
      log_level: 'silent',
      rate_limits: false,
      global_requests_per_sec: 1,
    },
  });
  const { api: url } = await engine.listen();
  api = `${url}/v10`;
  const anna = await engine.admin.createUser({ username: 'anna' });
  const bert = await engine.admin.createUser({ username: 'bert' });
  const lantern = await engine.admin.createApplication({ name: 'Lantern' });
  owner = `Bearer ${anna.token}`;
  person = `Bearer ${bert.token}`;
  bot = `Bot ${lantern.botToken}`;
  guildId = (await engine.admin.createGuild({ name: 'Harbour', ownerId: anna.user.id as never })).id;
  for (const userId of [bert.user.id, lantern.bot.id])
    await engine.admin.addMember({ guildId: guildId as never, userId: userId as never });
}, 60_000);
afterAll(() => engine.close());

describe('a server without rate limits', () => {
  test.each([
    ['a person', () => person],
    ['a bot', () => bot],
  ])('accepts 150 simultaneous requests from %s', async (_, who) => {
    const channelId = await channel('talk');
    const path = `/channels/${channelId}/messages`;
    expect(await statuses(times((index) => ask('POST', path, who(), { content: `${index}` })))).toEqual([
      200,
    ]);
    expect(await statuses(times(() => ask('GET', path, who())))).toEqual([200]);
    expect(await statuses(times(() => ask('POST', `/channels/${channelId}/typing`, who())))).toEqual([204]);
  });

  test('still answers 429 in the slow mode of a channel', async () => {
    const path = `/channels/${await channel('slow', { rate_limit_per_user: 60 })}/messages`;
    expect((await ask('POST', path, person, { content: 'one' })).status).toBe(200);
    const second = await ask('POST', path, person, { content: 'two' });
    expect(second).toMatchObject({ status: 429, body: { code: 20_016, global: false } });
    expect(second.headers.get('x-ratelimit-scope')).toBe('shared');
    expect(second.body.retry_after).toBeGreaterThan(50);
    expect((await ask('POST', path, owner, { content: 'one' })).status).toBe(200);
    expect((await ask('POST', path, owner, { content: 'two' })).status).toBe(200);
  });
});
