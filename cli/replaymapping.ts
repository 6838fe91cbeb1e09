import { isSnowflake } from '../protocol/ids.ts';
import { isRecord } from '../protocol/json.ts';
import { TOO_LARGE } from '../protocol/recording.ts';
import { escaped, resolveStandIns } from '../protocol/standins.ts';

/** A place where two answers differ. */
export interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

const STAND_IN = /⟨secret:\d+⟩/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)$/;
const ADDRESS = /\b(https?|wss?):\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/g;
/** The signature of a link to a file. */
const SIGNATURE = /\?ex=[0-9a-f]+&is=[0-9a-f]+&hm=[0-9a-f]+&?/g;
/** Values that differ between any two runs. */
const VARYING = new Set([
  ...[
    'session_id',
    'resume_gateway_url',
    'joined_at',
    'timestamp',
    'edited_timestamp',
    'expires',
    'expires_at',
  ],
  ...[
    'expires_in',
    'retry_after',
    'last_pin_timestamp',
    'nonce_expires',
    'verify_key',
    'created_at',
    'since',
  ],
  ...[
    'last_modified',
    'hash',
    'etag',
    '_trace',
    'key',
    'scheduled_start_time',
    'client_status',
    'expires_at_s',
  ],
]);
const DEPTH_MAX = 64;
/** Most differences of one answer. */
const DIFFERENCES_MAX = 20;
const MAPPED_MAX = 1_000_000;

/**
 * Maps the ids and secrets of a recording to those of the replay. It learns from answers: where the recording has an id, the
 * replay has its own at the same place.
 */
export class ReplayMapping {
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #secrets = new Map<string, string>();

  /** Puts the replay's ids and secrets in the place of the recording's. */
  text(text: string): string {
    const revealed = resolveStandIns(text, (standIn) => this.#secrets.get(standIn));
    return revealed.replaceAll(/\d{15,20}/g, (id) => this.#ids.get(id) ?? id);
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.value(each));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.text(name), this.value(each)]),
    );
  }

  /** Whether every secret of a text is known. */
  knows(text: string): boolean {
    return [...text.matchAll(STAND_IN)].every(([standIn]) => this.#secrets.has(standIn));
  }

  /** Learns from two values of the same thing. @returns where they differ, with ids, secrets and times set aside. */
  compare(recorded: unknown, replayed: unknown): Difference[] {
    const differences: Difference[] = [];
    this.#walk(recorded, replayed, '', differences, 0);
    return differences.slice(0, DIFFERENCES_MAX);
  }

  #walk(recorded: unknown, replayed: unknown, path: string, found: Difference[], depth: number): void {
    if (recorded === TOO_LARGE || depth > DEPTH_MAX || found.length >= DIFFERENCES_MAX) return;
    const isSame =
      typeof recorded === 'string' && typeof replayed === 'string'
        ? this.#learns(recorded, replayed)
        : recorded === replayed || bothEmpty(recorded, replayed);
    if (isSame) return;
    if (Array.isArray(recorded) && Array.isArray(replayed)) {
      if (recorded.length !== replayed.length)
        found.push({ path: `${path}.length`, recorded: recorded.length, replayed: replayed.length });
      for (const [at, each] of recorded.slice(0, replayed.length).entries())
        this.#walk(each, replayed[at], `${path}[${at}]`, found, depth + 1);
    } else if (isRecord(recorded) && isRecord(replayed)) this.#fields(recorded, replayed, path, found, depth);
    else found.push({ path, recorded, replayed });
  }

  #fields(
    recorded: Readonly<Record<string, unknown>>,
    replayed: Readonly<Record<string, unknown>>,
    path: string,
    found: Difference[],
    depth: number,
  ): void {
    // Ids first, so that a map whose keys are ids finds them.
    for (const [name, each] of Object.entries(recorded))
      if (typeof each === 'string' && typeof replayed[name] === 'string') this.#learns(each, replayed[name]);
    const seen = new Set<string>();
    for (const [name, each] of Object.entries(recorded)) {
      const own = this.text(name);
      seen.add(own);
      const at = path === '' ? name : `${path}.${name}`;
      if (!VARYING.has(name)) this.#walk(each, replayed[own], at, found, depth + 1);
      else if (typeof each === 'string' && typeof replayed[own] === 'string')
        this.#learns(each, replayed[own]);
    }
    for (const [name, each] of Object.entries(replayed))
      if (!seen.has(name) && !VARYING.has(name) && each !== undefined && found.length < DIFFERENCES_MAX)
        found.push({ path: path === '' ? name : `${path}.${name}`, recorded: undefined, replayed: each });
  }

  /** Whether two texts mean the same; an id or a secret that is not known yet is learned. */
  #learns(recorded: string, replayed: string): boolean {
    if (/^⟨secret:\d+⟩$/.test(recorded)) {
      this.#learnsSecret(recorded, replayed);
      return true;
    }
    if (isSnowflake(recorded) && isSnowflake(replayed)) return this.#learnsId(recorded, replayed);
    if (TIME.test(recorded) && TIME.test(replayed)) return true;
    if (!this.knows(recorded)) this.#learnsWithin(recorded, replayed);
    return comparable(this.text(recorded)) === comparable(replayed);
  }

  /** Learns the secrets of a text around which both texts are the same, such as the code of a redirect. */
  #learnsWithin(recorded: string, replayed: string): void {
    const names = recorded.match(STAND_IN) ?? [];
    const around = recorded.split(STAND_IN).map((text) => escaped(comparable(this.text(text))));
    const found = new RegExp(`^${around.join('([^\\s&#?/]+)')}$`).exec(comparable(replayed));
    for (const [at, name] of names.entries()) {
      const secret = found?.[at + 1];
      if (secret !== undefined) this.#learnsSecret(name, secret);
    }
  }

  /** A secret may be renewed: the last one is kept. */
  #learnsSecret(standIn: string, secret: string): void {
    if (this.#secrets.size < MAPPED_MAX) this.#secrets.set(standIn, secret);
  }

  #learnsId(recorded: string, replayed: string): boolean {
    const known = this.#ids.get(recorded);
    if (known !== undefined) return known === replayed;
    if (recorded === replayed && recorded.length < 15) return true;
    if (recorded.length < 15 || this.#taken.has(replayed) || this.#ids.size >= MAPPED_MAX) return false;
    this.#ids.set(recorded, replayed);
    this.#taken.add(replayed);
    return true;
  }
}

const comparable = (text: string): string =>
  text.replaceAll(ADDRESS, '$1://server').replaceAll(SIGNATURE, '?signed');

const bothEmpty = (one: unknown, other: unknown): boolean =>
  (one ?? null) === null && (other ?? null) === null;
