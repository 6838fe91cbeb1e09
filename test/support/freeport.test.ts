// Goal: a server that a test starts finds its port free, whatever else runs on the machine.
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from './freeport.ts';

/** The first port that Linux gives to outgoing connections. */
const EPHEMERAL_FIRST = 32_768;

test('ports for servers are below those of outgoing connections, and each is given once', async () => {
  const ports = [];
  while (ports.length < 50) ports.push(await freePort());
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(EPHEMERAL_FIRST);
});

test('a port on which a server listens is not given', async () => {
  const next = (await freePort()) + 1;
  const taken = createServer().listen(next, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve).once('error', resolve));
  expect(await freePort()).not.toBe(next);
  taken.close();
});
