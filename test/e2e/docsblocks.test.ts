// Goal: the commands and programs of tutorials and how-tos run as printed, in the order of the page, and print what the page shows;
// docs/reference/metrics.md lists the metrics of a running server.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve as resolvePath } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, COMMAND_PAGES, type DocsBlock, GUIDES } from '../support/docsblocks.ts';
import { ADVICE, code, isPage, table } from '../support/referencepage.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

const OUTPUT_TIMEOUT_MS = 90_000;
/** Programs that a page needs and not every machine has. */
const NEEDS: Readonly<Record<string, { readonly probe: readonly string[]; readonly what: string }>> = {
  'docs/how-to/python.md': {
    probe: ['/usr/bin/python3', '-c', 'import discord'],
    what: "discord.py (Debian's python3-discord)",
  },
  'docs/how-to/java.md': { probe: ['javac', '-version'], what: 'a JDK' },
  'docs/how-to/c.md': { probe: ['cc', '--version'], what: 'a C compiler' },
};
/** Commands that are skipped, because the server of this test runs already. */
const STARTS_A_SERVER = /^(npm start|npx guildhall dev)\b/;

/** `npx guildhall` runs the built program. `npm` installs nothing: the folder of the blocks links to the packages, `guildhall` too. */
const SHIMS = {
  guildhall: `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/cli.js')}' "$@"\n`,
  npx: `#!/bin/sh\n[ "$1" = guildhall ] || exit 9\nshift\nexec '${process.execPath}' '${join(ROOT, 'dist/cli.js')}' "$@"\n`,
  npm: '#!/bin/sh\ncase "$1" in init | install | pack) exit 0 ;; *) exit 9 ;; esac\n',
};

let server: TestServer;
let folder: string;
let children: ChildProcess[] = [];

beforeAll(async () => {
  server = await startServer({ relayed: false });
  folder = await mkdtemp(join(tmpdir(), 'guildhall-blocks-'));
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== 'guildhall') await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  await symlink(ROOT, join(modules, 'guildhall'));
  await mkdir(join(folder, 'bin'));
  for (const [name, text] of Object.entries(SHIMS)) {
    await writeFile(join(folder, 'bin', name), text);
    await chmod(join(folder, 'bin', name), 0o755);
  }
});
afterEach(() => {
  for (const { pid } of children) {
    try {
      // The shell and what it started.
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
  children = [];
});
afterAll(async () => {
  await server?.finish();
  await rm(folder, { recursive: true });
});

/** Replaces the placeholders and addresses of a page with those of this server. */
function filled(text: string): string {
  const { cdn, gateway, admin, bot, users, player, application, guild } = server.info;
  const values: Readonly<Record<string, string>> = {
    'http://127.0.0.1:3000': cdn,
    'ws://127.0.0.1:3000': gateway,
    '127.0.0.1 3000': new URL(cdn).host.replace(':', ' '),
    '<bot token>': bot.token,
    '<user token>': users[0]!.token,
    // Its token is rotated by a page.
    '<user id>': users[1]!.id,
    '<player token>': player.token,
    '<admin token>': admin.token,
    '<application id>': application.id,
    '<guild id>': guild.id,
    '<channel id>': guild.text_channel_id,
  };
  return Object.entries(values).reduce((so, [from, to]) => so.replaceAll(from, to), text);
}

/** Writes the output of each page to a folder that CI keeps; tokens in it are of a server that has ended. */
async function keep(page: string, transcript: string): Promise<void> {
  const { GUILDHALL_ARTIFACTS: kept } = process.env;
  if (kept === undefined) return;
  const place = resolvePath(ROOT, kept, 'howto');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, `${page.replaceAll('/', '-')}.txt`), transcript);
}

/** Runs a block. @returns what it printed when it exits with 0, or earlier when it has printed all lines that the page shows. */
function ran(block: DocsBlock, expected: readonly string[], cwd: string): Promise<string> {
  const env = {
    ...process.env,
    GUILDHALL_ADMIN_URL: server.info.admin.url,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  };
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', filled(block.text)], { cwd, env, detached: true });
  children.push(shell);
  return new Promise((resolve, reject) => {
    let said = '';
    const hasAll = () => {
      const found = expected.reduce((at, line) => (at < 0 ? at : said.indexOf(line, at)), 0);
      return found >= 0;
    };
    const timer = setTimeout(
      () => reject(new Error(`${block.text} printed in time only: ${said}`)),
      OUTPUT_TIMEOUT_MS,
    );
    for (const stream of [shell.stdout, shell.stderr])
      stream.on('data', (data) => {
        said += data;
        if (expected.length > 0 && hasAll()) resolve(said);
      });
    shell.once('close', (code) => {
      clearTimeout(timer);
      if (code === 0 && hasAll()) resolve(said);
      else reject(new Error(`${block.text} ended with ${code} after: ${said}`));
    });
  });
}

const lacking = (page: string): string | null => {
  const need = NEEDS[page];
  if (need === undefined) return null;
  const [program = '', ...args] = need.probe;
  return spawnSync(program, args).status === 0 ? null : `${need.what} is not installed`;
};

describe('the runner', () => {
  const pages = [...GUIDES, ...COMMAND_PAGES].filter((page) =>
    blocksOf(page).some(({ language, reason }) => language === 'sh' && reason === null),
  );

  test('finds commands in more than eight guides', () => {
    expect(pages.length).toBeGreaterThan(8);
  });

  test.each(pages)('runs the blocks of %s', async (page) => {
    const why = lacking(page);
    if (why !== null) {
      console.log(`Left out: ${page}: ${why}.`);
      return;
    }
    const cwd = join(folder, page.replaceAll(/\W/g, '-'));
    await mkdir(cwd, { recursive: true });
    const blocks = blocksOf(page);
    for (const { file, text, reason } of blocks)
      if (file !== null && reason === null) await writeFile(join(cwd, file), filled(text));
    let transcript = '';
    for (const [at, block] of blocks.entries()) {
      if (block.language !== 'sh' || block.reason !== null || STARTS_A_SERVER.test(block.text)) continue;
      // A tutorial's own folder is not entered: its files are saved in `cwd`.
      const text = block.text.replaceAll(/^mkdir -p (\S+) && cd \1$/gm, 'true');
      const next = blocks[at + 1];
      const expected =
        next?.language === 'text'
          ? next.text
              .trim()
              .split(/\n|…/)
              .filter((part) => part.trim() !== '')
          : [];
      transcript += `$ ${text.trimEnd()}\n${await ran({ ...block, text }, expected, cwd)}\n`;
    }
    await keep(page, transcript);
  });
});

test('metrics.md has every metric of a server of one process', async () => {
  const text = await (await fetch(`${server.info.admin.url}/metrics`)).text();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const rows = [...text.matchAll(/^# HELP (guildhall_\S+) (.*)$/gm)]
    .map(([, name = '', help = '']) => [code(name), types.get(name) ?? '', help.replaceAll('|', '\\|')])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
  expect(rows.length).toBeGreaterThan(30);
  await isPage('metrics', [
    ...['# Metrics', ''],
    'What `/metrics` of the admin port serves, besides metrics of Node and its process. [Monitor](../monitoring.md) has alerts and a dashboard, and',
    ...['[operations](../operations.md) the metrics of a cluster.', '', ADVICE, ''],
    ...table(['name', 'type', 'meaning'], rows),
  ]);
});
