// Goal: the package as it is published has types that resolve everywhere, that take right programs and refuse wrong ones.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PackedPackage, packPackage, runCommand as run } from '../support/packed.ts';
import { ROOT } from '../support/root.ts';
import { startServer } from '../support/server.ts';

let packed: PackedPackage;
let folder: string;

beforeAll(async () => {
  packed = await packPackage();
  ({ folder } = packed);
});
afterAll(() => packed.remove());

const PROGRAMS = ['page.ts', 'right.ts', 'wrong.ts'];

/** The compiler's errors in the programs of the folder, one text for each. */
async function compiled([module, moduleResolution]: (typeof RESOLUTIONS)[number]): Promise<string[]> {
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--types', 'node'];
  const how = ['--module', module, '--moduleResolution', moduleResolution];
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { text } = await run(process.execPath, [tsc, ...flags, ...how, ...PROGRAMS], folder);
  return text.split(/\n(?=\S)/).filter((each) => each.trim() !== '');
}

const RESOLUTIONS = [
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const;

/** The blocks of docs/embedding.md, which are one program. */
const page = async (): Promise<string> =>
  [...(await readFile(join(ROOT, 'docs/embedding.md'), 'utf8')).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
    .map(([, code]) => code)
    .join('\n');

/** The caller and the channel of a message. */
const TO = "as: '2', params: { channel_id: '1' }";

const RIGHT = `
import type { ApiAnswer, ApiCall, DispatchPayloads, Engine, Message } from 'guildhall';
import { OP } from 'guildhall/protocol';
import { Client } from 'guildhall/sdk';
import { createTestEngine } from 'guildhall/testing';
declare const engine: Engine;
const call: ApiCall<'list_messages'> = { params: { channel_id: '1' }, query: { limit: 5 } };
const listed: ApiAnswer<'list_messages'> = await engine.api.list_messages(call, { as: '1' });
const first: Message | undefined = listed[0];
const nothing: undefined = await engine.api.deleteMessage({ as: '2', params: { channel_id: '1', message_id: '2' } });
await engine.api.login({ body: { login: 'a', password: 'b' } }, { as: null });
const lobby = await engine.api.createOpenLobby({ as: '2', body: { game: 'arena', max_members: 4 } });
engine.before('create_guild', ({ body }) => { console.log(body.name); });
engine.after('create_message', async (_call, { status }) => { console.log(status); });
engine.before('delete_guild', () => ({ refuse: { status: 403, code: 50013, message: 'It stays.' } }));
engine.on('LOBBY_MEMBER_ADD', ({ member, lobby_id }) => console.log(member.user.username, lobby_id));
const host: DispatchPayloads['GUILDHALL_LOBBY_HOST'] | null = null;
console.log(OP.HELLO, Client, createTestEngine, lobby.host_id, first, nothing, host);
`;

describe('the types', () => {
  const WRONG = [
    ['a misspelt operation', 'engine.api.createMesage', "Did you mean 'createMessage'?"],
    ['a misspelt operationId', 'engine.api.create_mesage', "Did you mean 'create_message'?"],
    ['no parameters', "engine.api.createMessage({ as: '2', body: {} })", "'params' is missing"],
    [
      'an unknown parameter',
      "engine.api.getGuild({ as: '2', params: { guild: '1' } })",
      "'guild' does not exist",
    ],
    [
      'an unknown field',
      `engine.api.createMessage({ ${TO}, body: { contents: '' } })`,
      "'contents' does not exist",
    ],
    [
      'a field of another type',
      `engine.api.createMessage({ ${TO}, body: { content: 5 } })`,
      "not assignable to type 'string'",
    ],
    [
      'a query of another type',
      `engine.api.listMessages({ ${TO}, query: { limit: 'all' } })`,
      "not assignable to type 'number'",
    ],
    [
      'a missing field',
      `engine.api.createGuildChannel({ as: '2', params: { guild_id: '1' }, body: {} })`,
      "'name' is missing",
    ],
    ['no caller', "engine.api.getGuild({ params: { guild_id: '1' } })", "'as' is missing"],
    [
      'nobody as the caller',
      "engine.api.getGuild({ as: null, params: { guild_id: '1' } })",
      "'null' is not assignable",
    ],
    [
      'an unknown field of an answer',
      `engine.api.createMessage({ ${TO} }).then(({ contents }) => contents)`,
      "'contents' does not exist",
    ],
    [
      'a hook of a misspelt operation',
      "engine.before('create_mesage', () => undefined)",
      'not assignable to parameter',
    ],
    [
      'a hook that reads an unknown field',
      "engine.before('create_message', ({ body }) => void body.contents)",
      "'contents' does not exist",
    ],
    [
      'a hook that returns a wrong body',
      "engine.before('create_message', () => ({ body: { tts: 'yes' } }))",
      'not assignable',
    ],
    [
      'a hook that reads another parameter',
      "engine.after('create_message', ({ params }) => void params.guild_id)",
      "'guild_id' does not exist",
    ],
    ['a misspelt dispatch', "engine.on('MESAGE_CREATE', () => {})", 'not assignable to parameter'],
    [
      'an unknown field of a dispatch',
      "engine.on('MESSAGE_CREATE', ({ contents }) => contents)",
      "'contents' does not exist",
    ],
    [
      'a message for a channel',
      `engine.calls.list().then(() => takes((null as never as Message).id))`,
      'not assignable',
    ],
  ] as const;
  /** By the name of a resolution: one run of the compiler takes seconds, so it reads all programs. */
  const objections = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const head =
      "import type { ChannelId, Engine, Message } from 'guildhall'; declare const engine: Engine; declare function takes(id: ChannelId): void;";
    await writeFile(join(folder, 'page.ts'), await page());
    await writeFile(join(folder, 'right.ts'), RIGHT);
    await writeFile(join(folder, 'wrong.ts'), [head, ...WRONG.map(([, code]) => `${code};`)].join('\n'));
    for (const resolution of RESOLUTIONS) objections.set(resolution[0], await compiled(resolution));
  });

  test.each(RESOLUTIONS)('take right programs, that of docs/embedding.md too, with %s and %s', (module) => {
    const found = objections.get(module) ?? [];
    expect(found.filter((each) => !each.startsWith('wrong.ts('))).toEqual([]);
    // The compiler has read the package.
    expect(found).not.toEqual([]);
  });

  describe.each(RESOLUTIONS)('with %s and %s', (module) => {
    test.each(WRONG)('refuse %s', (_what, code, said) => {
      const line = WRONG.findIndex(([, each]) => each === code) + 2;
      const found = (objections.get(module) ?? []).filter((each) => each.startsWith(`wrong.ts(${line},`));
      expect(found.join('\n')).toContain(said);
    });
  });
});

test('the program of docs/embedding.md does what the page says', async () => {
  await writeFile(join(folder, 'page.mjs'), await page());
  const { code, text } = await run(process.execPath, ['page.mjs'], folder);
  expect(text.trim().split('\n')).toEqual([
    'keeper: Light ahead',
    'refused: 50006',
    'true A little to right',
  ]);
  expect(code).toBe(0);
});

/** Problems that arethetypeswrong finds in a package of ES modules only: that it does not resolve as CommonJS is intended. */
async function wrongTypes(tarball: string): Promise<readonly object[]> {
  const data = new Uint8Array(await readFile(tarball));
  const result = await checkPackage(createPackageFromTarballData(data));
  if (!result.types) throw new Error('The package has no types.');
  return result.problems.filter(
    (problem) =>
      !('resolutionKind' in problem && /^node10$|^node16-cjs$/.test(problem.resolutionKind)) &&
      problem.kind !== 'CJSResolvesToESM',
  );
}

/** Packs the package of a folder. @returns the tarball. */
async function tarballOf(of: string): Promise<string> {
  const { text } = await run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', folder, of],
    folder,
  );
  const [{ filename }] = JSON.parse(text.slice(text.indexOf('['))) as [{ readonly filename: string }];
  return join(folder, filename);
}

describe('the package', () => {
  test('has no problem that publint knows', async () => {
    const pkgDir = join(folder, 'package');
    const { messages, pkg } = await publint({ pkgDir, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test('has no wrong types for programs of ES modules', async () => {
    expect(await wrongTypes(packed.tarball)).toEqual([]);
    const { exports: entries } = JSON.parse(await readFile(join(folder, 'package/package.json'), 'utf8'));
    expect(Object.keys(entries).toSorted()).toEqual([
      ...['.', './activities', './asyncapi.json', './openapi.json', './package.json', './protocol'],
      ...['./sdk', './sdk.js', './testing'],
    ]);
  });

  test('has the client library as a script of less than 60 KB compressed, calls included', async () => {
    const script = await readFile(join(folder, 'package/dist/sdk.js'));
    const kilobytes = [gzipSync(script), brotliCompressSync(script)].map(({ length }) => length / 1_000);
    expect(Math.max(...kilobytes)).toBeLessThan(60);
  });

  test('has the documentation, the changelog and the templates', async () => {
    const files = ['docs/index.md', 'CHANGELOG.md', 'NOTICE', 'templates/game/game.js', 'dist/openapi.json'];
    for (const file of files)
      expect((await readFile(join(folder, 'package', file), 'utf8')).length).toBeGreaterThan(100);
  });
});

/** Most megabytes of what the Dockerfile copies onto Node's own image. */
const IMAGE_MEGABYTES_MAX = 130;
const COPIED = ['package.json', 'bench/payloads', 'dist', 'docs', 'templates'];

describe('the tree of the container image', () => {
  let tree: string;
  beforeAll(async () => {
    tree = join(folder, 'image');
    const list = ['ls', '--omit=dev', '--workspaces=false', '--parseable', '--all'];
    const { text } = await run('npm', list, ROOT);
    const modules = text.split('\n').filter((path) => path.startsWith(join(ROOT, 'node_modules')));
    for (const path of [...modules, ...COPIED.map((name) => join(ROOT, name))]) {
      const target = join(tree, relative(ROOT, path));
      await mkdir(dirname(target), { recursive: true });
      // Links of files, so that nothing is copied; the script removes links.
      await run('cp', ['-al', path, dirname(target)], ROOT);
    }
    // Only tests make it.
    await rm(join(tree, 'dist/simulation'), { recursive: true, force: true });
    const pruned = await run(
      process.execPath,
      [join(ROOT, 'scripts/prune.mjs'), 'node_modules', 'dist'],
      tree,
    );
    if (pruned.code !== 0) throw new Error(pruned.text);
  });

  test(`has less than ${IMAGE_MEGABYTES_MAX} MB`, async () => {
    const { text } = await run('du', ['-sm', tree], ROOT);
    expect(Number.parseInt(text, 10)).toBeGreaterThan(20);
    expect(Number.parseInt(text, 10)).toBeLessThan(IMAGE_MEGABYTES_MAX);
  });

  test('has native parts for this machine alone, and no types of packages', async () => {
    const { text } = await run('find', ['node_modules', '-name', '*.node', '-o', '-name', '*.d.ts'], tree);
    const found = text.split('\n').filter((line) => line !== '');
    expect(found.filter((file) => file.endsWith('.d.ts'))).toEqual([]);
    for (const name of ['uWebSockets.js', 'sodium-native'])
      expect(found.filter((file) => file.startsWith(`node_modules/${name}/`))).toHaveLength(1);
  });

  test('serves a database, calls and the API', async () => {
    const child = spawn(process.execPath, ['dist/cli.js', 'dev', '--json', '--port', '0'], {
      ...{ cwd: tree, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    try {
      const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
      const { api, voice } = JSON.parse(line) as { api: string; voice: object | null };
      expect(voice).not.toBeNull();
      expect((await fetch(`${api}/v10/gateway`)).status).toBe(200);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('the packages for clients', () => {
  let clients: string;
  let tarballs: Readonly<Record<'protocol' | 'sdk', string>>;
  beforeAll(async () => {
    clients = join(folder, 'clients');
    await mkdir(clients, { recursive: true });
    const workspaces = ['-w', '@guildhall/protocol', '-w', '@guildhall/sdk'];
    const packing = await run('npm', ['pack', ...workspaces, '--pack-destination', clients], ROOT);
    const all = (await readdir(clients)).map((name) => join(clients, name));
    const of = (name: string) => all.find((path) => path.includes(`guildhall-${name}-`)) ?? '';
    if (!of('sdk') || !of('protocol')) throw new Error(packing.text);
    tarballs = { protocol: of('protocol'), sdk: of('sdk') };
    for (const name of ['protocol', 'sdk'] as const) {
      await mkdir(join(clients, name));
      await run('tar', ['xzf', tarballs[name], '--strip-components=1'], join(clients, name));
    }
  });

  test('contain no built files after npm pack has packed them', () => {
    for (const name of ['protocol', 'sdk'])
      for (const made of ['dist', 'README.md', 'LICENSE', 'NOTICE', 'CHANGELOG.md'])
        expect(existsSync(join(ROOT, name, made)), `${name}/${made}`).toBe(false);
  });

  test.each(['protocol', 'sdk'])(
    '@guildhall/%s has its documentation, changelog and licence',
    async (name) => {
      for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE', 'NOTICE'])
        expect((await readFile(join(clients, name, file), 'utf8')).length).toBeGreaterThan(100);
    },
  );

  test.each([
    ['protocol', []],
    ['sdk', ['ws', 'xstate']],
  ])('@guildhall/%s has no problem that publint knows, and needs only %j', async (name, needed) => {
    const pkgDir = join(clients, name);
    const { messages, pkg } = await publint({ pkgDir, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
    const { dependencies = {} } = JSON.parse(await readFile(join(pkgDir, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies).toSorted()).toEqual(needed);
  });

  test.each(['protocol', 'sdk'] as const)(
    '@guildhall/%s has no wrong types for programs of ES modules',
    async (name) => {
      expect(await wrongTypes(tarballs[name])).toEqual([]);
    },
  );

  test('are installed from their tarballs into an empty folder, and meet a server', async () => {
    const alone = join(folder, 'alone');
    await mkdir(alone, { recursive: true });
    await writeFile(join(alone, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    // The dependencies are packed here too, so that no request goes to a registry.
    const needed = ['ws', 'xstate'].map((name) => tarballOf(join(ROOT, 'node_modules', name)));
    const all = [...(await Promise.all(needed)), ...Object.values(tarballs)];
    const install = ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', ...all];
    const installed = await run('npm', install, alone);
    expect(installed.code, installed.text).toBe(0);
    await writeFile(
      join(alone, 'game.mjs'),
      `import { OP } from '@guildhall/protocol';
       import { AuthorizationTokenType, Client } from '@guildhall/sdk';
       const [apiBase, token] = process.argv.slice(2);
       const client = new Client({ apiBase });
       await client.updateToken(AuthorizationTokenType.Bearer, token);
       await client.connect();
       const lobbyId = await client.createOrJoinLobby('a secret');
       const sent = new Promise((resolve) => client.setMessageCreatedCallback(resolve));
       await client.sendLobbyMessage(lobbyId, 'from a tarball');
       console.log(OP.HELLO, client.getMessageHandle(await sent).content);
       client.destroy();`,
    );
    const server = await startServer({ relayed: false });
    const { api, player } = server.info;
    const ran = await run(process.execPath, ['game.mjs', api, player.token], alone);
    await server.finish();
    expect(ran).toEqual({ code: 0, text: '10 from a tarball\n' });
  });
});
