import type { Links } from '../../../actors/cluster/ports.ts';
import { routingOver } from '../../../actors/cluster/routing/routed.ts';
import { type ClusterRouter, createRouter } from '../../../actors/cluster/routing/router.ts';
import type {
  AskContext,
  AskOptions,
  LinkFrame,
  Ownership,
  OwnershipChange,
  ServedContext,
  ShardInfo,
} from '../../../actors/placement/ports.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { Catalogue, Method } from '../../../protocol/link.ts';
import { anything, integer, optional } from '../../../protocol/linkschema.ts';

const shard = (id: string): ShardInfo => ({
  id,
  instance: `${id}-run`,
  address: '',
  adminUrl: null,
  host: '',
  pid: 1,
  weight: 1,
  worker: 0,
  version: '0.0.0',
  startedMs: 0,
  draining: false,
});

interface RoutedCall {
  readonly to: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly context: AskContext;
}

export const DEADLINE_MS = 10_000;

const once: Method = {
  ...{ kind: 'ask', by: 'name', repeat: 'once', since: 1, reads: false },
  ...{ args: [optional(integer)], reply: anything },
};
/** A method of each kind; the first argument is a number, and no reply is malformed except that of `typed`. */
const METHODS = new Map<string, Method>([
  ['once', once],
  ['other', once],
  ['typed', { ...once, reply: integer }],
  ['keyed', { ...once, repeat: 'keyed' }],
  ['repeatable', { ...once, repeat: 'repeatable' }],
  ['reading', { ...once, reads: true }],
  ['told', { ...once, kind: 'tell' }],
]);

/** A router whose methods are those above instead of the catalogue's. */
interface AnyRouter extends Pick<ClusterRouter, 'handler' | 'sessions' | 'metrics'> {
  askOwner<T>(
    method: string,
    key: string,
    args: readonly unknown[],
    here: (commandKey: string | null) => Promise<T>,
    options?: AskOptions,
  ): Promise<T>;
  tellOwner(method: string, key: string, args: readonly unknown[], here: () => void): void;
  tellAll(method: string, args: readonly unknown[]): void;
  tellShard(shardId: string, method: string, args: readonly unknown[]): void;
  askShard(shardId: string, method: string, args: readonly unknown[]): Promise<unknown>;
  serve(method: string, run: (args: never, context: ServedContext) => unknown): void;
}

/** The router of shard `a` among `a`, `b` and `c`; the test says who owns what, and what links do. */
export function routerOf(waitingMax?: number, catalogue: Catalogue = METHODS) {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const owners = new Map<string, string>();
  const listeners: ((change: OwnershipChange) => void)[] = [];
  const asked: RoutedCall[] = [];
  const told: { to: string; frame: LinkFrame }[] = [];
  const faults: string[] = [];
  let owned = (key: string): boolean => owners.get(key) === 'a';
  const ownership = {
    self: shard('a'),
    state: 'serving',
    view: { revision: 1, shards: ['a', 'b', 'c'].map(shard), owners: [] },
    owns: (key) => owned(key),
    ownerOf(key) {
      const shardId = owners.get(key);
      return shardId === undefined ? null : { shardId, instance: `${shardId}-run`, epoch: 1 };
    },
    onChange(run) {
      listeners.push(run);
      return () => undefined;
    },
  } as Partial<Ownership> as Ownership;
  const scene = {
    clock,
    asked,
    told,
    faults,
    answer: async (_: RoutedCall): Promise<unknown> => 'answer',
    /** Sets an owner without notifying listeners. */
    own: (key: string, by: string) => owners.set(key, by),
    /** Sets an owner, or none, and notifies listeners. */
    give(key: string, to: string | null): void {
      if (to === null) owners.delete(key);
      else owners.set(key, to);
      for (const run of listeners) run({ moved: [0], gone: [], came: [] });
    },
    /** Whether the database knows of no later owner; a fault: it does not answer. */
    isLast: false as boolean | Error,
    /** It is the owner, and yet may not decide now. */
    suspend(): void {
      owned = () => false;
    },
  };
  const links = {
    ask(to: string, method: string, args: readonly unknown[], context: AskContext) {
      const question = { to, method, args, context };
      asked.push(question);
      return scene.answer(question);
    },
    tell: (to: string, frame: LinkFrame) => told.push({ to, frame }),
  } as unknown as Links;
  const isLast = async () => {
    if (scene.isLast instanceof Error) throw scene.isLast;
    return scene.isLast;
  };
  const router = createRouter({
    ...{ ownership, links, clock, catalogue, wheel: new TimerWheel(clock), scope },
    randomBytes: (size) => Buffer.alloc(size, 128),
    deadlineMs: DEADLINE_MS,
    answers: (key) => owners.get(key) === 'a' && isLast(),
    onFault: (where, fault) => faults.push(`${where}: ${(fault as Error).message}`),
    ...(waitingMax !== undefined && { waitingMax }),
  });
  const placement = { ownership, router, routing: routingOver({ ownership, router }) };
  return { ...scene, scene, scope, placement, router: router as unknown as AnyRouter };
}

/** The state of a promise once everything that waits on nothing has run. */
export async function outcome<T>(promise: Promise<T>): Promise<T | Error | 'waits'> {
  const settled = promise.catch((error: Error) => error);
  return Promise.race([settled, new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))]);
}
