import type { ClusterView, Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { Channel } from './channel.ts';
import type { HubQuestion, HubWord } from './hub.ts';

export interface SupervisedSettings {
  readonly partitions: number;
  readonly leaseTtlMs: number;
}

type Asked = HubQuestion extends infer Each ? (Each extends HubQuestion ? Omit<Each, 'n'> : never) : never;

interface Waiting {
  readonly sentMs: number;
  /** It is renewed by everything that a member asks, as the hub does. */
  readonly renews: boolean;
  resolve(value: number | readonly number[] | null): void;
  reject(error: Error): void;
}

/** Renewals within one length of the lease: three may be lost or late. */
const RENEWALS = 4;
/** Part of the lease that is not relied on: the two clocks are one, but for how they are read. */
const MARGIN = 0.1;
/** Questions that may wait for the hub. */
const WAITING_MAX = 64;

/**
 * The directory of a shard whose supervisor keeps membership and ownership: see `Hub`. When the supervisor is gone
 * nothing is renewed any more, and `safeUntilMs` passes.
 */
export function supervisedDirectory(channel: Channel, settings: SupervisedSettings, clock: Clock): Directory {
  const { partitions, leaseTtlMs } = settings;
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let closed = false;
  let listener: DirectoryListener | null = null;
  let view: ClusterView | null = null;
  let safeUntilMs = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;

  const ask = (question: Asked): Promise<number | readonly number[] | null> =>
    new Promise((resolve, reject) => {
      if (closed) return reject(new Error('The channel to the supervisor is closed.'));
      if (waiting.size >= WAITING_MAX) return reject(new Error('The supervisor does not answer.'));
      const n = ++asked;
      waiting.set(n, { sentMs: clock.monotonic(), renews: question.kind !== 'worker', resolve, reject });
      channel.send({ ...question, n } as HubQuestion);
    });
  const none = async (question: Asked): Promise<void> => void (await ask(question));

  /** A question that nobody answers is not waited for longer than anyone would trust its answer. */
  function expire(): void {
    for (const [n, { sentMs, reject }] of waiting) {
      if (clock.monotonic() - sentMs < leaseTtlMs) break;
      waiting.delete(n);
      reject(new Error(`The supervisor has not answered for ${leaseTtlMs} ms.`));
    }
  }

  function renew(): void {
    timer?.cancel();
    timer = clock.setTimer(renew, leaseTtlMs / RENEWALS);
    expire();
    // What a renewal is refused with, `lost` says too.
    ask({ kind: 'renew' }).catch(() => undefined);
  }

  function ended(): void {
    timer?.cancel();
    timer = null;
    view = null;
    safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  function lose(reason: string): void {
    const hearing = listener;
    ended();
    listener = null;
    hearing?.lost(reason);
  }

  function shut(): void {
    closed = true;
    timer?.cancel();
    for (const { reject } of waiting.values()) reject(new Error('The supervisor is gone.'));
    waiting.clear();
  }

  function settle(n: number, end: (asked: Waiting) => void): void {
    const found = waiting.get(n);
    waiting.delete(n);
    if (found) end(found);
  }

  function show(next: ClusterView): void {
    view = next;
    listener?.changed(next);
  }

  function hear(word: HubWord): void {
    switch (word.kind) {
      case 'view':
        show(word.view);
        break;
      case 'moved':
        if (view) show(moved(view, word));
        break;
      case 'lost':
        lose(word.reason);
        break;
      case 'refused':
        settle(word.n, ({ reject }) => reject(new Error(word.reason)));
        break;
      case 'answer':
        settle(word.n, ({ sentMs, renews, resolve }) => {
          if (renews && view) safeUntilMs = Math.max(safeUntilMs, sentMs + leaseTtlMs * (1 - MARGIN));
          resolve(word.value);
        });
    }
  }

  const stop = channel.onMessage((word) => {
    if (!closed) hear(word as HubWord);
  });
  channel.onClosed(shut);

  return {
    partitions,
    worker: async () => (await ask({ kind: 'worker' })) as number,
    async enter(self, hearing) {
      // Whoever enters has nothing, as the hub sees it too.
      ended();
      listener = hearing;
      await ask({ kind: 'enter', self }).catch((error) => {
        listener = null;
        throw error;
      });
      renew();
    },
    update: (change) => none({ kind: 'update', change }),
    claim: async (wanted) => (await ask({ kind: 'claim', partitions: wanted })) as readonly number[],
    publish: (epochs) => none({ kind: 'publish', epochs: [...epochs] }),
    release: (given) => none({ kind: 'release', partitions: given }),
    async leave() {
      await ask({ kind: 'leave' });
      listener = null;
      ended();
    },
    safeUntilMs: () => safeUntilMs,
    async close() {
      stop();
      shut();
    },
  };
}

function moved(
  view: ClusterView,
  { revision, shards, owners: changed }: Extract<HubWord, { kind: 'moved' }>,
) {
  const owners = [...view.owners];
  for (const [partition, owner] of changed) owners[partition] = owner;
  return { revision, shards, owners };
}
