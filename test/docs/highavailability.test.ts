// Goal: the files of deploy/postgres, which add a standby and a pooler, fit each other, the composed cluster and the chart.
import { spawnSync } from 'node:child_process';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { filesUnder, ROOT, read } from '../support/source.ts';

interface Service {
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, object>>;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

const FOLDER = 'deploy/postgres';
const composed = (path: string): Compose => parse(read(path), { merge: true }) as Compose;
const base = composed('compose.yaml');
const added = composed(`${FOLDER}/compose.yaml`);
const ini = read(`${FOLDER}/pgbouncer.ini`);
const setting = (name: string): string => new RegExp(`^${name} = (.*)$`, 'm').exec(ini)?.[1] ?? '';
/** The variables that the header of a file names. */
const variables = (path: string): string[] => [
  ...new Set(read(`${FOLDER}/${path}`).match(/\b(PATRONI|DATABASE)_[A-Z0-9_]+/g)),
];
const server = added.services['postgres-a']?.environment ?? {};

describe('the composed standby', () => {
  test('refers to services, volumes and files that exist', () => {
    const services = { ...base.services, ...added.services };
    for (const { volumes = [], depends_on: after = {}, build, command = [] } of Object.values(
      added.services,
    )) {
      for (const volume of volumes) expect(Object.keys(added.volumes)).toContain(volume.split(':')[0]);
      for (const name of Object.keys(after)) expect(Object.keys(services)).toContain(name);
      if (build !== undefined) expect(build).toBe(FOLDER);
      for (const file of command.filter((word) => /\.(yaml|cfg|sh)$/.test(word)))
        expect(filesUnder(FOLDER)).toContain(`${FOLDER}/${file}`);
    }
  });

  test('leads all shards to the pooler, which shares connections by transaction', () => {
    const shards = Object.keys(base.services).filter((name) => name.startsWith('shard-'));
    expect(shards.length).toBeGreaterThan(1);
    for (const name of shards) {
      const url = new URL(added.services[name]?.environment?.DATABASE_URL?.replace(/\$\{.*\}/, 'x') ?? '');
      expect([url.host, url.pathname, url.search]).toEqual([
        `pgbouncer:${setting('listen_port')}`,
        '/guildhall',
        '?pooler=transaction',
      ]);
    }
    expect(setting('pool_mode')).toBe('transaction');
    expect(ini).toMatch(/^guildhall = host=primary port=5432$/m);
  });

  test('gives each server every variable that patroni.yaml names', () => {
    const named = variables('patroni.yaml');
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) {
      expect(Object.keys(server)).toContain(name);
      expect(read('deploy/helm/guildhall/templates/postgres.yaml')).toContain(`name: ${name}`);
      expect(read('docs/how-to/high-availability.md')).toContain(`${name}=`);
    }
    const { a, b } = { a: server, b: added.services['postgres-b']?.environment ?? {} };
    expect(Object.keys(a).filter((name) => a[name] !== b[name])).toEqual([
      ...['PATRONI_NAME', 'PATRONI_RESTAPI_CONNECT_ADDRESS', 'PATRONI_POSTGRESQL_CONNECT_ADDRESS'],
    ]);
  });

  test('has an image without a fault that dockerfile-utils knows, which contains the files', () => {
    const dockerfile = read(`${FOLDER}/Dockerfile`);
    expect(validate(dockerfile).map(({ message }) => message)).toEqual([]);
    const copied = /^COPY --chmod=0644 (.+) \/etc\/guildhall\/$/m.exec(dockerfile)?.[1]?.split(' ') ?? [];
    const files = filesUnder(FOLDER).map((path) => path.slice(FOLDER.length + 1));
    expect(copied.toSorted()).toEqual(
      files.filter((name) => !['Dockerfile', 'compose.yaml'].includes(name)).toSorted(),
    );
  });
});

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;
if (!hasHaproxy) console.log('Left out: haproxy is not installed.');

describe.skipIf(!hasHaproxy)('deploy/postgres/haproxy.cfg', () => {
  test('is a valid configuration', () => {
    const env = {
      ...process.env,
      BIND: '127.0.0.1:5432',
      A: 'a:5432',
      B: 'b:5432',
      A_CHECK: '1',
      B_CHECK: '2',
    };
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', `${FOLDER}/haproxy.cfg`], {
      ...{ cwd: ROOT, env, encoding: 'utf8' },
    });
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  });
});
