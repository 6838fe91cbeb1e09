// Goal: a running server describes itself at fixed paths, to pages of any origin, with its own address.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../embedding.ts';
import { createTestEngine } from '../../../testing.ts';

let engine: Engine;
let origin: string;

beforeAll(async () => {
  ({ engine } = await createTestEngine());
  origin = (await engine.listen()).cdn;
});
afterAll(() => engine.close());

test.each([
  ['/openapi.json', 'openapi', '3.1.0'],
  ['/asyncapi.json', 'asyncapi', '3.0.0'],
])('%s is served', async (path, key, version) => {
  const answer = await fetch(`${origin}${path}`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({ [key]: version });
  expect(text).toContain(new URL(origin).host);
  const head = await fetch(`${origin}${path}`, { method: 'HEAD' });
  expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
});
