// Goal: every command does its one thing, says what to do next, and explains itself when it cannot.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settingsPage } from '../../cli/settings.page.ts';
import { DEFAULTS } from '../../config/config.ts';
import { USERNAME_TAKEN } from '../../engine/user/usernames.ts';
import { ApiError } from '../../protocol/apierror.ts';
import { ROOT } from '../support/source.ts';
import { fakeEngine, type Ran, run } from './arrange.ts';

/** Runs a command against a running `dev` server. */
async function against(
  argv: readonly string[],
  given: Record<string, string> = {},
): Promise<Ran & { readonly asked: readonly unknown[] }> {
  let ran: Ran | undefined;
  const { engines } = await run(['dev', '--json', '--port', '0'], {
    whileRunning: async ([line]) => {
      const { admin } = JSON.parse(line!);
      const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token, ...given };
      ran = await run(argv, { env });
    },
  });
  return { ...ran!, asked: engines[0]!.asked };
}

describe('descriptions', () => {
  test('openapi prints the HTTP API of the server at a URL', async () => {
    const { exitCode, out } = await run(['openapi', '--json', '--url', 'https://chat.example/']);
    const document = JSON.parse(out.join('\n'));
    expect(exitCode).toBe(0);
    expect(document.servers).toEqual([{ url: 'https://chat.example/api/v10' }]);
    expect(document.paths['/channels/{channel_id}/messages'].post.operationId).toBe('create_message');
  });

  test('asyncapi prints the gateways of the server at a URL', async () => {
    const { exitCode, out } = await run(['asyncapi', '--json', '--url', 'https://chat.example']);
    const { servers } = JSON.parse(out.join('\n'));
    expect([exitCode, servers.gateway]).toEqual([
      0,
      { host: 'chat.example', protocol: 'wss', pathname: '/' },
    ]);
  });
});

describe('records', () => {
  /** A window title, a red C1 sequence, a direction override and a second line. */
  const STEERING = '\u001b]0;x\u0007\u009b31m\u202eharbour\n1 Forged';
  const steers = (lines: readonly string[]) => /[\p{Cc}\u202e]/u.test(lines.join(''));

  test('names of a server do not steer the terminal, and JSON keeps their characters', async () => {
    const lists: (readonly string[])[] = [];
    await run(['dev', '--json', '--port', '0'], {
      whileRunning: async ([line]) => {
        const { admin } = JSON.parse(line!);
        const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token };
        await run(['guild', 'create', STEERING, '--owner', '7'], { env });
        for (const more of [[], ['--json']]) lists.push((await run(['guild', 'list', ...more], { env })).out);
      },
    });
    const [lines, json] = lists as [readonly string[], readonly string[]];
    expect(lists.map(steers)).toEqual([false, false]);
    const named = lines.filter((line) => line.includes('harbour'));
    expect(named).toEqual([expect.stringContaining('31m\ufffdharbour\ufffd1 Forged')]);
    const guilds: { readonly name: string }[] = JSON.parse(json[0]!).guilds;
    expect(guilds.map(({ name }) => name)).toContain(STEERING);
  });

  test('the message of an error does not steer the terminal', async () => {
    const { err } = await against(['user', 'show', STEERING]);
    expect(err).toHaveLength(1);
    expect(steers(err[0]!.split('\n'))).toBe(false);
    expect(err[0]).toContain('harbour');
  });

  test('a guild is deleted only with --yes, and the command lists the data that would be lost', async () => {
    const { exitCode, err, asked } = await against(['guild', 'delete', '1003']);
    expect([exitCode, asked.filter((each) => Array.isArray(each) && each[0] === 'deleteGuild')]).toEqual([
      1,
      [],
    ]);
    expect(err.join('\n')).toContain('guild Harbour (1003) with 1 channels and 3 members');
  });

  test.each([
    [['app', 'create', 'Beacon'], 'token-of-Beacon'],
    [['bot', 'create', 'Beacon', '--guild', '1003'], 'guildhall connect'],
    [['app', 'list'], 'That is all'],
    [['app', 'oauth2', '9', '--redirect', 'http://127.0.0.1/callback', '--public'], 'public: does without'],
    [['user', 'create', 'ash', '--display', 'Ash'], 'token-of-ash'],
    [['user', 'list'], 'juniper'],
    [['user', 'create', 'ash', '--email', 'ash@example.org'], 'A letter to ash@example.org'],
    [['user', 'password', '7'], 'made-for-7'],
    [['user', 'ban', '7'], 'for good'],
    [['user', 'ban', '7', '--until', '2030-01-31'], 'until 2030-01-31T00:00:00.000Z'],
    [['user', 'unban', '7'], 'may come again'],
    [['app', 'identity-provider', 'set', '9', 'apple', '--client-id', 'game'], 'prove themselves with APPLE'],
    [['app', 'identity-provider', 'remove', '9', 'apple'], 'no longer'],
    [['app', 'link-child', '9', '8'], 'a child of 8'],
    [['app', 'show', '9'], 'commands      2 global'],
    [['app', 'show', '9'], 'turned off by the server: https://beacon.example/events'],
    [['user', 'show', '7'], 'guilds   1003'],
    [['user', 'show', 'juniper'], 'guilds   1003'],
    [['guild', 'show', '1003'], '502  text           general'],
    [['app', 'owner', '9', '7'], 'belongs to 7'],
    [['team', 'create', 'Crew', '--owner', '7'], 'Team Crew (900)'],
    [['team', 'list'], '900  1  Crew'],
    [['team', 'show', '900'], '9  Beacon'],
    [['team', 'member', '900', '8'], '8  developer'],
    [['team', 'member', '900', '8', '--role', 'admin', '--invited'], '8  admin, invited'],
    [['team', 'remove', '900', '8'], '7  owner'],
    [['team', 'adopt', '900', '9'], 'belongs to team 900'],
    [['team', 'delete', '900'], 'Deleted team 900'],
    [['guild', 'delete', '1003', '--yes'], 'Deleted guild Harbour'],
    [['guild', 'create', 'Harbour', '--owner', '7'], 'guildhall guild add'],
    [['guild', 'add', '1003', '7', '--permissions', '8'], 'is a member of'],
    [['guild', 'list', '--limit', '1'], 'guild list --after'],
    [['token', 'rotate', '7'], 'token-rotated'],
    [['token', 'revoke', '7'], 'has no token any more'],
  ])('%j prints "%s" and the next step', async (argv, expected) => {
    const { exitCode, out, err } = await against(argv);
    expect(err).toEqual([]);
    expect(exitCode).toBe(0);
    expect(out.join('\n')).toContain(expected);
    expect(out.at(-1)).toContain('Next: ');
    const json = await against([...argv, '--json']);
    expect(json.out).toHaveLength(1);
    expect(JSON.parse(json.out[0]!)).toBeTypeOf('object');
  });

  test.each([
    [['drain', 'shard-9'], 'guildhall cluster status'],
    [['guild', 'add', 'no-id', '7'], 'guildhall guild list'],
  ])('%j prints the advice "%s" for an unknown id', async (argv, advice) => {
    const { exitCode, err } = await against(argv);
    expect(exitCode).toBe(1);
    expect(err.join('\n')).toContain(advice);
    expect(err.join('\n').includes('user list')).toBe(!advice.includes('cluster'));
  });

  test('guild list shows names beside ids, also as JSON', async () => {
    const { out } = await against(['guild', 'list']);
    expect(out[0]).toMatch(/^\d+ {2}\S.*$/);
    const [line] = (await against(['guild', 'list', '--json'])).out;
    const [first] = JSON.parse(line!).guilds;
    expect(out[0]).toBe(`${first.id}  ${first.name}`);
  });

  const OIDC = ['--issuer', 'https://id.example.org', '--client-id', 'game'];
  test.each<[string[], unknown]>([
    [
      ['user', 'ban', '7'],
      ['banUser', '7', null],
    ],
    [
      ['user', 'ban', '7', '--until', '2030-01-31T18:00:00Z'],
      ['banUser', '7', Date.UTC(2030, 0, 31, 18)],
    ],
    [
      ['app', 'identity-provider', 'set', '9', 'oidc', ...OIDC],
      ['configureIdentityProvider', '9', { type: 'OIDC', issuer: OIDC[1], clientId: 'game' }],
    ],
    [
      ['app', 'identity-provider', 'set', '9', 'steam', '--app-id', '480', '--issuer', 'not of this kind'],
      ['configureIdentityProvider', '9', { type: 'STEAM', appId: '480', webApiKey: 'a key' }],
    ],
    [
      ['app', 'identity-provider', 'remove', '9', 'epic'],
      ['removeIdentityProvider', '9', 'EPIC_ONLINE_SERVICES'],
    ],
    [
      ['app', 'link-child', '9', '8'],
      ['linkChildApplication', { childId: '9', parentId: '8' }],
    ],
  ])('%j sends its request to the engine', async (argv, expected) => {
    const { asked, out } = await against(argv, { GUILDHALL_WEB_API_KEY: 'a key' });
    expect(asked.at(-1)).toEqual(expected);
    expect(out.join()).not.toContain('a key');
  });

  test('prints the missing settings of a provider, and sends no request', async () => {
    const { exitCode, err, asked } = await against(['app', 'identity-provider', 'set', '9', 'steam']);
    expect(exitCode).toBe(1);
    expect(err.join()).toContain('Give --app-id and GUILDHALL_WEB_API_KEY in the environment.');
    expect(JSON.stringify(asked)).not.toContain('IdentityProvider');
  });

  test('prints where to find an admin token when it has none', async () => {
    const { exitCode, err } = await run(['user', 'list']);
    expect(exitCode).toBe(1);
    expect(err.join()).toContain('GUILDHALL_ADMIN_TOKEN');
  });

  test('prints how to start a server when none runs', async () => {
    const { exitCode, err } = await run([
      'user',
      'list',
      '--admin-token',
      'x',
      '--admin-url',
      'http://127.0.0.1:9',
    ]);
    expect(exitCode).toBe(1);
    expect(err.join()).toMatch(/No server answers at http:\/\/127\.0\.0\.1:9: .+guildhall dev/s);
  });

  test('prints the error of the server for a wrong token and for wrong arguments', async () => {
    const wrongToken = await against(['user', 'list', '--admin-token', 'guess']);
    expect(wrongToken.err.join()).toContain('The server refused: Send "Authorization');
    const wrongId = await against(['token', 'rotate', 'juniper']);
    expect(wrongId.exitCode).toBe(1);
    expect(wrongId.err.join()).toContain('user_id');
  });
});

test('a taken name is refused with the field and the reason', async () => {
  const taken = fakeEngine({});
  let ran: Ran | undefined;
  await run(['dev', '--json', '--port', '0'], {
    engine: () => taken,
    whileRunning: async ([line]) => {
      Object.assign(taken.engine.admin, { createUser: () => Promise.reject(new ApiError(USERNAME_TAKEN)) });
      const { admin } = JSON.parse(line!);
      const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token };
      ran = await run(['user', 'create', 'juniper'], { env });
    },
  });
  expect(ran!.exitCode).toBe(1);
  expect(ran!.err.join()).toContain('The server refused: username: This name is taken. Try another.');
});

describe('config', () => {
  test('print shows effective settings and masks secrets', async () => {
    const env = { GUILDHALL_ADMIN_TOKEN: 'a-token-that-nobody-sees', GUILDHALL_LISTEN_PORT: '81' };
    const { out } = await run(['config', 'print'], { env });
    expect(out).toContain('listen_port: 81');
    expect(out.join()).not.toContain('nobody-sees');
    const json = JSON.parse((await run(['config', 'print', '--json'])).out[0]!);
    expect(json).toEqual(DEFAULTS);
  });

  test('schema prints a JSON Schema without additional keys', async () => {
    const schema = JSON.parse((await run(['config', 'schema'])).out.join('\n'));
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties)).toEqual(Object.keys(DEFAULTS));
  });

  test('page prints the content of docs/configuration.md', async () => {
    expect(readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')).toBe(settingsPage());
    const { out } = await run(['config', 'page']);
    expect(`${out.join('\n')}\n`).toBe(settingsPage());
  });
});

describe('the program', () => {
  test('prints its version', async () => {
    expect(await run(['--version'])).toMatchObject({ exitCode: 0, out: ['0.0.1'] });
  });

  test.each([
    [['strat'], 'Did you mean start?'],
    [['dev', '--prot', '1'], 'Did you mean --port?'],
    [['guild', 'create', 'Harbour'], '--owner'],
    [['user', 'ban', '7', '--until', 'tomorrow'], '2030-01-31'],
    [['app', 'identity-provider', 'set', '9', 'nobody'], 'playstation'],
    [['connect', 'nothing.js'], 'discord.js'],
  ])('%j is rejected with "%s"', async (argv, expected) => {
    const { exitCode, err } = await run(argv);
    expect(exitCode).toBe(2);
    expect(err.join('\n')).toContain(expected);
  });
});
