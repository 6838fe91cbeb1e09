import type { JournalStore, JournalWriter } from '../../storage/journal/port.ts';
import type { Ownership, Router, ShardInfo } from '../placement/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface BuddyPorts {
  readonly ownership: Pick<Ownership, 'self' | 'view' | 'onChange'>;
  readonly router: Pick<Router, 'askShard' | 'serve'>;
  readonly store: JournalStore;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Wheel;
  /** Of the two names, the same on all shards: the higher, the nearer. */
  readonly score: (shardId: string, peerId: string) => number;
  /** Begins a segment of the own journal: a copy can only be begun, or gone on with after a gap, at one. */
  readonly rotate: () => void;
  readonly settings: {
    /** What the copy of one shard's journal may take on disk. */
    readonly bytesMax: number;
    /** How old its segments may become. */
    readonly ageMs: number;
  };
  readonly onFault: (error: unknown) => void;
}

export type CopyPorts = Omit<BuddyPorts, 'score' | 'rotate'>;

/** A part of a segment on its way. */
interface Part {
  readonly segment: number;
  /** Where it begins in the segment. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** What may wait for the buddy; beyond it the copy is begun anew. */
const WAITING_BYTES_MAX = 16 << 20;
const QUESTION_BYTES_MAX = 4 << 20;
const ASK_DEADLINE_MS = 5000;
const RETRY_MS = 1000;
/** Copies that are kept at one time: of so many shards. */
const COPIES_MAX = 64;

/**
 * Sends this shard's journal to another one, on another disk and if possible another machine, from which sessions can be
 * taken when this machine is gone. Shards that share the place of their journals need no copy.
 */
export class Buddy {
  readonly #ports: BuddyPorts;
  #chosen: ShardInfo | null = null;
  readonly #places = new Map<string, Promise<string | null>>();
  #parts: Part[] = [];
  #waitingBytes = 0;
  /** False: nothing is copied until the next segment begins. */
  #copying = false;
  #sending = false;
  #choosing = 0;

  constructor(ports: BuddyPorts) {
    this.#ports = ports;
    const { ownership, router, store } = ports;
    router.serve('journals.location', () => store.id);
    ownership.onChange(({ gone, came }) => {
      if (gone.length + came.length > 0) this.#choose();
    });
  }

  get waitingBytesMax(): number {
    return WAITING_BYTES_MAX;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get shardId(): string | null {
    return this.#chosen?.id ?? null;
  }

  /** A batch was written to a segment, from this byte of it on. */
  tap(batch: Uint8Array, segment: number, at: number): void {
    // A copy begins with a segment, which names all sessions.
    if (!this.#chosen || (!this.#copying && at !== 0)) return;
    this.#copying = true;
    if (this.#waitingBytes + batch.length > WAITING_BYTES_MAX) {
      this.#restart();
      return;
    }
    this.#parts.push({ segment, at, bytes: batch.slice() });
    this.#waitingBytes += batch.length;
    if (!this.#sending) void this.#send(this.#chosen);
  }

  /** Lets everything go that waits, and copies from the next segment on. */
  #restart(): void {
    this.#parts = [];
    this.#waitingBytes = 0;
    this.#copying = false;
    this.#ports.wheel.after(() => {
      if (this.#chosen && !this.#copying) this.#ports.rotate();
    }, RETRY_MS);
  }

  async #send(to: ShardInfo): Promise<void> {
    const self = this.#ports.ownership.self;
    this.#sending = true;
    while (this.#parts.length > 0 && this.#chosen === to && self) {
      const [first] = this.#parts as [Part];
      const parts = this.#partsOf(first.segment);
      const bytes = parts.length === 1 ? first.bytes : Buffer.concat(parts.map((part) => part.bytes));
      const question = [self.id, self.instance, first.segment, first.at, bytes] as const;
      try {
        const isKept = await this.#ports.router.askShard(to.id, 'journals.append', question, ASK_DEADLINE_MS);
        if (this.#parts[0] !== first) continue;
        if (isKept !== true) this.#restart();
        else {
          this.#parts.splice(0, parts.length);
          this.#waitingBytes -= bytes.length;
        }
      } catch {
        // Sent again: what arrived the first time is known by where it begins.
        if (!(await this.#ports.wheel.pause(RETRY_MS))) return;
      }
    }
    this.#sending = false;
    if (this.#parts.length > 0 && this.#chosen) void this.#send(this.#chosen);
  }

  /** The first of those that wait, as far as they are of one segment and fit one question. */
  #partsOf(segment: number): Part[] {
    const parts: Part[] = [];
    let bytes = 0;
    for (const part of this.#parts) {
      if (part.segment !== segment || (bytes > 0 && bytes + part.bytes.length > QUESTION_BYTES_MAX)) break;
      parts.push(part);
      bytes += part.bytes.length;
    }
    return parts;
  }

  #choose(): void {
    this.#choosing += 1;
    const turn = this.#choosing;
    this.#best()
      .then((best) => {
        if (turn !== this.#choosing || best?.instance === this.#chosen?.instance) return;
        this.#chosen = best;
        this.#restart();
      })
      .catch((error) => this.#ports.onFault(error));
  }

  async #best(): Promise<ShardInfo | null> {
    const { ownership, score } = this.#ports;
    const { self, view } = ownership;
    if (!self) return null;
    const peers = view.shards.filter(({ instance, draining }) => instance !== self.instance && !draining);
    const places = await Promise.all(peers.map((peer) => this.#placeOf(peer)));
    const apart = peers.filter((_, at) => places[at] !== null && places[at] !== this.#ports.store.id);
    const elsewhere = apart.filter(({ host }) => host !== self.host);
    const [best = null] = (elsewhere.length > 0 ? elsewhere : apart).toSorted(
      (a, b) => score(self.id, b.id) - score(self.id, a.id),
    );
    return best;
  }

  /** Where a shard's journals lie; null when it does not say. */
  #placeOf({ id, instance }: ShardInfo): Promise<string | null> {
    let place = this.#places.get(instance);
    if (!place) {
      const asked = this.#ports.router.askShard(id, 'journals.location', [], ASK_DEADLINE_MS);
      place = asked.catch(() => {
        this.#places.delete(instance);
        this.#ports.wheel.after(() => this.#choose(), 2 * RETRY_MS);
        return null;
      });
      this.#places.set(instance, place);
    }
    return place;
  }
}

/** Copies of other shards' journals, as these send them. */
export class Copies {
  readonly #ports: CopyPorts;
  readonly #copies = new Map<string, Copy>();
  /** One append after the other, for each shard. */
  readonly #tails = new Map<string, Promise<unknown>>();

  constructor(ports: CopyPorts) {
    this.#ports = ports;
    ports.router.serve(
      'journals.append',
      ([shardId, instance, segment, at, bytes]: [string, string, number, number, Uint8Array]) =>
        this.#inTurn(instance, () => this.#append(shardId, instance, { segment, at, bytes })),
    );
    ports.ownership.onChange(({ gone }) => {
      for (const { instance } of gone)
        ports.wheel.after(() => this.#endIfGone(instance), ports.settings.ageMs);
    });
  }

  get bytes(): number {
    let bytes = 0;
    for (const { writer } of this.#copies.values()) bytes += writer.bytes;
    return bytes;
  }

  close(): void {
    for (const instance of [...this.#copies.keys()]) this.#end(instance);
  }

  #inTurn(instance: string, run: () => Promise<boolean>): Promise<boolean> {
    const done = (this.#tails.get(instance) ?? Promise.resolve()).then(run, run);
    const tail = done.catch((error) => this.#ports.onFault(error));
    this.#tails.set(instance, tail);
    void tail.then(() => {
      if (this.#tails.get(instance) === tail) this.#tails.delete(instance);
    });
    return done;
  }

  /** False: it does not go on where the copy ends, which must be begun anew with a segment. */
  async #append(shardId: string, instance: string, part: Part): Promise<boolean> {
    let copy = this.#copies.get(instance);
    if (!copy) {
      if (part.at !== 0 || this.#copies.size >= COPIES_MAX) return false;
      copy = { writer: await this.#ports.store.open(shardId, instance, true), segment: 0, ended: [] };
      this.#copies.set(instance, copy);
    }
    const { writer } = copy;
    if (part.segment > copy.segment) {
      if (part.at !== 0) return false;
      if (copy.segment > 0) copy.ended.push(this.#ports.clock.monotonic());
      writer.rotate();
      copy.segment = part.segment;
    }
    const { bytes: has } = writer.segment;
    if (part.segment === copy.segment && part.at > has) return false;
    // Some of it may have come before, when the answer was lost.
    const more = part.segment < copy.segment ? 0 : part.at + part.bytes.length - has;
    if (more > 0) writer.append(part.bytes.subarray(part.bytes.length - more));
    this.#trim(copy);
    return true;
  }

  #trim(copy: Copy): void {
    const { clock, settings } = this.#ports;
    const beforeMs = clock.monotonic() - settings.ageMs;
    // The newest segment may not have named all sessions yet: the one before it stays in any case.
    while (
      copy.ended.length > 1 &&
      ((copy.ended[0] as number) < beforeMs || copy.writer.bytes > settings.bytesMax)
    ) {
      if (!copy.writer.drop()) return;
      copy.ended.shift();
    }
  }

  /** Who has only been out of reach goes on with its copy. */
  #endIfGone(instance: string): void {
    const { shards } = this.#ports.ownership.view;
    if (!shards.some((shard) => shard.instance === instance)) this.#end(instance);
  }

  #end(instance: string): void {
    this.#copies.get(instance)?.writer.close();
    this.#copies.delete(instance);
  }
}

interface Copy {
  readonly writer: JournalWriter;
  /** As its shard counts. */
  segment: number;
  /** When those before it were ended, oldest first. */
  readonly ended: number[];
}
