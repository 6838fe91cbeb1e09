// Goal: what the admin API says of shards is true of each of them, and the supervisor's outlives all of theirs.
import { hostname } from 'node:os';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { DEFAULTS } from '../../../config/config.ts';
import type { Admin, ClusterStatus, ShardStatus } from '../../../embedding.ts';
import type { SecurityTrail } from '../../../protocol/security.ts';
import { mergedMetrics } from '../../../transports/admin/exposition.ts';
import { openFront, type SupervisedShard } from '../../../transports/admin/front.ts';
import { type AdminServer, openAdminServer } from '../../../transports/admin/server.ts';

const TOKEN = 'the-admin-token-of-this-test';
const ANNAS = 'the-token-of-anna';
const HOST = '127.0.0.1';
const servers: AdminServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

const row = (id: string, pid: number, change: Partial<ShardStatus> = {}): ShardStatus => ({
  ...{
    id,
    pid,
    host: hostname(),
    address: '127.0.0.1:1',
    admin_url: null,
    version: '1.0.0',
    state: 'serving',
  },
  ...{
    sessions: 3,
    partitions: 4,
    epoch_lag_ms: 0,
    journal_bytes: 0,
    link_bytes: 0,
    residents: {},
    uptime_ms: 9,
  },
  ...change,
});
const status = (shards: ShardStatus[], clusterId: string | null = 'guildhall'): ClusterStatus => ({
  ...{ cluster_id: clusterId, partitions: 8, partitions_unserved: 0, shards },
});

interface ShardOptions {
  readonly status: () => ClusterStatus;
  readonly name?: string;
  readonly reasons?: Record<string, string>;
  readonly drain?: () => void;
  readonly calls?: readonly string[];
  readonly security?: SecurityTrail;
}

async function openShard({
  status: told,
  name = 'a',
  reasons = {},
  drain,
  calls = [],
  security,
}: ShardOptions) {
  const call = (callId: string) => ({
    ...{ callId, serverId: '1', guildId: '1', ageMs: 1, members: [] },
    dave: { version: 1, epoch: null, phase: 'plain' },
  });
  const server = await openAdminServer({
    clock: systemClock,
    engine: {
      admin: { listUsers: async () => [{ id: '7', username: name }] } as unknown as Admin,
      config: DEFAULTS,
      ...{ api: {} as never, interact: () => Promise.reject(new Error('none')) },
      calls: { list: async () => calls.map(call), setAudibility: () => false },
      cluster: { status: async () => told(), drain: async () => undefined },
      metrics: async () => `# HELP up Is up.\n# TYPE up gauge\nup{of="${name}"} 1\n`,
      unready: async () => reasons,
      ...(security && { security }),
    },
    ...{ host: HOST, port: 0, token: TOKEN, ...(drain && { drain }) },
  });
  servers.push(server);
  return server;
}

async function ask(url: string, method: string, path: string, body?: object, token = TOKEN) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

describe('a shard', () => {
  test('shows the cluster, and is drained by its name', async () => {
    let drained = 0;
    const told = status([row('shard-0', process.pid), row('shard-1', 1)]);
    const { url } = await openShard({ status: () => told, drain: () => void ++drained });
    expect(await ask(url, 'GET', '/cluster')).toEqual({ status: 200, body: told });
    expect((await ask(url, 'POST', '/cluster/shards/shard-9/drain', {})).body.error.code).toBe(
      'unknown_shard',
    );
    expect((await ask(url, 'GET', '/cluster/shards/shard-0/drain')).status).toBe(405);
    expect((await ask(url, 'POST', '/cluster/shards/shard-0/drain', {}, 'x')).status).toBe(401);
    expect((await ask(url, 'POST', '/cluster/shards/shard-1/drain', {})).body.error.code).toBe(
      'no_admin_url',
    );
    expect(drained).toBe(0);
    expect(await ask(url, 'POST', '/cluster/shards/shard-0/drain', {})).toEqual({
      status: 202,
      body: { id: 'shard-0', pid: process.pid },
    });
    expect(drained).toBe(1);
  });

  test('forwards a request to drain another shard to that shard', async () => {
    let drained = 0;
    const shards: ShardStatus[] = [];
    const events: string[] = [];
    const withBefore =
      (name: string): SecurityTrail =>
      (event, fields) =>
        void events.push(`${name} ${JSON.stringify({ event, ...fields })}`);
    const meant = await openShard({
      security: withBefore('meant'),
      status: () => status([row('shard-1', process.pid)]),
      drain: () => void ++drained,
    });
    const asked = await openShard({
      security: withBefore('asked'),
      status: () => status(shards),
      drain: () => expect.fail('the wrong one'),
    });
    shards.push(row('shard-0', process.pid), row('shard-1', 1, { admin_url: meant.url, host: 'elsewhere' }));
    shards.push(row('shard-2', 2, { admin_url: 'http://127.0.0.1:1' }));
    expect((await ask(asked.url, 'POST', '/cluster/shards/shard-1/drain', {})).status).toBe(202);
    expect(drained).toBe(1);
    const change = {
      event: 'admin_change',
      token_name: 'admin_token',
      what: 'POST /cluster/shards/:id/drain',
    };
    expect(events).toEqual([
      `meant ${JSON.stringify({ ...change, id: 'shard-1', user_id: null, status: 202 })}`,
    ]);
    expect(await ask(asked.url, 'POST', '/cluster/shards/shard-2/drain', {})).toMatchObject({
      status: 503,
      body: { error: { code: 'unreachable' } },
    });
  });

  test('rejects a drain when it is the only shard', async () => {
    const { url } = await openShard({
      status: () => status([row('shard-0', process.pid)], null),
      drain: () => {},
    });
    expect((await ask(url, 'POST', '/cluster/shards/shard-0/drain', {})).body.error.code).toBe('alone');
  });
});

describe('the admin port of a supervisor', () => {
  async function arrange(count = 2) {
    const known: SupervisedShard[] = [];
    const asked: unknown[] = [];
    const rows: ShardStatus[] = [];
    const shards: AdminServer[] = [];
    for (let index = 0; index < count; index += 1) {
      const id = `shard-${index}`;
      const server = await openShard({
        ...{ status: () => status(rows), name: id, calls: [`${10 + index}`, `${20 - index}`] },
        ...(index === 1 && { reasons: { cluster: 'It joins.' } }),
      });
      shards.push(server);
      rows.push(row(id, 100 + index));
      known.push({ id, pid: 100 + index, adminUrl: server.url, state: 'serving', restarts: index });
    }
    const security: object[] = [];
    const front = await openFront({
      tokens: [{ name: 'anna', secret: ANNAS }],
      security: (event, fields) => void security.push({ event, ...fields }),
      ...{ host: HOST, port: 0, token: TOKEN, version: '1.0.0', logger: { error: () => undefined } },
      shards: () => known,
      drain: (id, stays) => void asked.push(['drain', id, stays]),
      start: (id) => void asked.push(['start', id]),
      metrics: () => '# TYPE supervised gauge\nsupervised 2\n',
    });
    servers.push(front);
    return { known, asked, rows, shards, security, url: front.url };
  }

  test('lists every shard, from the view of the cluster or else from the records of the supervisor', async () => {
    const { url, known, rows, shards } = await arrange();
    expect((await ask(url, 'GET', '/cluster', undefined, 'x')).status).toBe(401);
    const { body } = await ask(url, 'GET', '/cluster');
    expect(body).toMatchObject({ cluster_id: 'guildhall', partitions: 8, supervisor_pid: process.pid });
    expect(body.shards).toEqual([
      { ...rows[0], restarts: 0 },
      { ...rows[1], restarts: 1 },
    ]);
    // The view still has the process that was; the supervisor knows better.
    known[1] = { ...known[1]!, pid: 201, adminUrl: null, state: 'starting', restarts: 2 };
    const [, second] = (await ask(url, 'GET', '/cluster')).body.shards;
    expect(second).toMatchObject({
      id: 'shard-1',
      pid: 201,
      state: 'starting',
      partitions: 0,
      sessions: null,
    });
    known[0] = { ...known[0]!, state: 'draining' };
    expect((await ask(url, 'GET', '/cluster')).body.shards[0].state).toBe('draining');
    await shards[0]?.close();
    known[0] = { ...known[0], pid: null, adminUrl: null, state: 'down' };
    const alone = (await ask(url, 'GET', '/cluster')).body;
    expect(alone.shards.map(({ state }: { state: string }) => state)).toEqual(['down', 'starting']);
  });

  test('forwards a request to the shard that its query names', async () => {
    const { url, known } = await arrange();
    const namesAt = async (query: string) => (await ask(url, 'GET', `/users${query}`)).body;
    expect((await namesAt('?shard=shard-1')).users).toMatchObject([{ username: 'shard-1' }]);
    expect((await namesAt('')).users).toMatchObject([{ username: 'shard-0' }]);
    expect((await namesAt('?shard=shard-9')).error.code).toBe('unknown_shard');
    known[1] = { ...known[1]!, state: 'down', adminUrl: null };
    expect((await namesAt('?shard=shard-1')).error.code).toBe('no_shard');
  });

  test('drains and starts shards by name, and rejects both in the wrong state', async () => {
    const { url, known, asked, security } = await arrange();
    expect((await ask(url, 'POST', '/cluster/shards/shard-1/drain', {}, ANNAS)).status).toBe(202);
    expect((await ask(url, 'POST', '/cluster/shards/shard-0/drain', { stop: true })).body).toEqual({
      id: 'shard-0',
      pid: 100,
    });
    known[0] = { ...known[0]!, state: 'stopped' };
    expect((await ask(url, 'POST', '/cluster/shards/shard-0/start', {})).status).toBe(202);
    expect(asked).toEqual([
      ['drain', 'shard-1', false],
      ['drain', 'shard-0', true],
      ['start', 'shard-0'],
    ]);
    const what = 'POST /cluster/shards/:id/drain';
    const drain = { event: 'admin_change', what, user_id: null, status: 202 };
    expect(security).toEqual([
      { ...drain, token_name: 'anna', id: 'shard-1' },
      { ...drain, token_name: 'admin_token', id: 'shard-0' },
      { ...drain, what: 'POST /cluster/shards/:id/start', token_name: 'admin_token', id: 'shard-0' },
    ]);
    const refused = async (path: string, body: object) =>
      (await ask(url, 'POST', `/cluster/shards/${path}`, body)).body.error.code;
    expect(await refused('shard-0/drain', {})).toBe('wrong_state');
    expect(await refused('shard-1/start', {})).toBe('wrong_state');
    expect(await refused('shard-7/start', {})).toBe('unknown_shard');
    expect(await refused('shard-1/drain', { stop: 1 })).toBe('invalid_body');
    expect(await refused('Shard-1/drain', {})).toBe('not_found');
  });

  test('is healthy as long as one shard is, and merges metrics and calls', async () => {
    const { url, known, shards } = await arrange();
    expect(await ask(url, 'GET', '/livez', undefined, 'x')).toEqual({ status: 200, body: { alive: true } });
    expect(await ask(url, 'GET', '/readyz', undefined, 'x')).toEqual({
      status: 200,
      body: { ready: true, reasons: { 'shard-1': 'It joins.' } },
    });
    expect((await ask(url, 'GET', '/metrics', undefined, 'x')).body).toBe(
      [
        ...['# TYPE supervised gauge', 'supervised 2', '# HELP up Is up.', '# TYPE up gauge'],
        ...['up{shard="shard-0",of="shard-0"} 1', 'up{shard="shard-1",of="shard-1"} 1', ''],
      ].join('\n'),
    );
    const { total, calls } = (await ask(url, 'GET', '/calls?limit=3')).body;
    expect([total, calls.map((call: { call_id: string }) => call.call_id)]).toEqual([4, ['10', '11', '19']]);
    await shards[0]?.close();
    known[0] = { ...known[0]!, adminUrl: null };
    expect(await ask(url, 'GET', '/readyz')).toMatchObject({ status: 503, body: { ready: false } });
  });

  test('forwards every other request to a responding shard, with its body and token', async () => {
    const { url, known, shards } = await arrange();
    expect((await ask(url, 'GET', '/users?limit=1')).body.users[0].username).toBe('shard-0');
    expect((await ask(url, 'POST', '/users', { username: '' })).body.error.code).toBe('invalid_body');
    await shards[0]?.close();
    expect((await ask(url, 'GET', '/users')).body.users[0].username).toBe('shard-1');
    expect((await ask(url, 'POST', '/users', { username: '' })).body.error.code).toBe('invalid_body');
    for (const [index, shard] of known.entries()) known[index] = { ...shard, state: 'down' };
    expect(await ask(url, 'GET', '/users')).toMatchObject({
      status: 503,
      body: { error: { code: 'no_shard' } },
    });
  });
});

describe('metrics of several processes', () => {
  const histogram = [
    ...['# HELP took Time.', '# TYPE took histogram', 'took_bucket{le="1",op="a"} 1', 'took_sum 0.5'],
    ...['took_count 1', '# TYPE plain_count gauge', 'plain_count 3', 'bare 1 1700000000000', ''],
  ].join('\n');

  test('are grouped by name, whatever their type', () => {
    const shards = ['x', 'y'].map((shard) => ({ shard, text: histogram }));
    expect(mergedMetrics('', shards).split('\n')).toEqual([
      ...['# HELP took Time.', '# TYPE took histogram'],
      ...['took_bucket{shard="x",le="1",op="a"} 1', 'took_sum{shard="x"} 0.5', 'took_count{shard="x"} 1'],
      ...['took_bucket{shard="y",le="1",op="a"} 1', 'took_sum{shard="y"} 0.5', 'took_count{shard="y"} 1'],
      ...['# TYPE plain_count gauge', 'plain_count{shard="x"} 3', 'plain_count{shard="y"} 3'],
      ...['bare{shard="x"} 1 1700000000000', 'bare{shard="y"} 1 1700000000000', ''],
    ]);
  });

  test('are merged from any text without an exception, with each TYPE line once', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom(...histogram.split('\n')))), (lines) => {
        const merged = mergedMetrics('', [{ shard: 'x', text: lines.join('\n') }]);
        const comments = merged.split('\n').filter((line) => line.startsWith('# TYPE'));
        expect(new Set(comments).size).toBe(comments.length);
      }),
    );
  });
});
