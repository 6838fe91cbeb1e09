// Goal: `/docs` serves only the built documentation, and names the build command while it is not built.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { docsRoutes } from '../../../transports/http/web.ts';

const HOST = '127.0.0.1';
let folder: string;
let server: HttpServer;
let base: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-docs-'));
  server = await startServer({ host: HOST, port: 0, installers: [docsRoutes(join(folder, 'site'))] });
  base = `http://${HOST}:${server.port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

describe('/docs', () => {
  test('answers with the build command while the site is not built, and serves the built site', async () => {
    const before = await fetch(`${base}/docs/`);
    expect(before.status).toBe(404);
    expect(await before.text()).toContain('npm run docs');
    mkdirSync(join(folder, 'site/start'), { recursive: true });
    writeFileSync(join(folder, 'site/index.html'), '<h1>Documentation</h1>');
    writeFileSync(join(folder, 'site/start/bot.html'), '<h1>A bot</h1>');
    writeFileSync(join(folder, 'secret.txt'), 'not of the site');
    expect(await (await fetch(`${base}/docs`)).text()).toBe('<h1>Documentation</h1>');
    expect(await (await fetch(`${base}/docs/start/bot.html`)).text()).toBe('<h1>A bot</h1>');
  });

  test('forbids pages resources of other origins and inline scripts', async () => {
    const { headers } = await fetch(`${base}/docs/`);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe-inline');
    expect(headers.get('content-type')).toBe('text/html;charset=utf-8');
  });

  test.each(['/docs/nothing.html', '/docs/%2e%2e/secret.txt', '/docs/../secret.txt', '/docs/start'])(
    'answers %s with 404',
    async (path) => {
      const { status } = await fetch(`${base}${path}`, { redirect: 'manual' });
      expect(status).toBe(404);
    },
  );

  test('redirects a path without extension to its page, and answers 404 in plain text to browsers', async () => {
    const bare = await fetch(`${base}/docs/start/bot`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([308, '/docs/start/bot.html']);
    const none = await fetch(`${base}/docs/none`, { headers: { accept: 'text/html' } });
    expect(none.status).toBe(404);
    expect(none.headers.get('content-type')).toBe('text/plain;charset=utf-8');
    expect(await none.text()).toContain('begins at /docs/');
  });

  test('answers no other method than GET and HEAD', async () => {
    expect((await fetch(`${base}/docs/`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${base}/docs/`, { method: 'HEAD' })).status).toBe(200);
  });
});
