// Goal: an application gets what a person has pressed the button for, from a page that says what that is; and nothing by a link.
import { afterEach, describe, expect, test } from 'vitest';
import type { Consents, Devices } from '../../../services/oauth/ports.ts';
import { PASSWORD } from '../../services/accounts/arrange.ts';
import { startPages } from './arrange.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Somebody who has an account and is signed in. */
async function openSignedIn(given: Parameters<typeof startPages>[0]) {
  const pages = await startPages(given);
  closing.push(() => pages.server.close());
  const userId = await pages.signUp();
  const anna = pages.visitor();
  await anna.get('/login');
  await anna.post('/login', { login: 'anna', password: PASSWORD });
  return { ...pages, userId, anna };
}

const application = { id: '77', name: 'Game <b>', description: '' };

/** Consent operations that describe one request, and note what was decided. */
function scripted(request: object = {}, agreed = false) {
  const decided: unknown[][] = [];
  const consents = {
    describe: async () => ({
      kind: 'consent',
      consent: {
        agreed,
        guilds: [{ id: '500', name: 'My "server"', icon: null, permissions: '8' }],
        request: {
          application,
          scopes: ['sdk.social_layer', 'bot'],
          redirectUri: 'https://game.example/callback',
          prompt: 'consent',
          permissions: 0b11n,
          guildId: null,
          ...request,
        },
      },
    }),
    decide: async (...args: unknown[]) => {
      decided.push(args);
      const { authorize } = args[2] as { authorize: boolean };
      const query = authorize ? 'code=1' : 'error=access_denied';
      return { kind: 'decided', location: `https://game.example/callback?${query}`, guildId: null };
    },
  } as unknown as Consents;
  return { decided, consents };
}

describe('consent', () => {
  const LINK = '/oauth2/authorize?client_id=77&scope=bot&state=a%26b';

  test('shows the application, its scopes and the redirect address, and is granted only by the button', async () => {
    const { decided, consents } = scripted();
    const { anna, userId } = await openSignedIn({ oauth: { consents, grants: async () => [] } as never });
    const shown = await anna.get(LINK);
    expect(shown.headers.get('content-security-policy')).toContain(
      "form-action 'self' https://game.example;",
    );
    expect(anna.text).toContain('Game &lt;b&gt;');
    expect(anna.text).toContain('<strong>anna</strong>');
    expect(anna.text).toContain('send direct messages for you');
    expect(anna.text).toContain('<strong>game.example</strong>');
    expect(anna.text).toContain('<option value="500">My &quot;server&quot;</option>');
    expect(decided).toEqual([]);
    const fields = [
      ['guild_id', '500'],
      ['permission', '2'],
      ['permission', '2'],
      ['permission', '-1'],
      ['decision', 'approve'],
    ] as const;
    const agreed = await anna.post(LINK, fields);
    expect([agreed.status, agreed.headers.get('location')]).toEqual([
      303,
      'https://game.example/callback?code=1',
    ]);
    expect(decided[0]?.[0]).toBe(userId);
    expect(decided[0]?.[1]).toMatchObject({
      client_id: '77',
      scope: 'bot',
      state: 'a&b',
      redirect_uri: null,
    });
    expect(decided[0]?.[2]).toEqual({
      authorize: true,
      permissions: '2',
      guildId: '500',
      integrationType: null,
    });
    await anna.get(LINK);
    for (const decision of ['deny', '', 'APPROVE']) {
      const denied = await anna.post(LINK, { decision });
      expect(denied.headers.get('location')).toContain('access_denied');
    }
    expect((await anna.post(LINK, { decision: 'approve' }, { origin: 'https://evil.example' })).status).toBe(
      403,
    );
    expect(decided).toHaveLength(4);
  });

  test('is not requested again for scopes granted before, when the application sends prompt=none', async () => {
    const { decided, consents } = scripted({ prompt: 'none' }, true);
    const { anna } = await openSignedIn({ oauth: { consents, grants: async () => [] } as never });
    expect((await anna.get(LINK)).headers.get('location')).toBe('https://game.example/callback?code=1');
    expect(decided).toHaveLength(1);
    const fresh = scripted({ prompt: 'none' }, false);
    const other = await openSignedIn({
      oauth: { consents: fresh.consents, grants: async () => [] } as never,
    });
    expect((await other.anna.get(LINK)).status).toBe(200);
    expect(fresh.decided).toEqual([]);
  });

  test('a link with repeated or oversized parameters is rejected here without a redirect', async () => {
    const { decided, consents } = scripted();
    const { anna } = await openSignedIn({ oauth: { consents, grants: async () => [] } as never });
    for (const link of [
      `${LINK}&client_id=78`,
      `${LINK}&redirect_uri=a&redirect_uri=b`,
      `${LINK}&nonce=${'x'.repeat(5000)}`,
    ]) {
      const response = await anna.get(link);
      expect([response.status, response.headers.get('location')]).toEqual([400, null]);
      expect((await anna.post(link, { decision: 'approve' })).status).toBe(400);
    }
    expect(decided).toEqual([]);
  });
});

describe('devices', () => {
  test('are connected by a second confirmation that names the application; guesses are bounded', async () => {
    const finished: unknown[][] = [];
    const devices: Pick<Devices, 'look' | 'finish'> = {
      look: async (code) =>
        code === 'BCDFGHJK' ? ({ application, scopes: ['identify'], state: 'pending' } as never) : null,
      finish: async (...args) => finished.push(args) > 0,
    };
    let left = 5;
    const oauth = { devices, grants: async () => [] } as never;
    const take = (what: string) => (what === 'device code' ? (left-- > 0 ? 0 : 1) : 0);
    const { anna, userId } = await openSignedIn({ oauth, take });
    await anna.get('/activate?user_code=BCDFGHJK');
    expect(anna.text).toContain('value="BCDFGHJK"');
    expect((await anna.post('/activate', { user_code: 'XXXXXXXX' })).status).toBe(422);
    await anna.post('/activate', { user_code: ' BCDFGHJK ' });
    expect(anna.text).toContain('Game &lt;b&gt;');
    expect(anna.text).toContain('see your name and picture');
    expect(finished).toEqual([]);
    await anna.post('/activate', { user_code: anna.hidden('user_code'), decision: 'approve' });
    expect(finished).toEqual([[userId, 'BCDFGHJK', true]]);
    await anna.get('/activate');
    await anna.post('/activate', { user_code: 'BCDFGHJK', decision: 'deny' });
    expect(finished[1]).toEqual([userId, 'BCDFGHJK', false]);
    await anna.get('/activate');
    await anna.post('/activate', { user_code: 'BCDFGHJK' });
    await anna.get('/activate');
    expect((await anna.post('/activate', { user_code: 'BCDFGHJK' })).status).toBe(429);
  });
});
