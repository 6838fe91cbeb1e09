// Goal: a person who invokes too often receives 429 without an effect on others, and an unknown session is rejected over HTTP too.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import { interactionRoute } from '../../transports/admin/interactions.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
const LIMIT = 20;
const LIMIT_OF_ALL = 40;
let engine: Engine;
let api: string;
let place: object;
const tokens: string[] = [];

const invoke = async (token: string, more: object = {}) => {
  const response = await fetch(`${api}/v10/interactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      type: 2,
      ...place,
      data: { id: '1', version: '1', name: 'ping', type: 1 },
      ...more,
    }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
};

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent' },
  });
  ({ api } = await engine.listen());
  const lantern = await engine.admin.createApplication({ name: 'Lantern' });
  const people = [];
  for (const username of ['anna', 'bert', 'cleo', 'dora'])
    people.push(await engine.admin.createUser({ username }));
  tokens.push(...people.map(({ token }) => token));
  const ownerId = people[0]!.user.id as never;
  const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId });
  for (const { id } of [...people.slice(1).map(({ user }) => user), lantern.bot])
    await engine.admin.addMember({ guildId: guild.id as never, userId: id as never });
  const headers = { authorization: `Bearer ${tokens[0]}` };
  const answer = await fetch(`${api}/v10/guilds/${guild.id}/channels`, { headers });
  const channels = (await answer.json()) as readonly { readonly id: string; readonly type: number }[];
  const channel = channels.find(({ type }) => type === 0)!;
  place = { application_id: lantern.application.id, guild_id: guild.id, channel_id: channel.id };
}, 60_000);
afterAll(() => engine.close());

describe('POST /interactions of the admin API', () => {
  const ask = (more: object) =>
    interactionRoute.handle(engine, { body: { bot: 'Lantern', text: '/ping', ...more } } as never);

  test.each<[string, object, number, string]>([
    ['of an unknown user', { as: '123' }, 404, '10013'],
    ['in an unknown guild', { guild_id: '123' }, 404, '10004'],
    ['in an unknown channel', { channel_id: '123' }, 400, 'refused'],
    ['of an unknown command', {}, 400, 'refused'],
    ['of an unknown application', { bot: 'Nobody' }, 404, '10002'],
    ['without a command', { text: '' }, 400, 'invalid_body'],
  ])('refuses an invocation %s', async (_, more, status, code) => {
    await expect(ask(more)).rejects.toMatchObject({ status, code });
  });
});

describe('POST /interactions', () => {
  test('rejects a session that is not open, and names the field', async () => {
    const { status, body } = await invoke(tokens[2]!, { session_id: 'f'.repeat(32) });
    expect({ status, body }).toMatchObject({
      ...{ status: 400, body: { code: 50_035 } },
      body: { errors: { session_id: { _errors: [{ code: 'UNKNOWN_SESSION' }] } } },
    });
    expect((await invoke(tokens[2]!)).body.code).toBe(10_063);
  });

  test('answers 429 to the twenty-first request of a person to an application in five seconds', async () => {
    const all = await Promise.all(Array.from({ length: LIMIT + 1 }, () => invoke(tokens[0]!)));
    const limited = all.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(1);
    expect(all.filter(({ body }) => body.code === 10_063)).toHaveLength(LIMIT);
    const { body, headers } = limited[0]!;
    expect(body).toMatchObject({ global: false, retry_after: expect.any(Number) });
    expect(body.retry_after).toBeLessThanOrEqual(5);
    expect(headers.get('x-ratelimit-scope')).toBe('user');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(headers.get('x-ratelimit-bucket')).toBe(all[0]!.headers.get('x-ratelimit-bucket'));
    expect(headers.get('x-ratelimit-limit')).toBe(String(LIMIT));
    expect((await invoke(tokens[1]!)).status).toBe(404);
    const other = await invoke(tokens[0]!, { application_id: '1' });
    expect([other.status, other.headers.get('x-ratelimit-remaining')]).toEqual([404, String(LIMIT - 1)]);
  });

  test('answers 429 to the forty-first request of a person in five seconds, whatever applications it names', async () => {
    const ids = Array.from({ length: LIMIT_OF_ALL + 1 }, (_, at) => String(at + 1));
    const all = await Promise.all(ids.map((id) => invoke(tokens[3]!, { application_id: id })));
    expect(all.filter(({ status }) => status === 429)).toHaveLength(1);
    expect(all.filter(({ status }) => status === 404)).toHaveLength(LIMIT_OF_ALL);
  });
});
