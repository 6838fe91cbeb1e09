// Goal: the relay of end-to-end tests records exactly the operations of which it compared a successful reply, so that
// `npm test` can name those of which no test did.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DISPATCH } from '../../protocol/dispatches.ts';
import { recordAnswer, recordDispatch } from './comparedreplies.ts';
import { openRelay, type Relay } from './relay.ts';
import { ROOT } from './root.ts';

interface Counted {
  readonly passed: number;
  readonly failed: number;
  readonly lines: readonly string[];
}
interface Script {
  countReplies(operationIds: readonly string[], folder: string): Counted;
}
const SCRIPT = pathToFileURL(join(ROOT, 'scripts/replies.mjs')).href;

let folder: string;
let answer: { status: number; body: string; type?: string };
let server: Server;
let relay: Relay;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-replies-'));
  vi.stubEnv('COMPARED_REPLIES_FOLDER', folder);
  server = createServer((_, out) => {
    const { status, body, type = 'application/json' } = answer;
    out.writeHead(status, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  relay = await openRelay(() => (server.address() as AddressInfo).port);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await relay.close();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

const ask = async (path: string, method = 'GET') => {
  await (await fetch(`${relay.origin}/api/v10${path}`, { method })).text();
};
const counted = async (...ids: readonly string[]): Promise<Counted> => {
  const script: Script = await import(SCRIPT);
  return script.countReplies(ids, folder);
};
/** The sentences about missing replies, without the last line, which has the sum. */
const missing = async (...ids: readonly string[]) => (await counted(...ids)).lines.slice(0, -1);
const sentenceOf = (id: string) => `no end-to-end test compares a successful reply of ${id}`;

describe('the relay', () => {
  test('records a successful reply that fits its schema, listed by the platform or not', async () => {
    answer = { status: 200, body: '{"url":"ws://127.0.0.1/"}' };
    await ask('/gateway');
    answer = { status: 200, body: '{"direct_messages_from":null}' };
    await ask('/guildhall/v1/users/@me/settings');
    expect(relay.mismatches).toEqual([]);
    expect(await missing('get_user_settings', 'get_gateway', 'get_bot_gateway')).toEqual([
      sentenceOf('get_bot_gateway'),
    ]);
  });

  test('compares the plain text of a webhook made for Slack as a string', async () => {
    answer = { status: 200, body: 'ok', type: 'text/plain; charset=utf-8' };
    await ask('/webhooks/12/token/slack', 'POST');
    expect(relay.mismatches).toEqual([]);
    expect(await missing('execute_slack_compatible_webhook')).toEqual([]);
    answer = { status: 200, body: '"ok"' };
    await ask('/webhooks/12/token/slack', 'POST');
    expect(relay.mismatches).toHaveLength(1);
  });

  test.each([
    ['a refusal', { status: 404, body: '{"message":"Unknown","code":10003}' }, 0],
    ['a fault', { status: 500, body: '{"message":"Internal","code":0}' }, 0],
    ['a reply that does not fit its schema', { status: 200, body: '{"url":12}' }, 2],
    ['a reply of another type', { status: 200, body: '{"url":"ws://a/"}', type: 'text/plain' }, 1],
  ])('does not record %s', async (_, given, mismatches) => {
    answer = given;
    await ask('/gateway');
    expect(relay.mismatches.length).toBe(mismatches);
    expect(await missing('get_gateway')).toEqual([sentenceOf('get_gateway')]);
  });
});

describe('the tables of docs/conformance.md', () => {
  interface Claim {
    readonly operationId: string;
    readonly answer: number;
    readonly file: string;
  }
  interface Tables {
    dispatchRowsOf(names: readonly string[], records: readonly Claim[]): string[][];
    pageWithDispatches(page: string, rows: readonly string[][]): string;
    dispatchClaimsIn(page: string): Claim[];
    unseenDispatches(names: readonly string[], records: readonly Claim[]): string[];
    readConformancePage(): string;
    readonly UNSENT: Readonly<Record<string, string>>;
  }
  const tables = (): Promise<Tables> => import(pathToFileURL(join(ROOT, 'scripts/conformance.mjs')).href);
  const seen = (name: string, file: string): Claim => ({
    operationId: `dispatch ${name}`,
    answer: 200,
    file,
  });

  test('name at most three tests of a dispatch, and are read as they are written', async () => {
    const { dispatchRowsOf, pageWithDispatches, dispatchClaimsIn, unseenDispatches, readConformancePage } =
      await tables();
    const records = ['d', 'a', 'c', 'b', 'a'].map((file) => seen('READY', `test/e2e/${file}.test.ts`));
    const rows = dispatchRowsOf(['READY', 'RESUMED'], records);
    expect(rows[1]).toEqual(['`RESUMED`', '–']);
    const claims = dispatchClaimsIn(pageWithDispatches(readConformancePage(), rows));
    expect(claims).toEqual(['a', 'b', 'c'].map((file) => seen('READY', `test/e2e/${file}.test.ts`)));
    expect(unseenDispatches(['READY', 'RESUMED'], records)).toEqual(['no end-to-end test is sent RESUMED']);
  });

  test('name an end-to-end test of every dispatch that is sent', async () => {
    const { dispatchClaimsIn, readConformancePage, UNSENT } = await tables();
    const claims = dispatchClaimsIn(readConformancePage());
    const shown = new Set(claims.map(({ operationId }) => operationId.split(' ')[1]));
    const missing = Object.keys(DISPATCH).filter((name) => !shown.has(name) && !(name in UNSENT));
    expect(missing).toEqual([]);
    for (const file of new Set(claims.map(({ file }) => file)))
      expect(existsSync(join(ROOT, file)), file).toBe(true);
  });
});

describe('records of compared replies', () => {
  test('name the dispatches that sessions were sent, and are no operations', async () => {
    recordDispatch('READY', folder);
    expect(await readFile(join(folder, `${process.pid}.txt`), 'utf8')).toMatch(/^dispatch READY\t200\ttest/);
    expect(await missing('READY')).toEqual([sentenceOf('READY')]);
  });

  test('are read from the files of all processes, and name what is missing in order', async () => {
    expect(await missing('b', 'a')).toEqual([sentenceOf('a'), sentenceOf('b')]);
    recordAnswer('b', 200, '', folder);
    recordAnswer('b', 200, '', folder);
    recordAnswer('c', 204, '', folder);
    expect(await readdir(folder)).toEqual([`${process.pid}.txt`]);
    expect(await missing('a', 'b', 'c')).toEqual([sentenceOf('a')]);
  });

  test('name an operation, what it answered and the test file, and pass over rate limits and faults', async () => {
    recordAnswer('a', 201, '', folder);
    recordAnswer('a', 403, '{"message": "Missing Access", "code": 50001}', folder);
    recordAnswer('a', 401, '{"message":"401: Unauthorized","code":0}', folder);
    recordAnswer('a', 400, '{"error":"invalid_request"}', folder);
    for (const status of [429, 500]) recordAnswer('a', status, '{"code":20028}', folder);
    const text = await readFile(join(folder, `${process.pid}.txt`), 'utf8');
    const file = 'test/support/relay.test.ts';
    expect(text.trim().split('\n')).toEqual(
      ['201', '50001', '401', '400'].map((answer) => `a\t${answer}\t${file}`),
    );
  });

  test('fail a run once for each operation without one', async () => {
    recordAnswer('a', 200, '', folder);
    expect(await counted('a', 'b', 'c')).toMatchObject({
      ...{ passed: 0, failed: 2 },
      lines: [sentenceOf('b'), sentenceOf('c'), expect.stringContaining('1 of 3 operations')],
    });
    expect(await counted('a')).toMatchObject({ passed: 1, failed: 0 });
  });

  test('are not written when no run asks for them', async () => {
    vi.stubEnv('COMPARED_REPLIES_FOLDER', undefined);
    recordAnswer('a', 200, '');
    recordAnswer('a', 404, '');
    expect(await readdir(folder)).toEqual([]);
  });
});
