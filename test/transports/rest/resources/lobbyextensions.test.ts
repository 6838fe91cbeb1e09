// Goal: what comes over HTTP reaches lobbies and queues extensions the platform in its bounds; all else is refused in words.
import { describe, expect, test } from 'vitest';
import { lobbyExtensions } from '../../../../transports/rest/resources/lobbyextensions.ts';
import { BOT, pipelineOf } from '../../../support/rest.ts';

/** Services that note what they are asked. */
function asked() {
  const calls: unknown[][] = [];
  const note =
    (name: string, value: unknown) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args.slice(0, -1)]);
      return { ok: true, value };
    };
  const extensions = new Proxy(
    {},
    { get: (_, name) => note(String(name), name === 'search' ? [] : { id: '900' }) },
  );
  const lobbies = { extensions, call: note('call', { id: '900' }) };
  const matchmaking = { enter: note('enter', { id: '1' }) };
  const { pipeline } = pipelineOf(lobbyExtensions, { services: { lobbies, matchmaking }, limited: false });
  const invoke = (operationId: string, body: unknown, caller = BOT) =>
    pipeline.invoke(operationId, {
      ...{ params: { lobby_id: '900' }, body },
      ...{ caller, publicUrl: '', address: null },
    } as never);
  return { calls, invoke };
}

const search = (body: object) => {
  const { calls, invoke } = asked();
  return invoke('search_lobbies', body).then(({ status }) => [status, calls[0]?.[1]]);
};

describe('search', () => {
  test('has a default order and limit', async () => {
    const sort = { by: 'created', descending: true };
    expect(await search({})).toEqual([200, { filters: [], game: null, openOnly: false, sort, limit: 25 }]);
  });

  test('compares texts with texts and numbers with numbers', async () => {
    const filters = [
      { key: 'a', is: 'equal', value: '5' },
      { key: 'a', is: 'equal', value: 5 },
      { key: 'b', is: 'in', values: [1, 'x'] },
      { key: 'c', is: 'range', min: 1, max: null },
    ];
    const [status, asking] = await search({ filters });
    expect([status, (asking as { filters: unknown }).filters]).toEqual([200, filters]);
  });

  const filter = { key: 'a', is: 'exists' };
  test.each([
    ['a filter without a value', { filters: [{ key: 'a', is: 'equal' }] }],
    ['a range without an end', { filters: [{ key: 'a', is: 'range' }] }],
    ['another kind of filter', { filters: [{ key: 'a', is: 'like', value: '%' }] }],
    ['too many filters', { filters: Array.from({ length: 9 }, () => filter) }],
    ['an order without a key', { sort: { by: 'metadata' } }],
    ['too many at once', { limit: 101 }],
    ['an object for a value', { filters: [{ key: 'a', is: 'equal', value: {} }] }],
  ])('refuses %s', async (_, body) => {
    expect(await search(body)).toEqual([400, undefined]);
  });
});

describe('settings', () => {
  test('change only the given fields; a password of null differs from an absent one', async () => {
    const { calls, invoke } = asked();
    await invoke('edit_lobby_settings', { locked: true, max_members: null });
    await invoke('edit_lobby_settings', { password: null });
    await invoke('edit_lobby_settings', { password: 'x', host_id: '1', password_hash: 'forged' });
    expect(calls).toEqual([
      ['configure', '900', { change: { locked: true, max_members: null }, password: undefined }],
      ['configure', '900', { change: {}, password: null }],
      ['configure', '900', { change: {}, password: 'x' }],
    ]);
  });

  test.each([
    { max_members: 0 },
    { max_members: 1_001 },
    { host_grace_seconds: 601 },
    { password: '' },
    { invited: ['me'] },
    { game: 'x'.repeat(65) },
  ])('are refused out of bounds: %j', async (body) => {
    expect((await asked().invoke('edit_lobby_settings', body)).status).toBe(400);
  });
});

describe('a message to a game', () => {
  test('is limited in size', async () => {
    const { calls, invoke } = asked();
    const send = async (data: unknown) =>
      (await invoke('send_lobby_game_message', { type: 'm', data })).status;
    expect(await send({ x: 1 })).toBe(204);
    expect(await send(undefined)).toBe(204);
    expect(await send('x'.repeat(4_094))).toBe(204);
    expect(await send('x'.repeat(4_095))).toBe(400);
    expect(await send('€'.repeat(2_000))).toBe(400);
    expect(calls.slice(0, 2)).toEqual([
      ['speak', '900', 'm', { x: 1 }],
      ['speak', '900', 'm', null],
    ]);
  });
});

test('a ticket has texts and numbers, and is refused to callers without an application', async () => {
  const { calls, invoke } = asked();
  const properties = { mode: 'duel', rating: 1_000 };
  expect((await invoke('create_matchmaking_ticket', { queue: 'race', properties })).status).toBe(201);
  expect(calls).toEqual([['enter', { queue: 'race', properties, lobbyId: null, userIds: null }]]);
  const wrong = { queue: 'race', properties: { rating: null } };
  expect((await invoke('create_matchmaking_ticket', wrong)).status).toBe(400);
  const nobody = { ...BOT, applicationId: null };
  expect((await invoke('create_matchmaking_ticket', { queue: 'race' }, nobody)).body).toMatchObject({
    code: 50_025,
  });
});
