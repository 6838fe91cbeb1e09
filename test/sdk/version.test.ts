// Goal: a client says which version and which commit it is of.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { Client } from '../../sdk/index.ts';
import { VERSION } from '../../sdk/version.ts';

test('the version is the package’s', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const parts = [Client.getVersionMajor(), Client.getVersionMinor(), Client.getVersionPatch()];
  expect([VERSION, parts.join('.')]).toEqual([version, version]);
});

test('the build writes its commit where getVersionHash reads it, and sources have none', async () => {
  const script = pathToFileURL(join(import.meta.dirname, '../../scripts/commit.mjs')).href;
  const { withCommit }: { withCommit(code: string): string } = await import(script);
  expect(Client.getVersionHash()).toBe('');
  const built = withCommit(readFileSync('sdk/version.ts', 'utf8'));
  expect(/COMMIT = '(.*)'/.exec(built)?.[1]).toMatch(/^([0-9a-f]{40})?$/);
});
