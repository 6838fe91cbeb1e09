// Goal: a server that receives a stop signal during its start ends in good order, at any step, and its data stays
// usable.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../support/source.ts';

const CLI = join(ROOT, 'dist/cli.js');
const PORTS = ['listen_port', 'admin_port', 'voice_port', 'voice_udp_port', 'voice_webrtc_port'];
const FREE = PORTS.flatMap((key) => ['--set', `${key}=0`]);
/** The variable that says at which module the process is sent which signal. */
const AT = 'STOPPING_TEST_AT';

/** Sends the process its signal in the moment in which it asks for a module, so that no test depends on how long a start takes. */
const HOOK = `
let isSent = false;
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const [part, signal] = process.env.${AT}.split(' ');
  if (!isSent && found.url.includes(part)) {
    isSent = true;
    process.kill(process.pid, signal);
  }
  return found;
}`;

let folder: string;
let preload: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-stopping-'));
  preload = join(folder, 'preload.mjs');
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`;
  await writeFile(preload, `import { register } from 'node:module';\nregister(${JSON.stringify(hook)});\n`);
});
afterAll(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true });
});

function start(argv: readonly string[], at: string | null) {
  const args = at === null ? [CLI, ...argv] : ['--import', preload, CLI, ...argv];
  const env = { ...process.env, ...(at !== null && { [AT]: at }) };
  const child = spawn(process.execPath, args, { cwd: folder, env });
  children.push(child);
  return { child, exit: once(child, 'exit'), err: text(child.stderr) };
}

/** Modules in the order in which a start loads them: the commands, the log, the engine, the database, and
 * at last, when it opens its ports, the certificate of calls. */
const STEPS = ['program/process.js', 'pino', 'program/main.js', '@electric-sql/pglite', 'pkijs'];
/** The first of them after which there is data that a later start could not use. */
const FIRST_WITH_DATA = STEPS.indexOf('@electric-sql/pglite');

test.each(
  ['start', 'dev'].flatMap((command) =>
    STEPS.map((step, index) => [command, step, index % 2 === 0 ? 'SIGTERM' : 'SIGINT'] as const),
  ),
)(
  '%s ends with 0 when it loads %s and gets %s, and leaves a folder that a server starts over',
  async (command, step, signal) => {
    const data = await mkdtemp(join(folder, 'data-'));
    const argv = [command, '--json', '--data', data, ...FREE];
    const { child, exit, err } = start(argv, `${step} ${signal}`);
    const out = text(child.stdout);
    expect(await exit).toEqual([0, null]);
    expect([await out, await err]).toEqual(['', expect.not.stringMatching(/Error|^ +at /m)]);
    const left = await readdir(data);
    expect(left).not.toContain('database.lock');
    if (STEPS.indexOf(step) < FIRST_WITH_DATA) {
      expect(left.filter((name) => name !== 'admin-token')).toEqual([]);
      return;
    }
    const again = start(argv, null);
    const [line] = await once(again.child.stdout, 'data');
    expect(JSON.parse(String(line)).api).toContain('http://127.0.0.1:');
    again.child.kill('SIGTERM');
    expect(await again.exit).toEqual([0, null]);
  },
);

test('a command that is not a server is ended by SIGTERM like any program', async () => {
  const { exit } = start(['config', 'print'], 'program/process.js SIGTERM');
  expect(await exit).toEqual([null, 'SIGTERM']);
});
