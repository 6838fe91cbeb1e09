import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import {
  type ActivityChange,
  type ActivityFact,
  type ActivityInstance,
  instanceAt,
  joinActivity,
  lapseActivity,
  leaveActivity,
  nextLapseMs,
  withFreshLeases,
} from '../../engine/activity/instance.ts';
import type { Outcome, Reply } from '../../engine/kernel/aggregate.ts';
import type { ActivityStore } from '../../storage/activity/port.ts';
import type { ActivityRequest } from './ports.ts';

interface OwnerPorts {
  readonly store: Pick<ActivityStore, 'ofOwner'>;
  /** Stores a change, and shows it to those who see the location if `isShown`. */
  change(change: ActivityChange, facts: readonly ActivityFact[]): Promise<void>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timers. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nextId: () => string;
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

interface Loaded {
  instances: readonly ActivityInstance[];
  timer: Timer | null;
}

/** Retry delay after a failed write of expired leases. */
const AGAIN_MS = 5_000;

/**
 * Running activities that this shard owns. Joins and leaves are stored and shown in one commit; leases are in memory, and
 * start again with the owner. One change of a guild or private channel follows the other.
 */
export class ActivityOwner {
  readonly #ports: OwnerPorts;
  readonly #loaded = new Map<string, Loaded>();
  /** Owners whose instances are read again after a fault. */
  readonly #retries = new Map<string, Timer>();
  readonly #mutex = keyedMutex<string>();

  constructor(ports: OwnerPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#cancel());
  }

  /** Instances in memory. */
  get running(): number {
    return [...this.#loaded.values()].reduce((sum, { instances }) => sum + instances.length, 0);
  }

  /** Others own these now. */
  forgetMoved(moved: (ownerId: string) => boolean): void {
    for (const ownerId of this.#loaded.keys()) if (moved(ownerId)) this.#forget(ownerId);
  }

  async instances(ownerId: string): Promise<readonly ActivityInstance[]> {
    return this.#in(ownerId, async ({ instances }) => instances);
  }

  /** Reads what an earlier owner left, and begins to count its leases. */
  async adopt(ownerId: string): Promise<void> {
    await this.instances(ownerId);
  }

  join(request: ActivityRequest): Promise<Reply<ActivityInstance>> {
    const { nowMs, nextId } = this.#ports;
    return this.#in(request.ownerId, async (loaded) => {
      const decided = joinActivity(loaded.instances, request, { nowMs: nowMs(), nextId });
      if (!decided.ok) return { ok: false, refusal: decided.refusal };
      await this.#become(loaded, decided);
      return { ok: true, value: decided.value.instance };
    });
  }

  leave(request: ActivityRequest): Promise<void> {
    return this.#in(request.ownerId, async (loaded) => {
      const before = instanceAt(loaded.instances, request);
      if (before) await this.#become(loaded, leaveActivity(before, request));
    });
  }

  /** Runs after the earlier requests of the owner, over what is stored. */
  #in<Value>(ownerId: string, request: (loaded: Loaded) => Promise<Value>): Promise<Value> {
    return this.#mutex(ownerId, async () => {
      const loaded = await this.#load(ownerId);
      try {
        return await request(loaded);
      } catch (error) {
        // Whether it was stored is unknown: the next request reads what was.
        this.#forget(ownerId);
        throw error;
      } finally {
        this.#await(ownerId, loaded);
      }
    });
  }

  async #load(ownerId: string): Promise<Loaded> {
    const known = this.#loaded.get(ownerId);
    if (known) return known;
    const { store, nowMs, scope } = this.#ports;
    this.#retries.get(ownerId)?.cancel();
    this.#retries.delete(ownerId);
    const stored = await store.ofOwner(ownerId);
    const loaded: Loaded = {
      instances: stored.map((one) => withFreshLeases(one, nowMs())),
      timer: null,
    };
    if (!scope.over) this.#loaded.set(ownerId, loaded);
    return loaded;
  }

  async #become(loaded: Loaded, decided: Outcome<ActivityChange | null, ActivityFact>): Promise<void> {
    if (!decided.ok || decided.value === null) return;
    const { instance } = decided.value;
    if (decided.facts.length > 0) await this.#ports.change(decided.value, decided.facts);
    const others = loaded.instances.filter((one) => one !== instanceAt(loaded.instances, instance));
    loaded.instances = instance.connections.length === 0 ? others : [...others, instance];
  }

  /** Waits for the next connection to lapse; forgets an owner without activities. */
  #await(ownerId: string, loaded: Loaded): void {
    loaded.timer?.cancel();
    loaded.timer = null;
    if (this.#loaded.get(ownerId) !== loaded) return;
    if (loaded.instances.length === 0) this.#loaded.delete(ownerId);
    else this.#wake(ownerId, loaded, nextLapseMs(loaded.instances) - this.#ports.nowMs());
  }

  #wake(ownerId: string, loaded: Loaded, delayMs: number): void {
    loaded.timer = this.#ports.wheel.add(() => {
      this.#lapse(ownerId).catch((error: unknown) => {
        if (this.#ports.scope.over) return;
        this.#ports.onFault(error);
        // The instances are read again, with whole leases, once the database answers.
        const again = () => void this.adopt(ownerId).catch(this.#ports.onFault);
        this.#retries.set(ownerId, this.#ports.wheel.add(again, AGAIN_MS));
      });
    }, delayMs);
  }

  #lapse(ownerId: string): Promise<void> {
    return this.#in(ownerId, async (loaded) => {
      const atMs = this.#ports.nowMs();
      for (const before of loaded.instances) await this.#become(loaded, lapseActivity(before, atMs));
    });
  }

  #forget(ownerId: string): void {
    this.#loaded.get(ownerId)?.timer?.cancel();
    this.#loaded.delete(ownerId);
  }

  #cancel(): void {
    for (const { timer } of this.#loaded.values()) timer?.cancel();
    this.#loaded.clear();
    for (const timer of this.#retries.values()) timer.cancel();
    this.#retries.clear();
  }
}
