import type { ClaimedSession } from '../../storage/journal/port.ts';
import type { Ownership, Router } from '../placement/ports.ts';

export interface RejoinPorts {
  readonly ownership: Pick<Ownership, 'self' | 'state' | 'view' | 'onChange'>;
  readonly router: Pick<Router, 'askShard' | 'serve'>;
  readonly sessions: () => {
    readonly live: ReadonlyMap<string, { readonly seq: number }>;
    abandon(sessionId: string, handle?: number): void;
    reassert(sessionId: string): Promise<void>;
  };
  /** Sessions that other shards took from this run's journal. */
  readonly taken: () => Promise<readonly ClaimedSession[]>;
  readonly onFault: (error: unknown) => void;
}

/** Upper bound on the ids of one request. */
const IDS_MAX = 5000;
const DEADLINE_MS = 5000;

/**
 * A shard that was presumed dead (suspended for long, or partitioned) still has its sessions when it rejoins, while
 * other shards may have taken some of them. It abandons those, and their new shards reopen them, in case this shard has
 * opened them with their owners since. Where both have been away, the one that has counted further was resumed last.
 */
export function watchRejoins(ports: RejoinPorts): void {
  const { ownership, router, sessions, onFault } = ports;
  let wasServing = false;
  let wasLost = false;
  ownership.onChange(() => {
    const { state } = ownership;
    wasLost ||= wasServing && state === 'joining';
    wasServing ||= state === 'serving';
    if (!wasLost || state !== 'serving') return;
    wasLost = false;
    settleHeld(ports).catch(onFault);
  });
  router.serve('sessions.held', async ([ids, seqs = []]) => {
    // The caller may have taken one of them from this run's journal since the last look. If this shard claimed to hold it, both would
    // abandon it.
    await abandonTaken(ports);
    return ids.filter((id, at) => {
      const held = sessions().live.get(id);
      const isBehind = held !== undefined && held.seq < (seqs[at] ?? 0);
      if (isBehind) sessions().abandon(id);
      return held !== undefined && !isBehind;
    });
  });
  router.serve('sessions.reassert', ([ids]) => {
    for (const id of ids) sessions().reassert(id).catch(onFault);
  });
}

/** Abandons the sessions that other shards took from this run's journal. */
export async function abandonTaken({
  sessions,
  taken,
}: Pick<RejoinPorts, 'sessions' | 'taken'>): Promise<void> {
  for (const { sessionId, handle } of await taken()) sessions().abandon(sessionId, handle);
}

/** Abandons the sessions that other shards hold, which open those with their owners again. */
async function settleHeld(ports: RejoinPorts): Promise<void> {
  const { ownership, router, sessions, onFault } = ports;
  await abandonTaken(ports);
  const { self, view } = ownership;
  const peers = view.shards.filter(({ instance }) => instance !== self?.instance);
  const own = [...sessions().live].map(([id, { seq }]) => ({ id, seq }));
  for (let from = 0; from < own.length; from += IDS_MAX) {
    const some = own.slice(from, from + IDS_MAX);
    const args = [some.map(({ id }) => id), some.map(({ seq }) => seq)] as const;
    const asked = peers.map(async ({ id: shardId }) => {
      const held = await router.askShard(shardId, 'sessions.held', args, DEADLINE_MS);
      for (const id of held) sessions().abandon(id);
      if (held.length > 0) await router.askShard(shardId, 'sessions.reassert', [held], DEADLINE_MS);
    });
    for (const outcome of await Promise.allSettled(asked))
      if (outcome.status === 'rejected') onFault(outcome.reason);
  }
}
