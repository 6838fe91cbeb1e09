import type { Reply } from '../../engine/kernel/aggregate.ts';

export interface CommandKeyBounds {
  readonly keysMax: number;
  /** How long after it was first sent a command may be repeated. */
  readonly ageMs: number;
}

/** The reply to a command. `recorded`: the next owner finds the reply in the database. */
export interface KeptReply {
  readonly key: string;
  readonly reply: Reply<unknown>;
  /** Unix milliseconds. */
  readonly atMs: number;
}

type Answer = (reply: Reply<never>) => void;
type Fault = (error: Error) => void;

interface KeyEntry {
  readonly atMs: number;
  /** Null while the command is under way. */
  reply: Reply<unknown> | null;
  recorded: boolean;
  waiting: { readonly answer: Answer; readonly fault: Fault }[] | null;
}

/**
 * Replies to the commands of one aggregate by command key. A repeated command is not run again: it gets the first
 * reply, after waiting for it if the first is still under way. Bounded by age and count; the oldest is evicted first.
 */
export class CommandKeys {
  readonly #bounds: CommandKeyBounds;
  /** In order of arrival. Null before the first command, which most users never receive. */
  #entries: Map<string, KeyEntry> | null = null;

  constructor(bounds: CommandKeyBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** Answers a known command, at once or when its first run ends. False for a new command. */
  join(key: string, answer: Answer, fault: Fault): boolean {
    const entry = this.#entries?.get(key);
    if (!entry) return false;
    if (entry.reply) answer(entry.reply as Reply<never>);
    else {
      entry.waiting ??= [];
      entry.waiting.push({ answer, fault });
    }
    return true;
  }

  /** A new command starts; `settle` or `fail` follows. */
  begin(key: string, nowMs: number): void {
    this.#entries ??= new Map();
    this.#entries.set(key, { atMs: nowMs, reply: null, recorded: false, waiting: null });
    this.#evict(this.#entries, nowMs);
  }

  settle(key: string, reply: Reply<unknown>, recorded: boolean): void {
    const entry = this.#entries?.get(key);
    if (!entry) return;
    entry.reply = reply;
    entry.recorded = recorded;
    const { waiting } = entry;
    entry.waiting = null;
    for (const { answer } of waiting ?? []) answer(reply as Reply<never>);
  }

  /** The command was not run, or its result is unknown here. A repetition runs it. */
  fail(key: string, error: Error): void {
    const entry = this.#entries?.get(key);
    if (!entry || entry.reply) return;
    this.#entries?.delete(key);
    for (const { fault } of entry.waiting ?? []) fault(error);
  }

  /** Adds a reply of an earlier owner. */
  restore({ key, reply, atMs }: KeptReply, recorded: boolean): void {
    this.#entries ??= new Map();
    this.#entries.set(key, { atMs, reply, recorded, waiting: null });
  }

  /** Replies that the next owner cannot find in the database. */
  *unrecorded(): Iterable<KeptReply> {
    for (const [key, { reply, atMs, recorded }] of this.#entries ?? [])
      if (reply && !recorded) yield { key, reply, atMs };
  }

  /** The actor has ended: rejects all waiters. */
  end(error: Error): void {
    for (const key of [...(this.#entries?.keys() ?? [])]) this.fail(key, error);
  }

  #evict(entries: Map<string, KeyEntry>, nowMs: number): void {
    const { keysMax, ageMs } = this.#bounds;
    for (const [key, { atMs, reply }] of entries) {
      if (entries.size <= keysMax && atMs + ageMs >= nowMs) return;
      if (reply) entries.delete(key);
    }
  }
}
