/** Goal: an application describes what roles may ask for, and its users say it of themselves: nobody else, nothing else. */
import { describe, expect, it, vi } from 'vitest';
import { roleConnections } from '../../../../transports/rest/resources/roleconnections.ts';
import { arrange, botOf, callerOf, codeOf, GAME } from './social.ts';

const elo = { type: 2, key: 'elo', name: 'Elo', description: 'How strong' };
const since = { type: 6, key: 'since', name: 'Since', description: 'Playing since' };
const pro = { type: 7, key: 'pro', name: 'Pro', description: 'Plays for money' };

const open = () => {
  const done = { ok: true, value: null };
  const given = { get: null, set: done, metadata: [elo, since, pro], setMetadata: done };
  return arrange(roleConnections, { roleConnections: given });
};

const params = { application_id: GAME };
const person = callerOf('role_connections.write');

describe('the description', () => {
  const put = 'update_application_role_connections_metadata';

  it("is the application's, of five values at most", async () => {
    const { call, social } = open();
    const bot = botOf(GAME);
    const body = [{ ...elo, name_localizations: { de: 'Spielstärke', fr: null }, more: 1 }];
    const kept = [{ ...elo, name_localizations: { de: 'Spielstärke' } }];
    expect(await call(put, bot, { params, body })).toMatchObject({ status: 200, body: kept });
    expect(social.roleConnections.setMetadata).toHaveBeenCalledWith(GAME, kept);
    const listed = await call('get_application_role_connections_metadata', bot, { params });
    expect(listed.body).toEqual([elo, since, pro]);
    const six = Array.from({ length: 6 }, (_, at) => ({ ...elo, key: `k${at}` }));
    for (const wrong of [six, [elo, elo], [{ ...elo, key: 'E!' }], [{ ...elo, type: 9 }], [{ key: 'elo' }]])
      expect(codeOf(await call(put, bot, { params, body: wrong })), JSON.stringify(wrong)).toBe(50035);
  });

  it('is closed to other applications and to people', async () => {
    const { call } = open();
    expect(codeOf(await call(put, botOf('99'), { params, body: [] }))).toBe(20012);
    const read = 'get_application_role_connections_metadata';
    expect(codeOf(await call(read, botOf('99'), { params }))).toBe(20012);
    expect(codeOf(await call(put, person, { params, body: [] }))).toBe(20002);
  });
});

describe('a connection', () => {
  const put = 'update_application_user_role_connection';
  const set = async (body: object) => {
    const { call, social } = open();
    const answer = await call(put, person, { params, body });
    return { answer, set: social.roleConnections.set };
  };

  it('has values that fit what was described, and no others', async () => {
    const metadata = { elo: '-1500', since: '2020-02-29T10:00:00Z', pro: '1', unknown: 'x' };
    const { answer, set: stored } = await set({ platform_name: 'Chess', metadata });
    const { unknown: _, ...kept } = metadata;
    const connection = { platform_name: 'Chess', platform_username: null, metadata: kept };
    expect(answer).toMatchObject({ status: 200, body: connection });
    expect(stored).toHaveBeenCalledWith('10', GAME, connection);
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
  ])('%j is refused', async (body) => {
    const { answer, set: stored } = await set(body);
    expect(codeOf(answer)).toBe(50035);
    expect(stored).not.toHaveBeenCalled();
  });

  it('is read and taken away by its application for its user', async () => {
    const { call, social } = open();
    const read = 'get_application_user_role_connection';
    const nothing = { platform_name: '', platform_username: null, metadata: {} };
    expect((await call(read, person, { params })).body).toEqual(nothing);
    vi.mocked(social.roleConnections.get).mockResolvedValueOnce({ ...nothing, platform_name: 'Chess' });
    expect((await call(read, person, { params })).body).toMatchObject({ platform_name: 'Chess' });
    const away = 'delete_application_user_role_connection';
    expect((await call(away, person, { params })).status).toBe(204);
    expect(social.roleConnections.set).toHaveBeenCalledWith('10', GAME, null);
    for (const operationId of [read, put, away]) {
      expect(codeOf(await call(operationId, person, { params: { application_id: '99' }, body: {} }))).toBe(
        20012,
      );
      expect(codeOf(await call(operationId, callerOf('identify'), { params, body: {} }))).toBe(50026);
    }
  });
});

it('accounts elsewhere are linked to applications only: the list of them is empty', async () => {
  const { call } = open();
  expect(await call('list_my_connections', callerOf('connections'))).toMatchObject({ status: 200, body: [] });
  expect(codeOf(await call('list_my_connections', callerOf('identify')))).toBe(50026);
});
