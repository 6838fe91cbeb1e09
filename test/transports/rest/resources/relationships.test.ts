/** Goal: the routes of friends ask the social layer for what was meant, of the platform or of the calling game. */
import { describe, expect, it } from 'vitest';
import { relationships } from '../../../../transports/rest/resources/relationships.ts';
import { arrange, botOf, callerOf, codeOf, GAME } from './social.ts';

const done = { ok: true, value: null };
const open = () =>
  arrange(relationships, {
    relationships: {
      list: [{ id: '11', type: 1 }],
      listOfGame: [{ id: '12', type: 1 }],
      request: done,
      requestNamed: done,
      block: done,
      remove: done,
      rename: done,
    },
  });

const person = callerOf();
const game = callerOf('sdk.social_layer');
const params = { user_id: '11' };

describe('platform relationships', () => {
  it('are requested by name or by id, and type 2 blocks the user', async () => {
    const { call, social } = open();
    const { request, requestNamed, block } = social.relationships;
    const named = { body: { username: 'robin', discriminator: null } };
    expect((await call('request_friend', person, named)).status).toBe(204);
    expect(requestNamed).toHaveBeenCalledWith(person, 'robin', null);
    for (const body of [undefined, {}, { type: -1 }, { type: 1 }, { type: null }])
      expect((await call('set_relationship', game, { params, body })).status).toBe(204);
    expect(request).toHaveBeenCalledTimes(5);
    expect(request).toHaveBeenLastCalledWith(game, '11', null);
    await call('set_relationship', game, { params, body: { type: 2 } });
    expect(block).toHaveBeenCalledWith(game, '11');
  });

  it('are listed, renamed and removed', async () => {
    const { call, social } = open();
    expect(await call('list_relationships', game)).toMatchObject({ status: 200, body: [{ id: '11' }] });
    await call('update_relationship', person, { params, body: { nickname: '' } });
    expect(social.relationships.rename).toHaveBeenLastCalledWith(person, '11', null);
    await call('update_relationship', person, { params, body: { nickname: 'Bee' } });
    expect(social.relationships.rename).toHaveBeenLastCalledWith(person, '11', 'Bee');
    expect((await call('remove_relationship', person, { params })).status).toBe(204);
    expect(social.relationships.remove).toHaveBeenCalledWith(person, '11', null);
  });
});

describe('game relationships', () => {
  it('belong to the calling game, and are refused to a user without a game', async () => {
    const { call, social } = open();
    expect(await call('list_game_relationships', game)).toMatchObject({ body: [{ id: '12' }] });
    expect(social.relationships.listOfGame).toHaveBeenCalledWith(game, GAME);
    await call('request_game_friend', game, { body: { username: 'robin' } });
    expect(social.relationships.requestNamed).toHaveBeenCalledWith(game, 'robin', GAME);
    await call('set_game_relationship', game, { params });
    expect(social.relationships.request).toHaveBeenCalledWith(game, '11', GAME);
    await call('remove_game_relationship', game, { params });
    expect(social.relationships.remove).toHaveBeenCalledWith(game, '11', GAME);
    expect(codeOf(await call('list_game_relationships', person))).toBe(50025);
  });
});

it('reject bots, games without the scope, and malformed bodies', async () => {
  const { call, social } = open();
  for (const operationId of Object.keys(relationships)) {
    const parts = { params, body: { username: 'robin', nickname: null } };
    expect(codeOf(await call(operationId, botOf('77'), parts)), operationId).toBe(20001);
    expect(codeOf(await call(operationId, callerOf('identify'), parts)), operationId).toBe(50026);
  }
  const wrong = [
    ['request_friend', { body: {} }],
    ['request_friend', { body: { username: '' } }],
    ['request_friend', { body: { username: 'x'.repeat(38) } }],
    ['set_relationship', { params: { user_id: 'robin' } }],
    ['set_relationship', { params, body: { type: 99 } }],
    ['update_relationship', { params, body: { nickname: 'x'.repeat(33) } }],
  ] as const;
  for (const [operationId, parts] of wrong)
    expect(codeOf(await call(operationId, person, parts)), JSON.stringify(parts)).toBe(50035);
  for (const method of Object.values(social.relationships)) expect(method).not.toHaveBeenCalled();
});
