// Goal: an application declares the values that roles may require, and stores such values of its users; no other caller may.
import { describe, expect, it } from 'vitest';
import type { RoleConnection } from '../../../../engine/social/facts.ts';
import { createRoleConnections } from '../../../../services/social/roleconnections.ts';
import type { StoredFact } from '../../../../storage/ports.ts';
import type { Caller } from '../../../../transports/rest/operation.ts';
import { roleConnections } from '../../../../transports/rest/resources/roleconnections.ts';
import { pipelineOf } from '../../../support/rest.ts';
import { botOf, callerOf, codeOf, GAME } from './social.ts';

const elo = { type: 2, key: 'elo', name: 'Elo', description: 'How strong' };
const since = { type: 6, key: 'since', name: 'Since', description: 'Playing since' };
const pro = { type: 7, key: 'pro', name: 'Pro', description: 'Plays for money' };

/** The operations over a store with the declared values; `facts` are what they committed. */
function open(stored: RoleConnection | null = null) {
  const facts: StoredFact[] = [];
  const service = createRoleConnections({
    relationships: {
      roleConnection: async () => stored,
      roleConnectionMetadata: async () => [elo, since, pro],
    },
    commit: async (_ownerId, committed) => void facts.push(...committed),
  });
  const services = { social: { roleConnections: service } };
  const { pipeline } = pipelineOf(roleConnections, { services, limited: false });
  const call = (operationId: string, caller: Caller, parts: object = {}) =>
    pipeline.invoke(operationId, { caller, publicUrl: 'http://test', address: null, ...parts } as never);
  return { call, facts };
}

const params = { application_id: GAME };
const person = callerOf('role_connections.write');

describe('the metadata of an application', () => {
  const put = 'update_application_role_connections_metadata';

  it('is declared by the application, with at most five records and distinct valid keys', async () => {
    const { call, facts } = open();
    const bot = botOf(GAME);
    const body = [{ ...elo, name_localizations: { de: 'Spielstärke', fr: null }, more: 1 }];
    const kept = [{ ...elo, name_localizations: { de: 'Spielstärke' } }];
    expect(await call(put, bot, { params, body })).toMatchObject({ status: 200, body: kept });
    const fact = { type: 'roleConnectionMetadataChanged', applicationId: GAME, metadata: kept };
    expect(facts).toEqual([fact]);
    const listed = await call('get_application_role_connections_metadata', bot, { params });
    expect(listed.body).toEqual([elo, since, pro]);
    const six = Array.from({ length: 6 }, (_, at) => ({ ...elo, key: `k${at}` }));
    for (const wrong of [
      six,
      [elo, elo],
      [{ ...elo, key: 'E!' }],
      [{ ...elo, key: '__proto__' }],
      [{ ...elo, type: 9 }],
      [{ key: 'elo' }],
    ])
      expect(codeOf(await call(put, bot, { params, body: wrong })), JSON.stringify(wrong)).toBe(50035);
  });

  it('is refused to other applications and to users', async () => {
    const { call } = open();
    expect(codeOf(await call(put, botOf('99'), { params, body: [] }))).toBe(20012);
    const read = 'get_application_role_connections_metadata';
    expect(codeOf(await call(read, botOf('99'), { params }))).toBe(20012);
    expect(codeOf(await call(put, person, { params, body: [] }))).toBe(20002);
  });
});

describe('a role connection', () => {
  const put = 'update_application_user_role_connection';
  const set = async (body: object) => {
    const { call, facts } = open();
    const answer = await call(put, person, { params, body });
    return { answer, facts };
  };

  it('keeps the declared values and drops the others', async () => {
    const metadata = { elo: '-1500', since: '2020-02-29T10:00:00Z', pro: '1', unknown: 'x' };
    const { answer, facts } = await set({ platform_name: 'Chess', metadata });
    const { unknown: _, ...kept } = metadata;
    const connection = { platform_name: 'Chess', platform_username: null, metadata: kept };
    expect(answer).toMatchObject({ status: 200, body: connection });
    const fact = { type: 'roleConnectionChanged', userId: '10', applicationId: GAME, connection };
    expect(facts).toEqual([fact]);
  });

  it.each([
    { metadata: { elo: 'strong' } },
    { metadata: { elo: '1.5' } },
    { metadata: { since: 'yesterday' } },
    { metadata: { since: '2020-13-45' } },
    { metadata: { pro: 'yes' } },
    { metadata: { elo: '' } },
    { metadata: { a: 'x', b: 'x', c: 'x', d: 'x', e: 'x', f: 'x' } },
    { platform_name: 'x'.repeat(51) },
    { platform_username: 'x'.repeat(101) },
  ])('is refused with the values %j', async (body) => {
    const { answer, facts } = await set(body);
    expect(codeOf(answer)).toBe(50035);
    expect(facts).toEqual([]);
  });

  it('is read and removed by its application for its user', async () => {
    const { call, facts } = open();
    const read = 'get_application_user_role_connection';
    const nothing = { platform_name: '', platform_username: null, metadata: {} };
    expect((await call(read, person, { params })).body).toEqual(nothing);
    const chess = { ...nothing, platform_name: 'Chess' };
    expect((await open(chess).call(read, person, { params })).body).toEqual(chess);
    const remove = 'delete_application_user_role_connection';
    expect((await call(remove, person, { params })).status).toBe(204);
    const fact = { type: 'roleConnectionChanged', userId: '10', applicationId: GAME, connection: null };
    expect(facts).toEqual([fact]);
    for (const operationId of [read, put, remove]) {
      expect(codeOf(await call(operationId, person, { params: { application_id: '99' }, body: {} }))).toBe(
        20012,
      );
      expect(codeOf(await call(operationId, callerOf('identify'), { params, body: {} }))).toBe(50026);
    }
  });
});

it('lists no external accounts, because they are linked to applications only', async () => {
  const { call } = open();
  expect(await call('list_my_connections', callerOf('connections'))).toMatchObject({ status: 200, body: [] });
  expect(codeOf(await call('list_my_connections', callerOf('identify')))).toBe(50026);
});
