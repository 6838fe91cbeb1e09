// Goal: links that a server signed stay valid after a restart, without a configured secret.
import { expect, test } from 'vitest';
import { serverSecret } from '../../../services/identity/serversecret.ts';

test('the secret is the configured one, else the stored one, else a new one that is stored', async () => {
  const stored = new Map<string, string>();
  const settings = {
    get: async () => null,
    async putIfAbsent(key: string, value: string) {
      if (!stored.has(key)) stored.set(key, value);
      return stored.get(key) as string;
    },
  };
  let byte = 0;
  const ports = { storage: { settings }, randomBytes: (size: number) => new Uint8Array(size).fill(++byte) };
  expect(await serverSecret({ ...ports, config: { token_secret: 'given' } })).toBe('given');
  expect(stored.size).toBe(0);
  const config = { token_secret: null };
  const made = await serverSecret({ ...ports, config });
  expect(made).toBe('01'.repeat(32));
  expect(await serverSecret({ ...ports, config })).toBe(made);
});
