// Goal: the admin API says what the operator decides about players, in the engine's words, and refuses what is malformed.
import { describe, expect, test } from 'vitest';
import type { Admin } from '../../../embedding.ts';
import type { AdminCall, Operated } from '../../../transports/admin/route.ts';
import { findRoute } from '../../../transports/admin/routes.ts';

/** Calls a route with a body; answers its status and what the engine was asked. */
async function ask(path: string, body: unknown) {
  const asked: unknown[] = [];
  const admin = new Proxy({} as Admin, {
    get:
      (_, name) =>
      async (...given: unknown[]) =>
        void asked.push([name, ...given]),
  });
  const found = findRoute('POST', path);
  if ('methods' in found) throw new Error(`There is no ${path}.`);
  const call: AdminCall = { id: found.id, query: new URLSearchParams(), body };
  const { status } = await found.route.handle({ admin } as Operated, call);
  return { status, asked };
}

const OIDC = { type: 'OIDC', issuer: 'https://id.example.org', client_id: 'game' };

describe('the admin API of players', () => {
  test.each([
    [OIDC, { type: 'OIDC', issuer: 'https://id.example.org', clientId: 'game' }],
    [
      { type: 'STEAM', app_id: '480', web_api_key: 'k' },
      { type: 'STEAM', appId: '480', webApiKey: 'k' },
    ],
    [
      { type: 'EPIC_ONLINE_SERVICES', client_id: 'c' },
      { type: 'EPIC_ONLINE_SERVICES', clientId: 'c' },
    ],
    [
      { type: 'UNITY', project_id: 'p' },
      { type: 'UNITY', projectId: 'p' },
    ],
    [
      { type: 'APPLE', client_id: 'c' },
      { type: 'APPLE', clientId: 'c' },
    ],
    [
      { ...OIDC, type: 'PLAYSTATION_NETWORK' },
      { type: 'PLAYSTATION_NETWORK', issuer: 'https://id.example.org', clientId: 'game' },
    ],
  ])('configures a provider: %j', async (body, settings) => {
    const { status, asked } = await ask('/applications/9/identity-providers', body);
    expect(status).toBe(204);
    expect(asked).toEqual([['configureIdentityProvider', '9', settings]]);
  });

  test.each([
    ['/applications/9/identity-providers', { ...OIDC, web_api_key: 'k' }],
    ['/applications/9/identity-providers', { type: 'OIDC', client_id: 'game' }],
    ['/applications/9/identity-providers', { type: 'BOT' }],
    ['/applications/9/identity-providers', null],
    ['/applications/9/identity-providers/remove', { type: 'BOT' }],
    ['/applications/9/parent', { parent_id: 'x' }],
    ['/users/9/ban', { until_ms: '5' }],
    ['/users/9/ban', { until: 5 }],
  ])('refuses %s with %j', async (path, body) => {
    await expect(ask(path, body)).rejects.toMatchObject({ status: 400, code: 'invalid_body' });
  });

  test('removes a provider, sets the parent of an application, bans and unbans', async () => {
    const removal = await ask('/applications/9/identity-providers/remove', { type: 'STEAM' });
    expect(removal.asked).toEqual([['removeIdentityProvider', '9', 'STEAM']]);
    const adoption = await ask('/applications/9/parent', { parent_id: '8' });
    expect(adoption.asked).toEqual([['linkChildApplication', { childId: '9', parentId: '8' }]]);
    expect((await ask('/users/7/ban', {})).asked).toEqual([['banUser', '7', null]]);
    expect((await ask('/users/7/ban', { until_ms: 5 })).asked).toEqual([['banUser', '7', 5]]);
    expect((await ask('/users/7/unban', {})).asked).toEqual([['unbanUser', '7']]);
  });
});
