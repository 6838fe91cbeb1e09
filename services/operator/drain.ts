import type { Ownership } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { withTimeout } from '../../actors/runtime/timeout.ts';
import type { Writer } from '../../storage/ports.ts';
import type { Accounts } from '../accounts/ports.ts';

/** Parts of the drain time. The rest is for commits. */
const SHARE = { handover: 0.3, sessions: 0.6, moving: 0.5 };

interface DrainPorts {
  readonly timeoutMs: number;
  readonly ownership: Pick<Ownership, 'drain'>;
  /** Stops accepting connections and asks sessions to reconnect; resolves when they have left, within `timeoutMs`. */
  readonly network: { drain(timeoutMs: number): Promise<void> };
  readonly writer: Pick<Writer, 'flush'>;
  readonly accounts: Pick<Accounts, 'idle'>;
  /** Their requests to applications' URLs are lost with this process. */
  readonly interactions: { idle(): Promise<void> };
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly onFault: (error: unknown, where: string) => void;
}

/** Empties a process that is about to stop: aggregates move to other shards, sessions reconnect, commits are written. */
export async function drain(ports: DrainPorts): Promise<void> {
  const { timeoutMs, ownership, clock, onFault } = ports;
  // Clients that reconnect then find the new owners. The rest of the drain time is for sessions and commits.
  const handedOver = withTimeout(ownership.drain(), timeoutMs * SHARE.handover, clock);
  await handedOver.catch((error) => onFault(error, 'drain'));
  await ports.network.drain(timeoutMs * SHARE.sessions);
  const written = () => ports.writer.flush().catch((error) => onFault(error, 'drain'));
  await Promise.all([ports.interactions.idle(), written(), ports.accounts.idle()]);
}

/**
 * How long sockets of calls stay open in a drain. Members of a moving call soon receive its new endpoint; closing now
 * would only make them reconnect here.
 */
export const movingMs = ({ leaving }: { readonly leaving: number }, timeoutMs: number): number =>
  leaving > 0 ? timeoutMs * SHARE.moving : 0;
