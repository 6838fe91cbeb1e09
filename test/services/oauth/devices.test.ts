// Goal: a device gets tokens once a person has approved it, polls at the given pace, and no other client gets them.
import { describe, expect, test } from 'vitest';
import { DEVICE_LIFE_SEC, POLL_INTERVAL_SEC } from '../../../services/oauth/devices.ts';
import { DEVICE_GRANT } from '../../../services/oauth/endpoint.ts';
import { ANNA, arrange, BERT, GAME, OTHER } from './arrange.ts';
import { tokenRequest } from './flows.ts';

async function waiting(scope = 'identify guilds', ports: Parameters<typeof arrange>[0] = {}) {
  const world = arrange(ports);
  const begun = await world.oauth.devices.begin(GAME, world.secretOf(GAME), scope);
  if (!begun.ok) throw new Error(begun.refusal.message);
  const { deviceCode, userCode } = begun.value;
  const request = tokenRequest(world.secretOf(GAME), {
    grantType: DEVICE_GRANT,
    deviceCode: deviceCode.reveal(),
  });
  const poll = async (change: object = {}) => {
    const reply = await world.oauth.token({ ...request, ...change });
    return reply.ok ? reply.value : reply.refusal.oauthError;
  };
  const wait = (seconds: number) => {
    world.clock.nowMs += seconds * 1000;
  };
  return { ...world, begun: begun.value, userCode, poll, wait };
}

describe('a device', () => {
  test('displays eight letters that are hard to confuse, and stores only hashes of its codes', async () => {
    const { begun, rows } = await waiting();
    expect(begun).toMatchObject({ expiresInSec: DEVICE_LIFE_SEC, intervalSec: POLL_INTERVAL_SEC });
    expect(begun.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/);
    const kept = JSON.stringify([...rows.devices]);
    expect(kept).not.toContain(begun.deviceCode.reveal());
    expect(kept).not.toContain(begun.userCode);
  });

  test('gets tokens once after the user agreed', async () => {
    const { oauth, userCode, poll, wait } = await waiting();
    expect(await poll()).toBe('authorization_pending');
    expect(await oauth.devices.finish(ANNA, userCode, true)).toBe(true);
    wait(POLL_INTERVAL_SEC);
    const tokens = await poll();
    if (typeof tokens !== 'object') throw new Error(tokens);
    expect(await oauth.authenticate(tokens.accessToken.reveal())).toMatchObject({ userId: ANNA });
    expect(tokens.scopes).toEqual(new Set(['identify', 'guilds']));
    expect(tokens.refreshToken).not.toBeNull();
    wait(POLL_INTERVAL_SEC);
    expect(await poll()).toBe('expired_token');
  });

  test('gets one pair of tokens for two polls at once', async () => {
    const { oauth, userCode, poll, rows } = await waiting();
    await oauth.devices.finish(ANNA, userCode, true);
    const answers = await Promise.all([poll(), poll(), poll()]);
    expect(answers.filter((answer) => typeof answer === 'object')).toHaveLength(1);
    expect(rows.chains.size).toBe(1);
  });

  test('is refused after the user denied', async () => {
    const { oauth, userCode, poll } = await waiting();
    await oauth.devices.finish(ANNA, userCode, false);
    expect(await poll()).toBe('access_denied');
    expect(await oauth.granted(ANNA, GAME)).toBeNull();
  });

  test('gets no tokens and causes no merge when the grant was revoked before it polled', async () => {
    let merges = 0;
    const merge = async () => ({ ok: true, value: null }) as const;
    const counted = { merge: () => merge().finally(() => ++merges) };
    const { oauth, userCode, poll, rows } = await waiting('identify', counted);
    await oauth.devices.finish(ANNA, userCode, true);
    await oauth.deauthorize(ANNA, GAME);
    const external = { externalAuthType: 'OIDC', externalAuthToken: 'proof' };
    expect(await poll({ external })).toBe('access_denied');
    expect(merges).toBe(0);
    expect(await poll()).toBe('access_denied');
    expect(await oauth.granted(ANNA, GAME)).toBeNull();
    expect([rows.chains.size, await poll()]).toEqual([0, 'expired_token']);
  });

  test('is slowed down by five seconds for each early poll', async () => {
    const { poll, wait } = await waiting();
    expect(await poll()).toBe('authorization_pending');
    wait(2);
    expect(await poll()).toBe('slow_down');
    wait(6);
    expect(await poll()).toBe('slow_down');
    wait(15);
    expect(await poll()).toBe('authorization_pending');
  });

  test('is refused after its code expired', async () => {
    const { oauth, userCode, poll, wait } = await waiting();
    wait(DEVICE_LIFE_SEC);
    expect(await poll()).toBe('expired_token');
    expect(await oauth.devices.look(userCode)).toBeNull();
    expect(await oauth.devices.finish(ANNA, userCode, true)).toBe(false);
  });

  test('gives no tokens to another application', async () => {
    const { oauth, userCode, poll, secretOf } = await waiting();
    await oauth.devices.finish(ANNA, userCode, true);
    expect(await poll({ clientId: OTHER, clientSecret: secretOf(OTHER) })).toBe('expired_token');
    expect(await poll({ deviceCode: userCode })).toBe('expired_token');
    expect(await poll({ deviceCode: null })).toBe('invalid_request');
    expect(typeof (await poll())).toBe('object');
  });

  test('needs a client and scopes that devices may request', async () => {
    const { oauth, secretOf } = arrange();
    const begin = async (secret: string | null, scope: string) => {
      const reply = await oauth.devices.begin(GAME, secret, scope);
      return reply.ok ? null : reply.refusal.oauthError;
    };
    expect(await begin('wrong', 'identify')).toBe('invalid_client');
    expect(await begin(null, 'identify')).toBe('invalid_client');
    expect(await begin(secretOf(GAME), '')).toBe('invalid_scope');
    expect(await begin(secretOf(GAME), 'bot')).toBe('invalid_scope');
  });
});

describe('a user', () => {
  test('types the code in any case, with hyphen or spaces', async () => {
    const { oauth, userCode } = await waiting();
    const typed = ` ${userCode.slice(0, 4).toLowerCase()}-${userCode.slice(4)} `;
    expect(await oauth.devices.look(typed)).toMatchObject({
      state: 'pending',
      scopes: ['identify', 'guilds'],
    });
    for (const wrong of ['', 'AAAAAAAA', userCode.slice(1), `${userCode}B`, 'x'.repeat(10_000)])
      expect(await oauth.devices.look(wrong), wrong).toBeNull();
  });

  test('decides once, and a second decision changes nothing', async () => {
    const { oauth, userCode, poll } = await waiting();
    const answers = await Promise.all([
      oauth.devices.finish(ANNA, userCode, true),
      oauth.devices.finish(BERT, userCode, false),
    ]);
    expect(answers).toEqual([true, false]);
    const tokens = await poll();
    if (typeof tokens !== 'object') throw new Error(tokens);
    expect(await oauth.authenticate(tokens.accessToken.reveal())).toMatchObject({ userId: ANNA });
  });
});

describe('a device that a person signs in', () => {
  test('learns the person once after the person agreed, and has no grant', async () => {
    const { oauth, rows, clock } = arrange();
    const { deviceCode, userCode } = await oauth.devices.beginSignIn();
    const code = deviceCode.reveal();
    expect(await oauth.devices.look(userCode)).toEqual({ application: null, scopes: [], state: 'pending' });
    expect(await oauth.devices.signedIn(code)).toMatchObject({
      refusal: { oauthError: 'authorization_pending' },
    });
    clock.nowMs += POLL_INTERVAL_SEC * 1000;
    expect(await oauth.devices.finish(ANNA, userCode, true)).toBe(true);
    const answers = await Promise.all([oauth.devices.signedIn(code), oauth.devices.signedIn(code)]);
    expect(answers.filter((answer) => answer.ok)).toEqual([{ ok: true, value: ANNA }]);
    expect([rows.grants.size, rows.chains.size, rows.devices.size]).toEqual([0, 0, 0]);
  });

  test('is refused after the person denied, and after its code expired', async () => {
    const { oauth, clock } = arrange();
    const denied = await oauth.devices.beginSignIn();
    await oauth.devices.finish(ANNA, denied.userCode, false);
    expect(await oauth.devices.signedIn(denied.deviceCode.reveal())).toMatchObject({
      refusal: { oauthError: 'access_denied' },
    });
    const late = await oauth.devices.beginSignIn();
    await oauth.devices.finish(ANNA, late.userCode, true);
    clock.nowMs += DEVICE_LIFE_SEC * 1000;
    expect(await oauth.devices.signedIn(late.deviceCode.reveal())).toMatchObject({
      refusal: { oauthError: 'expired_token' },
    });
    expect(await oauth.devices.signedIn('short')).toMatchObject({ refusal: { oauthError: 'expired_token' } });
  });

  test('rejects the code of a device of an application, and the reverse', async () => {
    const { oauth, begun, userCode, poll } = await waiting();
    await oauth.devices.finish(ANNA, userCode, true);
    expect(await oauth.devices.signedIn(begun.deviceCode.reveal())).toMatchObject({
      refusal: { oauthError: 'expired_token' },
    });
    const own = await oauth.devices.beginSignIn();
    await oauth.devices.finish(ANNA, own.userCode, true);
    expect(await poll({ deviceCode: own.deviceCode.reveal() })).toBe('expired_token');
  });
});
