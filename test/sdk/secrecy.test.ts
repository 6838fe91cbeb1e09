// Goal: no token, code or secret is in any line of the log, whatever is called and however it ends.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AuthorizationTokenType, LoggingSeverity } from '../../sdk/enums.ts';
import { Log, logLine } from '../../sdk/log.ts';
import { APPLICATION, LOBBY, PEER, type ScriptedServer, scriptedClient, settle } from '../support/sdk.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 2, 1, 12) }));
afterEach(() => void vi.useRealTimers());

/** Everything here that only the server and the application may see. */
const SECRETS = {
  access: 'ACCESS.aaaaaaaaaaaa',
  fresh: 'FRESH/aaaa+aaaaaaa==',
  refresh: 'REFRESH.bbbbbbbbbbbb',
  id: 'IDTOKEN.cccc.cccc',
  code: 'CODE-dddddddddd',
  verifier: 'VERIFIER_eeeeeeeeee',
  external: 'EXTERNAL ticket & more',
  device: 'DEVICE-ffffff',
  userCode: 'USER-CODE',
  lobby: 'LOBBY secret gggg',
  join: 'JOIN-hhhhhhhh',
  parent: 'PARENT.iiiiii',
} as const;

/** Refuses everything, and repeats its input in the error. */
function hostile(server: ScriptedServer): void {
  const routes = [
    ...['/oauth2/token', '/oauth2/token/revoke', '/oauth2/device/authorize', '/partner-sdk/token'],
    ...[
      '/partner-sdk/child-token',
      '/partner-sdk/provisional-accounts/unmerge',
      `/lobbies/${LOBBY}/messages`,
    ],
  ].map((path) => `POST ${path}`);
  for (const route of [
    ...routes,
    'PUT /lobbies',
    'GET /users/@me',
    'GET /oauth2/@me',
    'GET /users/@me/guilds',
  ])
    server.answer(route, ({ body, authorization }) => {
      const told = `${authorization} ${Object.values(body ?? {}).join(' ')}`;
      return { status: 400, body: { code: 1, message: told, error_description: told } };
    });
}

function generous(server: ScriptedServer): void {
  const tokens = {
    access_token: SECRETS.fresh,
    refresh_token: SECRETS.refresh,
    id_token: SECRETS.id,
    token_type: 'Bearer',
    expires_in: 604_800,
    scope: 'openid',
  };
  for (const path of ['/oauth2/token', '/partner-sdk/token', '/partner-sdk/child-token'])
    server.answer(`POST ${path}`, () => ({ body: tokens }));
  const device = {
    device_code: SECRETS.device,
    user_code: SECRETS.userCode,
    verification_uri: 'http://server.test/activate',
    expires_in: 10,
    interval: 1,
  };
  server.answer('POST /oauth2/device/authorize', () => ({ body: device }));
  server.answer('POST /oauth2/token/revoke', () => ({}));
  server.answer('PUT /lobbies', () => ({ body: { id: LOBBY, members: [] } }));
  server.answer('GET /users/@me', () => ({ body: { id: PEER, username: 'peer' } }));
}

async function everyMethod(client: ReturnType<typeof scriptedClient>['client'], server: ScriptedServer) {
  const calls: (() => unknown)[] = [
    () => client.getToken(APPLICATION, SECRETS.code, SECRETS.verifier, 'http://127.0.0.1/callback'),
    () =>
      client.getTokenFromProvisionalMerge(
        APPLICATION,
        SECRETS.code,
        SECRETS.verifier,
        'x://',
        0,
        SECRETS.external,
      ),
    () => client.refreshToken(APPLICATION, SECRETS.refresh),
    () => client.revokeToken(APPLICATION, SECRETS.access),
    () => client.exchangeChildToken(SECRETS.parent, APPLICATION),
    () => client.getProvisionalToken(APPLICATION, 3, SECRETS.external),
    () => client.unmergeIntoProvisionalAccount(APPLICATION, 0, SECRETS.external),
    () => client.getTokenFromDevice({ clientId: APPLICATION, scopes: 'openid' }),
    () => client.fetchCurrentUser(AuthorizationTokenType.Bearer, SECRETS.fresh),
    async () => {
      const updated = client.updateToken(AuthorizationTokenType.Bearer, SECRETS.access);
      await settle();
      server.welcome();
      await updated;
    },
    () => client.createOrJoinLobby(SECRETS.lobby),
    () => client.getUserGuilds(),
    () =>
      client.updateRichPresence({
        party: { id: 'p1', currentSize: 1, maxSize: 2 },
        secrets: { join: SECRETS.join },
      }),
  ];
  for (const call of calls) {
    const ended = Promise.resolve()
      .then(call)
      .catch(() => {});
    await vi.advanceTimersByTimeAsync(1500);
    await ended;
  }
  const asking = client.authorize({ clientId: APPLICATION, scopes: 'openid' }).catch(() => {});
  await settle();
  const state = new URL(server.opened.at(-1)!).searchParams.get('state');
  server.redirect?.arrived(`http://127.0.0.1:7777/callback?code=${SECRETS.code}&state=${state}`);
  await asking;
}

describe('at every level', () => {
  test.each([
    ['that gives', generous],
    ['that refuses and repeats the request', hostile],
  ])('a server %s', async (_, behave) => {
    const { client, server } = scriptedClient({ applicationId: APPLICATION, debug: true });
    behave(server);
    const lines: string[] = [];
    client.addLogCallback((line) => lines.push(line), LoggingSeverity.Verbose);
    await client.updateToken(AuthorizationTokenType.Bearer, SECRETS.access);
    void client.connect();
    await settle();
    server.welcome();
    await everyMethod(client, server);
    client.setUserUpdatedCallback(() => {
      throw new Error(`with ${SECRETS.access}`);
    });
    server.dispatch('USER_UPDATE', { id: PEER, username: 'a' });
    server.dispatch('USER_UPDATE', { id: PEER, username: 'b' });
    server.drop(4004);
    expect(lines.length).toBeGreaterThan(10);
    for (const [name, secret] of Object.entries(SECRETS))
      for (const form of [secret, encodeURIComponent(secret)])
        expect(
          lines.filter((line) => line.includes(form)),
          name,
        ).toEqual([]);
  });
});

describe('the log', () => {
  function logged(debug: boolean, minimum: LoggingSeverity) {
    const log = new Log(debug);
    const lines: string[] = [];
    const dispose = log.add((message, severity) => lines.push(`${severity} ${message}`), minimum);
    log.verbose(() => 'verbose');
    log.info('info');
    log.warn('warning');
    log.error('error');
    return { log, lines, dispose };
  }

  test('holds only warnings and errors in a release', () => {
    expect(logged(false, LoggingSeverity.Verbose).lines).toEqual(['3 warning', '4 error']);
  });

  test('contains all lines in a debug build, and begins with a warning that it is one', () => {
    const { lines } = logged(true, LoggingSeverity.Verbose);
    expect(lines[0]).toMatch(/^3 This is a debug build/);
    expect(lines.slice(1)).toEqual(['1 verbose', '2 info', '3 warning', '4 error']);
  });

  test('contains lines of the requested severity, and ends when its callback is removed', () => {
    const { log, lines, dispose } = logged(true, LoggingSeverity.Error);
    expect(lines).toEqual(['4 error']);
    dispose();
    log.error('unheard');
    expect(lines).toHaveLength(1);
    expect(logged(true, LoggingSeverity.None).lines).toEqual([]);
  });

  test('hides registered secrets in every form', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 60 }),
        fc.string(),
        fc.string(),
        (secret, before, after) => {
          const log = new Log(true);
          log.keepSecret(secret);
          // The replacement `[secret]` may itself contain a short secret.
          for (const form of [secret, encodeURIComponent(secret)])
            if (!'[secret]'.includes(secret))
              expect(log.redact(`${before} ${form} ${after}`)).not.toContain(form);
        },
      ),
    );
  });

  test('hides unregistered secrets by their keys and headers', () => {
    const log = new Log(true);
    const lines = [
      'Authorization: Bearer abc.def',
      '{"access_token":"abcdef","x":1}',
      'refresh_token=abcdef&x=1',
      'client_secret: abcdef',
    ];
    for (const line of lines) expect(log.redact(line)).not.toMatch(/abc/);
    expect(log.redact('{"access_token":"abcdef","x":1}')).toBe('{"access_token":"[secret]","x":1}');
  });

  test('is one line for each message', () => {
    const line = logLine('a\r\nb', LoggingSeverity.Warning, new Date(0));
    expect(line).toBe('1970-01-01T00:00:00.000Z Warning a ⏎ b\n');
  });
});
