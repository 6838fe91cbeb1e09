// Goal: doctor names each thing that is wrong with machine or settings, says what to do, and fails only for real problems.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { glibcVersion, nodeVersion, portsOfConnections } from '../../cli/doctor.ts';
import { run } from './arrange.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-doctor-'));
  folders.push(folder);
  return folder;
};

interface Found {
  readonly check: string;
  readonly state: string;
  readonly found: string;
  readonly advice: string | null;
}

async function examined(...argv: string[]) {
  const cwd = await scratch();
  const { exitCode, out } = await run(['doctor', '--json', ...argv], { cwd });
  const { findings } = JSON.parse(out[0]!) as { findings: Found[] };
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { exitCode, findings, of };
}

describe('doctor', () => {
  test('reports no problem with the defaults, and prints the next command', async () => {
    const cwd = await scratch();
    const { exitCode, out } = await run(['doctor'], { cwd });
    expect(exitCode).toBe(0);
    expect(out.at(-1)).toContain('guildhall start');
    expect(out.some((line) => line.startsWith('PROBLEM'))).toBe(false);
  });

  test('prints advice only for failed checks', async () => {
    const { findings } = await examined('--set', 'public_url=http://127.0.0.1:9', '--set', 'voice=false');
    for (const { state, advice } of findings) expect(advice === null).toBe(state === 'ok');
  });

  test('fails when a public server has no secrets', async () => {
    const { exitCode, findings } = await examined('--set', 'listen_host=0.0.0.0');
    expect(exitCode).toBe(1);
    expect(
      findings
        .filter(({ state }) => state === 'problem')
        .map(({ found }) => found)
        .join(),
    ).toContain('admin_token');
  });

  test('fails when the database cannot be reached', async () => {
    const { exitCode, of } = await examined('--set', 'database_url=postgres://127.0.0.1:9/none');
    expect([exitCode, of('database')?.state]).toEqual([1, 'problem']);
  });

  test('fails when the certificate is unreadable', async () => {
    const file = join(await scratch(), 'bad.pem');
    await writeFile(file, 'not a certificate');
    const { exitCode, of } = await examined(
      '--set',
      `tls_cert_file=${file}`,
      '--set',
      `tls_key_file=${file}`,
    );
    expect([exitCode, of('certificate')?.state]).toEqual([1, 'problem']);
  });

  test('fails when the data directory lies in a file', async () => {
    const file = join(await scratch(), 'file');
    await writeFile(file, '');
    const { exitCode, of } = await examined('--data', join(file, 'data'));
    expect([exitCode, of('data')?.state]).toEqual([1, 'problem']);
  });

  test('warns when the public URL does not lead to the server', async () => {
    const { exitCode, of } = await examined('--set', 'public_url=http://127.0.0.1:9', '--set', 'voice=false');
    expect([exitCode, of('proxy')?.state]).toEqual([0, 'warning']);
  });

  test('sends a packet to the voice address of this machine', async () => {
    expect((await examined()).of('udp')?.state).toBe('ok');
  });

  test.each([
    ['18.20.0', 'problem'],
    ['20.18.1', 'problem'],
    ['20.19.0', 'ok'],
    ['23.1.0', 'warning'],
    ['24.0.0', 'ok'],
  ])('rates Node %s: %s', (version, state) => expect(nodeVersion(version).state).toBe(state));

  test.each([
    ['2.36', '20.19.0', 'ok'],
    ['2.36', '22.0.0', 'problem'],
    ['2.38', '24.0.0', 'ok'],
    [null, '20.19.0', 'warning'],
  ])('rates glibc %s under Node %s: %s', (version, node, state) =>
    expect(glibcVersion(version, node).state).toBe(state),
  );
});

describe('the check of ports that outgoing connections may take', () => {
  test.each([
    ['warns of those within the range', [3000, 32768, 60999], '32768\t60999\n', '\n', '32768, 60999'],
    ['leaves out reserved ones', [33000, 33002, 33090], '32768 60999', '33001-33005,33090', '33000'],
  ])('%s', (_what, wanted, range, reserved, named) => {
    const [warning, ...more] = portsOfConnections(wanted, range, reserved);
    expect(more).toEqual([]);
    expect(warning).toMatchObject({ check: 'ports', state: 'warning' });
    expect(warning?.found.startsWith(`${named} may`)).toBe(true);
    expect(warning?.advice).toContain(`ip_local_reserved_ports=${named.replaceAll(' ', '')}`);
  });

  test('warns of none where no port is in the range, or the system shows no range', () => {
    expect(portsOfConnections([3000, 32767, 61000], '32768 60999', null)).toEqual([]);
    expect(portsOfConnections([33000], null, null)).toEqual([]);
  });
});
