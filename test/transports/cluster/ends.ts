import { connect, createServer, type Server, type Socket } from 'node:net';
import type { LinkHandler } from '../../../actors/cluster/ports.ts';
import type { AskContext, LinkFrame, ShardInfo } from '../../../actors/placement/ports.ts';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { createLinks, type GrpcLinks, type LinksOptions } from '../../../transports/cluster/links.ts';

export const opened: { close(): Promise<void> | void }[] = [];

/** Closes what a test has opened. */
export async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((each) => each.close()));
}

export interface End {
  readonly links: GrpcLinks;
  readonly shard: ShardInfo;
  /** Messages and breaks from other shards, in order. */
  readonly heard: unknown[];
  readonly broken: string[];
  readonly warnings: { readonly details: Record<string, unknown>; readonly text: string }[];
  readonly faults: string[];
  /** Lets others in. */
  serve(): void;
}

export const tell = (n: unknown): LinkFrame => ({ kind: 'tell', method: 'm', key: 'k', args: [n] });

export type Options = Partial<LinksOptions> & {
  readonly id: string;
  readonly ask?: LinkHandler['ask'];
  readonly serves?: boolean;
};

export async function open({ id, ask, serves = true, ...options }: Options): Promise<End> {
  const heard: unknown[] = [];
  const broken: string[] = [];
  const warnings: End['warnings'] = [];
  const faults: string[] = [];
  const self = { id, instance: `${id}-1`, version: '0.1.0', ...options.self };
  const links = await createLinks({
    clusterId: 'cluster',
    host: '127.0.0.1',
    port: 0,
    tls: null,
    bytesMax: 8 << 20,
    clock: systemClock,
    logger: {
      info: () => undefined,
      warn: (details: unknown, text: unknown) =>
        warnings.push({ details: details as Record<string, unknown>, text: String(text) }),
      error: () => undefined,
    } as unknown as LinksOptions['logger'],
    onFault: (where, fault) => faults.push(`${where}: ${(fault as Error).message}`),
    ...options,
    self,
  });
  opened.push(links);
  links.onBroken((shardId) => broken.push(shardId));
  const handler: LinkHandler = {
    ask: ask ?? (async (from, method, args) => [from, method, ...args]),
    notified(from, frames) {
      for (const frame of frames) heard.push(frame.kind === 'tell' ? frame.args[0] : [from, frame]);
    },
    broken: () => heard.push('broken'),
  };
  const end = {
    links,
    shard: shardOf(self, links.address),
    heard,
    broken,
    warnings,
    faults,
    serve: () => links.serve(handler),
  };
  if (serves) end.serve();
  return end;
}

const shardOf = (self: Pick<ShardInfo, 'id' | 'instance' | 'version'>, address: string): ShardInfo => ({
  ...self,
  address,
  adminUrl: null,
  host: '',
  pid: 1,
  weight: 1,
  worker: 0,
  startedMs: 0,
  draining: false,
});

export async function until(holds: () => boolean, withinMs = 10_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error('It did not come to that.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const linked = ({ links }: End): boolean => links.metrics().peers.every(({ connected }) => connected);

/** Two shards, of which the first follows the second. */
export async function pair(
  options: Partial<Options> = {},
  first: Partial<Options> = {},
): Promise<[End, End]> {
  const a = await open({ id: 'a', ...first });
  const b = await open({ id: 'b', ...options });
  a.links.follow([b.shard]);
  await until(() => linked(a));
  return [a, b];
}

export const context = (change: Partial<AskContext> = {}): AskContext => ({
  key: 'k',
  deadlineMs: 5000,
  commandKey: null,
  trace: 't',
  ...change,
});

/** A way to a shard that can be cut, and made to hold everything back. */
export async function road(address: string) {
  const [, port] = address.split(':');
  const pairs = new Set<readonly [Socket, Socket]>();
  let held = false;
  const server: Server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    const both = [near, far] as const;
    pairs.add(both);
    for (const [from, to] of [both, [far, near]] as const) {
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        pairs.delete(both);
      });
    }
    if (held) for (const socket of both) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const both of pairs) for (const socket of both) socket.destroy();
  };
  const each = (run: (socket: Socket) => void) => {
    for (const both of pairs) both.forEach(run);
  };
  opened.push({
    close() {
      server.close();
      cut();
    },
  });
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    cut,
    hold() {
      held = true;
      each((socket) => socket.pause());
    },
    release() {
      held = false;
      each((socket) => socket.resume());
    },
  };
}

export const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, n) => from + n);
