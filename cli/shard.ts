import type { Command } from 'commander';
import { systemClock } from '../actors/runtime/clock.ts';
import type { Config } from '../config/config.ts';
import type { Addresses } from '../embedding.ts';
import { type Channel, laneOf } from '../transports/cluster/channel.ts';
import { supervisedDirectory } from '../transports/cluster/directory.supervised.ts';
import { type Demo, keptDemo, seedDemo } from './demo.ts';
import { environmentFailure } from './failures.ts';
import { type Serving, serve } from './serve.ts';
import { CommandError, type World } from './world.ts';

/** Named channels between a supervisor and its shards. */
export const LANE = { control: 'control', directory: 'directory' } as const;

/** Messages of a supervisor to a shard. */
export type Order =
  /** The first message. `clustered`: the supervisor keeps the shard's directory. */
  | { readonly kind: 'begin'; readonly config: Config; readonly clustered: boolean }
  | { readonly kind: 'stop' }
  /** Creates the demo, or loads the one stored in that folder. */
  | { readonly kind: 'seed'; readonly bots: number; readonly directory: string | null };

/** Messages of a shard to its supervisor. */
export type Report =
  /** Sent every `ALIVE_MS`, to show that the process does not hang. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'serving'; readonly addresses: Addresses; readonly adminUrl: string }
  | { readonly kind: 'failed'; readonly message: string; readonly advice: string }
  | { readonly kind: 'seeded'; readonly demo: Demo }
  | { readonly kind: 'seedFailed'; readonly message: string };

/** Interval of `alive` messages. */
export const ALIVE_MS = 2_000;

/** Adds the hidden command `shard`, with which a supervisor starts its processes. */
export function addShardCommand(program: Command, world: World, done: (code: number) => void): void {
  program.command('shard', { hidden: true }).action(async () => done(await runShard(world)));
}

/** Runs the shard that the supervisor configures; ends at the supervisor's request, or when the supervisor exits. */
async function runShard(world: World): Promise<number> {
  const { supervisor: channel } = world;
  if (!channel) {
    throw new CommandError(
      'A shard is started by its supervisor.',
      'Use `guildhall start --shards <n>` or `guildhall dev --shards <n>`.',
    );
  }
  const control = laneOf(channel, LANE.control);
  const sendReport = (report: Report) => control.send(report);
  const { config, clustered, told: stopRequested } = await orders(control);
  const alive = setInterval(() => sendReport({ kind: 'alive' }), ALIVE_MS);
  const ready = ({ engine, addresses, adminUrl }: Serving): void => {
    control.onMessage((order) => {
      const { kind, bots, directory } = order as Extract<Order, { kind: 'seed' }>;
      if (kind !== 'seed') return;
      const seeding = directory === null ? seedDemo(engine, { bots }) : keptDemo(engine, directory, { bots });
      seeding.then(
        (demo) => sendReport({ kind: 'seeded', demo }),
        (error: Error) => sendReport({ kind: 'seedFailed', message: error.message }),
      );
    });
    sendReport({ kind: 'serving', addresses, adminUrl });
  };
  const lease = { partitions: config.partitions, leaseTtlMs: config.lease_ttl_ms };
  const directory = clustered
    ? { directory: supervisedDirectory(laneOf(channel, LANE.directory), lease, systemClock) }
    : {};
  const failed = (error: Error): number => {
    const known = environmentFailure(error);
    if (known === null) world.err(error.stack ?? error.message);
    sendReport({ kind: 'failed', message: (known ?? error).message, advice: known?.advice ?? '' });
    return 1;
  };
  const ended = serve(world, config, ready, {
    ...directory,
    sharedPort: true,
    stopRequested: stopRequested,
  }).catch(failed);
  return ended.finally(() => clearInterval(alive));
}

/** Waits for the first message, and for the request to stop. */
function orders(
  control: Channel,
): Promise<{ readonly config: Config; readonly clustered: boolean; readonly told: Promise<void> }> {
  return new Promise((resolve) => {
    let stop = (): void => undefined;
    const told = new Promise<void>((end) => {
      stop = end;
    });
    control.onMessage((message) => {
      const order = message as Order;
      if (order.kind === 'stop') stop();
      else if (order.kind === 'begin') resolve({ ...order, told });
    });
    control.onClosed(stop);
  });
}
