// Goal: a client connects, stays connected and says how it stands; what ends it for good is not tried again.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthorizationTokenType,
  ConnectionError,
  ErrorType,
  Status,
  statusToString,
} from '../../sdk/enums.ts';
import { ACCESS_TOKEN, readyClient, refusal, scriptedClient, settle } from '../support/sdk.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function connecting(options: object = {}) {
  const made = scriptedClient(options);
  await made.client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
  const statuses: string[] = [];
  const errors: unknown[] = [];
  made.client.setStatusChangedCallback((status, error, detail) => {
    statuses.push(statusToString(status));
    if (error !== ConnectionError.None) errors.push([error, detail]);
  });
  const connected = made.client.connect();
  await settle();
  return { ...made, statuses, errors, connected };
}

describe('connecting', () => {
  test('goes through every step, and identifies with the token, intents and capability of a game', async () => {
    const { server, statuses, connected, client } = await connecting();
    expect(client.getCurrentUserV2()).toBeNull();
    server.welcome();
    await connected;
    expect(statuses).toEqual(['HttpWait', 'Connecting', 'Connected', 'Ready']);
    expect(server.socket.url).toBe('ws://server.test/?v=10&encoding=json');
    const bits = [12, 18, 19, 22, 23, 27, 28].reduce((all, bit) => all + 2 ** bit, 0);
    const capabilities = (1 << 16) | (1 << 30);
    expect(server.sent(2)).toEqual([
      expect.objectContaining({ token: `Bearer ${ACCESS_TOKEN}`, intents: bits, capabilities }),
    ]);
    expect(client.getCurrentUserV2()?.displayName).toBe('Me');
  });

  test('needs a token', async () => {
    const { client } = scriptedClient();
    expect((await refusal(client.connect())).type).toBe(ErrorType.ClientNotReady);
    expect(client.getStatus()).toBe(Status.Disconnected);
  });

  test('does not ask for an address that was given', async () => {
    const { server } = await connecting({ gatewayUrl: 'ws://elsewhere.test/path' });
    expect(server.asked).toEqual([]);
    expect(server.socket.url).toBe('ws://elsewhere.test/path?v=10&encoding=json');
  });

  test('waits for the address as long as the server is busy', async () => {
    const { client, server } = scriptedClient();
    let times = 0;
    server.answer('GET /gateway', () =>
      ++times < 3 ? { status: 503 } : { body: { url: 'ws://late.test' } },
    );
    await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
    void client.connect();
    await vi.advanceTimersByTimeAsync(3000);
    expect(server.socket.url).toBe('ws://late.test/?v=10&encoding=json');
  });

  test('ends when the address is refused or invalid', async () => {
    for (const answer of [{ status: 403 }, { body: { url: 'http://not.a.gateway' } }, { body: 'no' }]) {
      const { client, server } = scriptedClient();
      server.answer('GET /gateway', () => answer);
      await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
      expect((await refusal(client.connect())).type).toBe(ErrorType.NetworkError);
      expect(client.getStatus()).toBe(Status.Disconnected);
    }
  });

  test('rejects after the time-out, and keeps trying to connect', async () => {
    const { client, server, connected } = await connecting();
    const refused = refusal(connected);
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await refused).result).toMatchObject({ type: ErrorType.NetworkError, retryable: true });
    server.welcome();
    expect(client.getStatus()).toBe(Status.Ready);
  });
});

describe('a connection that breaks', () => {
  test('is resumed by itself, at the address that READY named', async () => {
    const { client, server } = await readyClient();
    const statuses: string[] = [];
    client.setStatusChangedCallback((status) => statuses.push(statusToString(status)));
    server.drop();
    await vi.advanceTimersByTimeAsync(1000);
    expect(server.socket.url).toBe('ws://server.test/resume?v=10&encoding=json');
    server.hello();
    expect(server.sent(6)).toEqual([{ token: `Bearer ${ACCESS_TOKEN}`, session_id: 'session-1', seq: 1 }]);
    server.dispatch('RESUMED', {});
    expect(statuses).toEqual(['Reconnecting', 'Connected', 'Ready']);
  });

  test.each([4004, 4010, 4011, 4012, 4013, 4014])('is not made again after code %i', async (code) => {
    const { client, server, errors, statuses, connected } = await connecting();
    server.hello();
    server.drop(code);
    const { result } = await refusal(connected);
    expect(result).toMatchObject({ errorCode: code, retryable: false });
    expect(errors).toEqual([[ConnectionError.UnexpectedClose, code]]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(server.sockets).toHaveLength(1);
    expect(statuses.at(-1)).toBe('Disconnected');
    expect(client.getCurrentUserV2()).toBeNull();
  });

  test('can be connected again after a terminal end', async () => {
    const { client, server, connected } = await connecting();
    server.drop(4004);
    await refusal(connected);
    await client.updateToken(AuthorizationTokenType.Bearer, 'another.token');
    const again = client.connect();
    await settle();
    server.welcome();
    await again;
    expect(server.sent(2)).toEqual([expect.objectContaining({ token: 'Bearer another.token' })]);
  });
});

describe('disconnecting', () => {
  test('ends the session, and rejects a pending connect', async () => {
    const { client, server, connected, statuses } = await connecting();
    client.disconnect();
    expect((await refusal(connected)).type).toBe(ErrorType.Aborted);
    expect(server.socket.code).toBe(1000);
    expect(statuses.slice(-2)).toEqual(['Disconnecting', 'Disconnected']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.sockets).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves nothing behind while the address is looked up', async () => {
    const { client, server } = scriptedClient();
    server.answer('GET /gateway', () => ({ status: 500 }));
    await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
    const refused = refusal(client.connect());
    await settle();
    client.disconnect();
    expect((await refused).type).toBe(ErrorType.Aborted);
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    expect(server.sockets).toHaveLength(0);
  });

  test('refuses every later call when it is final', async () => {
    const { client } = await readyClient();
    client.destroy();
    expect((await refusal(client.createOrJoinLobby('secret'))).type).toBe(ErrorType.ClientDestroyed);
  });
});

describe('the token', () => {
  test('can be changed while connected: the client starts a new session with it', async () => {
    const { client, server } = await readyClient();
    const updated = client.updateToken(AuthorizationTokenType.Bearer, 'fresh.token');
    await settle();
    expect(server.sockets[0]?.code).toBe(1000);
    server.welcome();
    await updated;
    expect(server.sent(2)).toEqual([expect.objectContaining({ token: 'Bearer fresh.token' })]);
  });

  test('fires the expiration callback once when it expires', async () => {
    const { client } = await readyClient();
    let told = 0;
    client.setTokenExpirationCallback(() => told++);
    await vi.advanceTimersByTimeAsync(604_799_000);
    expect(told).toBe(0);
    await vi.advanceTimersByTimeAsync(2000);
    expect(told).toBe(1);
    await refusal(client.getUserGuilds());
    expect(told).toBe(1);
  });

  test('fires the expiration callback once when the server rejects it', async () => {
    const { client, server } = await readyClient();
    let told = 0;
    client.setTokenExpirationCallback(() => told++);
    server.answer('GET /users/@me/guilds', () => ({
      status: 401,
      body: { code: 0, message: '401: Unauthorized' },
    }));
    for (let times = 0; times < 3; times++)
      expect((await refusal(client.getUserGuilds())).result.status).toBe(401);
    expect(told).toBe(1);
  });

  test('ends the session when it is revoked, without the expiration callback', async () => {
    const { client, server } = await readyClient();
    let told = 0;
    client.setTokenExpirationCallback(() => told++);
    server.dispatch('OAUTH2_TOKEN_REVOKE', { application_id: '5001' });
    await settle();
    expect(client.getStatus()).toBe(Status.Disconnected);
    await vi.advanceTimersByTimeAsync(700_000_000);
    expect([told, server.sockets.length]).toEqual([0, 1]);
  });

  test.each([
    ['empty', '', /^The token is empty: pass the access token of the player/],
    ['absent', undefined as unknown as string, /^The token is empty: pass the access token of the player/],
    ['of two words', 'two words', /^The token has a space/],
    ['of two lines', 'line\nbreak', /^The token has a space, a line break/],
    ['with an umlaut', 'ü', /^The token has a space.+ not of ASCII/],
    ['too long', 'x'.repeat(10_241), /^The token has 10241 characters; at most 10240 are allowed/],
  ])('is refused with the reason when it is %s', async (_, value, expected) => {
    const { client } = scriptedClient();
    const calls = [
      () => client.updateToken(AuthorizationTokenType.Bearer, value),
      () => client.fetchCurrentUser(AuthorizationTokenType.Bearer, value),
    ];
    for (const call of calls) {
      const { type, message } = await refusal(call());
      expect([type, message]).toEqual([ErrorType.ValidationError, expect.stringMatching(expected)]);
      if (value) expect(message).not.toContain(value);
    }
    expect(client.isAuthenticated()).toBe(false);
  });
});

describe('requests to authorize', () => {
  test('are asked for with every new session, and not after a resume', async () => {
    const { client, server } = await readyClient();
    const told: string[] = [];
    client.registerAuthorizeRequestCallback(() => told.push('asked'));
    await settle();
    const asks = () => server.asked.filter(({ path }) => path.endsWith('/authorize-requests'));
    expect(asks()).toMatchObject([
      { method: 'PUT', path: '/guildhall/v1/sessions/session-1/authorize-requests' },
    ]);
    server.dispatch('AUTHORIZE_REQUEST', { application_id: '5001', request_id: '1' });
    expect(told).toEqual(['asked']);
    server.drop();
    await vi.advanceTimersByTimeAsync(1000);
    server.hello();
    server.dispatch('RESUMED', {});
    await settle();
    expect(asks()).toHaveLength(1);
    server.drop(4009);
    await vi.advanceTimersByTimeAsync(1000);
    server.welcome({ session_id: 'session-2' });
    await settle();
    expect(asks().at(-1)?.path).toBe('/guildhall/v1/sessions/session-2/authorize-requests');
    client.removeAuthorizeRequestCallback();
    await settle();
    expect(asks().at(-1)?.method).toBe('DELETE');
    server.dispatch('AUTHORIZE_REQUEST', {});
    expect(told).toEqual(['asked']);
  });
});
