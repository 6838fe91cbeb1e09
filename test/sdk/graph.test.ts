// Goal: the browser's entry needs nothing of Node, and importing the library does nothing.
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { build } from 'vite';
import { describe, expect, test } from 'vitest';
import { importsOf, parse } from '../support/source.ts';

/** Every file that an entry brings along, and every package. Types vanish, so they count for nothing. */
function graphOf(entry: string) {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string) => {
    if (files.has(path)) return;
    files.add(path);
    for (const { from, kind } of importsOf(parse(path))) {
      if (kind === 'type') continue;
      if (from.startsWith('.')) visit(posix.join(posix.dirname(path), from));
      else packages.add(from);
    }
  };
  visit(entry);
  return { files, packages };
}

describe('the entry for browsers', () => {
  const { files, packages } = graphOf('sdk/index.ts');

  test('imports no module of Node and no package but the machine', () => {
    expect([...packages].sort()).toEqual(['xstate']);
    expect([...files].filter((path) => /^sdk\/(call\/)?node/.test(path))).toEqual([]);
  });

  test('is found whole by this test', () => {
    for (const path of ['sdk/client.ts', 'sdk/voice/gatewaylink.ts', 'sdk/call/calls.ts'])
      expect([...files]).toContain(path);
    expect(existsSync('sdk/node.ts')).toBe(true);
    expect([...graphOf('sdk/node.ts').packages]).toContain('ws');
  });
});

describe('a bundle', () => {
  const bundled = async (code: string): Promise<string> => {
    const made = await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        rolldownOptions: { input: 'entry', treeshake: { moduleSideEffects: false } },
      },
      plugins: [
        {
          name: 'entry',
          resolveId: (id) => (id === 'entry' ? '\0entry' : null),
          load: (id) => (id === '\0entry' ? code : null),
        },
      ],
    });
    const { output } = made as unknown as { output: readonly { code: string }[] };
    return output.map((chunk) => chunk.code).join('');
  };
  const index = JSON.stringify(posix.join(process.cwd(), 'sdk/index.ts'));

  test('holds no import of Node when a page uses the client', async () => {
    const code = await bundled(`import { Client } from ${index}; globalThis.client = new Client();`);
    expect(code).not.toMatch(/["']node:|require\(/);
    expect(code.length).toBeGreaterThan(20_000);
  });

  test('holds little else than one constant', async () => {
    const code = await bundled(`import { Status } from ${index}; globalThis.ready = Status.Ready;`);
    expect(code.length).toBeLessThan(600);
  });
});
