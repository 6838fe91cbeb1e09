import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FrontStatus } from '../../transports/admin/front.ts';

/** Where a server's gateway and messages are. Threads of the benchmark receive it as it is. */
export interface ArenaAddresses {
  readonly gateway: string;
  readonly tokens: readonly string[];
  readonly messages: string;
}

/** A server of several processes with the PostgreSQL server in DATABASE_URL. */
export interface Arena {
  readonly addresses: ArenaAddresses;
  status(): Promise<FrontStatus>;
  /** Metrics of all shards and their supervisor, as text. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../cli.js', import.meta.url));

/** Starts the server. @throws Error when it does not start. */
export async function openArena(shards: number, bots: number): Promise<Arena> {
  if (!process.env.DATABASE_URL) throw new Error('Set DATABASE_URL: several shards need a PostgreSQL.');
  const args = ['dev', '--json', '--port', '0', '--admin-port', '0', '--no-rate-limits'];
  const child = spawn(
    process.execPath,
    [CLI, ...args, '--shards', String(shards), '--bots', String(bots), '--set', 'voice=false'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exit = once(child, 'exit');
  const ended = exit.then(([code]) => Promise.reject(new Error(`The server ended with ${code}.`)));
  ended.catch(() => undefined);
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  const info = JSON.parse(String(line)) as {
    readonly api: string;
    readonly gateway: string;
    readonly admin: { readonly url: string; readonly token: string };
    readonly bots: readonly { readonly token: string }[];
    readonly guild: { readonly text_channel_id: string };
  };
  const { admin, guild } = info;
  const ask = (path: string) =>
    fetch(admin.url + path, { headers: { authorization: `Bearer ${admin.token}` } });
  return {
    addresses: {
      gateway: info.gateway,
      tokens: info.bots.map(({ token }) => token),
      messages: `${info.api}/v10/channels/${guild.text_channel_id}/messages`,
    },
    status: async () => (await ask('/cluster')).json() as Promise<FrontStatus>,
    metrics: async () => (await ask('/metrics')).text(),
    async stop() {
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** Writes a message as the first bot. @returns whether it was accepted. */
export async function write(
  { messages, tokens }: ArenaAddresses,
  content: string,
  nonce: string,
): Promise<boolean> {
  const response = await fetch(messages, {
    method: 'POST',
    headers: { authorization: `Bot ${tokens[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content, nonce, enforce_nonce: true }),
  }).catch(() => null);
  await response?.text().catch(() => null);
  return response?.status === 200;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls every few milliseconds. @returns the time it took. @throws Error when it takes longer than `withinMs`. */
export async function until(what: string, withinMs: number, isSo: () => boolean | Promise<boolean>) {
  const startMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startMs > withinMs)
      throw new Error(`In ${withinMs} ms it did not come to be: ${what}.`);
    await pause(10);
  }
  return performance.now() - startMs;
}
