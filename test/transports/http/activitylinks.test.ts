// Goal: a link to an activity redirects to the voice-room page with its allowed parameters and nothing else.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { webRoutes } from '../../../transports/http/web.ts';

const APPLICATION = '1574520440439701504';
let folder: string;
let server: HttpServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'web-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>');
  const installers = [webRoutes(folder, { frames: null, isHome: false })];
  server = await startServer({ host: '127.0.0.1', port: 0, installers });
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const visit = (path: string, method = 'GET') =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { method, redirect: 'manual' });

test.each([
  ['', ''],
  ['?custom_id=level+7&referrer_id=12', '&custom_id=level+7&referrer_id=12'],
  [`?custom_id=${'x'.repeat(65)}`, ''],
  ['?referrer_id=javascript:alert(1)', ''],
  ['?token=secret&custom_id=', ''],
  ['?custom_id=a%0d%0aSet-Cookie:%20b', '&custom_id=a%0D%0ASet-Cookie%3A+b'],
])('a link with the query %j redirects with the parameters %j', async (query, carried) => {
  const answer = await visit(`/activities/${APPLICATION}${query}`);
  expect(answer.status).toBe(302);
  expect(answer.headers.get('location')).toBe(`/voice-room/?activity=${APPLICATION}${carried}`);
  expect(answer.headers.get('set-cookie')).toBeNull();
});

test('a link without the id of an application is answered with 404', async () => {
  for (const path of ['/activities/', '/activities/x', '/activities/..%2fvoice-room'])
    expect([path, (await visit(path)).status]).toEqual([path, 404]);
  expect((await visit(`/activities/${APPLICATION}`, 'POST')).status).toBe(405);
});
