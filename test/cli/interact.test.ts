// Goal: `guildhall interact` shows what a user would see, and fails where the user would see a failure.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ran, run } from './arrange.ts';

let server: Server;
let answer: object;
let asked: unknown;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      asked = JSON.parse(body);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());

function interact(words: readonly string[], answered: object): Promise<Ran> {
  answer = answered;
  const { port } = server.address() as AddressInfo;
  const env = { GUILDHALL_ADMIN_URL: `http://127.0.0.1:${port}`, GUILDHALL_ADMIN_TOKEN: 'a token' };
  return run(['interact', 'Lantern', ...words], { env });
}

describe('an interaction that failed', () => {
  test.each([
    [1, 'is not a callback', 'Let it answer 200'],
    [2, 'did not answer within three seconds', 'bot is connected'],
    [3, 'cannot be reached', 'check its URL'],
    [9, 'The interaction failed', 'log of the bot'],
  ])('exits with 1 for reason %i and prints the cause and a remedy', async (reason, message, advice) => {
    const failed = { kind: 'failed', reason };
    const { exitCode, out, err } = await interact(['/ping'], failed);
    expect([exitCode, out]).toEqual([1, []]);
    expect(err.join()).toContain(message);
    expect(err.join()).toContain(advice);
    const json = await interact(['/ping', '--json'], failed);
    expect([json.exitCode, json.err]).toEqual([1, []]);
    expect(JSON.parse(json.out[0]!).error.message).toContain(message);
  });
});

test('an answer exits with 0 and lists its buttons', async () => {
  const button = { type: 2, label: 'Go', custom_id: 'go' };
  const message = {
    content: 'pong',
    components: [{ type: 1, components: [button] }],
    attachments: [],
    embeds: [],
  };
  const words = ['/ping', 'text:two words'];
  const { exitCode, out } = await interact(words, { kind: 'message', message, isEphemeral: true });
  expect(asked).toEqual({ bot: 'Lantern', text: '/ping text:"two words"' });
  expect([exitCode, out.join('|')]).toEqual([0, 'pong|  [Go] go|(only this user sees it)']);
});
