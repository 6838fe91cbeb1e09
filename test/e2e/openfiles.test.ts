// Goal: a server that reaches the limit of open files refuses further connections and still does everything else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../support/source.ts';

const OPEN_FILES = 256;
/** Less than three quarters, because the server has opened files itself; and it has opened fewer than a hundred. */
const ACCEPTED = { least: 92, most: 192 };
const ASKED = 400;
const UPGRADE =
  'GET /?v=10&encoding=json HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

interface Banner {
  readonly api: string;
  readonly gateway: string;
  readonly bot: { readonly token: string };
  readonly guild: { readonly text_channel_id: string };
}

let banner: Banner;
let stop: () => Promise<unknown>;
const sockets: Socket[] = [];

beforeAll(async () => {
  const cli = join(ROOT, 'dist/cli.js');
  const settings = [
    '--port',
    '0',
    '--admin-port',
    '0',
    '--set',
    'sockets_per_ip_max=1000',
    '--set',
    'voice=false',
  ];
  const command = `ulimit -n ${OPEN_FILES} && exec "$0" "$@"`;
  const child = spawn(
    'bash',
    ['-c', command, process.execPath, cli, 'dev', '--json', '--no-rate-limits', ...settings],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exit = once(child, 'exit');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  banner = JSON.parse(String(line)) as Banner;
  stop = () => {
    child.kill('SIGTERM');
    return exit;
  };
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await stop();
});

/** The status that an upgrade is answered with. */
async function upgrade(): Promise<number> {
  const socket = connect(Number(new URL(banner.gateway).port), '127.0.0.1');
  sockets.push(socket);
  socket.write(UPGRADE);
  const [answer] = await once(socket, 'data');
  return Number(String(answer).split(' ', 2)[1]);
}

test('connections beyond the limit of open files are answered 503, and messages are still written', async () => {
  const statuses: number[] = [];
  for (let count = 0; count < ASKED; count += 1) statuses.push(await upgrade());
  const accepted = statuses.filter((status) => status === 101).length;
  expect(accepted).toBeGreaterThan(ACCEPTED.least);
  expect(accepted).toBeLessThan(ACCEPTED.most);
  expect(statuses.filter((status) => status === 503)).toHaveLength(ASKED - accepted);

  const response = await fetch(`${banner.api}/v10/channels/${banner.guild.text_channel_id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bot ${banner.bot.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'still here' }),
  });
  expect(response.status).toBe(200);
});
