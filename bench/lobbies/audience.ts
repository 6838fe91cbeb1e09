import { present } from '../../protocol/present.ts';
import { GatewayConnection } from '../gateway/connection.ts';
import { findStamp, markOf } from '../gateway/stamp.ts';
import { dissenters, Tally } from '../gateway/tally.ts';
import { add } from '../gateway/verdict.ts';
import { Latencies } from '../wire/histogram.ts';
import { inParallel } from './api.ts';
import type { Player } from './players.ts';

/** Kinds of followed events. Each kind has its own stamps, because a member's update also contains the lobby's metadata. */
export type Kind = 'message' | 'lobby' | 'member';

const DISPATCH: Readonly<Record<Kind, Buffer>> = {
  message: Buffer.from('"t":"LOBBY_MESSAGE_CREATE"'),
  lobby: Buffer.from('"t":"LOBBY_UPDATE"'),
  member: Buffer.from('"t":"LOBBY_MEMBER_UPDATE"'),
};

/** The run's id in the stamps of a kind. */
export const stampRunOf = (runId: string, kind: Kind): string => `${runId}${kind}`;

interface AudiencePlan {
  readonly url: URL;
  readonly intents: number;
  readonly capabilities: number;
  readonly runId: string;
  /** The members of each lobby. */
  readonly lobbies: readonly (readonly Player[])[];
  readonly identifyPerSecond: number;
  readonly onReady?: (ready: number) => void;
}

/** Deliveries of a kind since `follow`. */
interface Delivered {
  /** Latencies from the intended sending to each receipt. */
  readonly each: Latencies;
  /** Latencies from the intended sending to the receipt at the lobby's last member. */
  readonly last: Latencies;
  readonly deliveries: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly reordered: number;
  /** Deliveries in each second. */
  readonly timeline: readonly number[];
}

const CONNECTING_MAX = 64;
const SECOND_MICROS = 1e6;

/** The followed kind. Event `i` belongs to lobby `i % lobbies`, as its event `floor(i / lobbies)`. */
interface Following {
  readonly kind: Kind;
  readonly mark: Buffer;
  readonly startMicros: number;
  readonly total: number;
  /** For each event, the number of members that received it. */
  readonly reached: Uint16Array;
  /** By lobby, then by member. */
  readonly tallies: readonly (readonly Tally[])[];
  readonly each: Latencies;
  readonly last: Latencies;
  readonly timeline: number[];
  deliveries: number;
}

/** The sessions of all members, in this thread. Payloads are searched for stamps, not parsed. */
export class Audience {
  /** Sessions that ended early. */
  dropped = 0;
  /** Why they ended: a close code, `op 7` or `op 9`. */
  readonly closes: Record<string, number> = {};
  readonly #plan: AudiencePlan;
  readonly #connections: GatewayConnection[] = [];
  #following: Following | null = null;
  #isOver = false;

  constructor(plan: AudiencePlan) {
    this.#plan = plan;
  }

  /** Opens all sessions at the planned rate. Rejects when one cannot be opened. */
  async connect(): Promise<void> {
    const { lobbies, identifyPerSecond, onReady } = this.#plan;
    const seats = lobbies.flatMap((members, lobby) =>
      members.map((player, seat) => ({ player, lobby, seat })),
    );
    const startMs = performance.now();
    let ready = 0;
    await inParallel(seats.length, CONNECTING_MAX, async (index) => {
      const waitMs = startMs + (index * 1000) / identifyPerSecond - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const { player, lobby, seat } = present(seats[index]);
      await this.#open(player, lobby, seat);
      ready += 1;
      onReady?.(ready);
    });
  }

  /** Starts looking for stamps of a kind; `total` of them will be sent from `startMicros` on. */
  follow(kind: Kind, total: number, startMicros: number): void {
    const { lobbies, runId } = this.#plan;
    const ofLobby = Math.ceil(total / lobbies.length);
    this.#following = {
      kind,
      mark: Buffer.from(markOf(stampRunOf(runId, kind))),
      startMicros,
      total,
      reached: new Uint16Array(total),
      tallies: lobbies.map((members) => members.map(() => new Tally(ofLobby))),
      each: new Latencies(),
      last: new Latencies(),
      timeline: [],
      deliveries: 0,
    };
  }

  /** @param confirmed For each event, 1 if its request succeeded, so that it must have been delivered. */
  delivered(confirmed: Uint8Array): Delivered {
    const following = present(this.#following);
    const { tallies, reached, each, last, deliveries, timeline } = following;
    let lost = 0;
    for (const [index, isConfirmed] of confirmed.entries())
      if (isConfirmed === 1)
        lost += present(tallies[index % tallies.length]).length - present(reached[index]);
    const all = tallies.flat();
    return {
      each,
      last,
      deliveries,
      lost,
      duplicated: all.reduce((sum, tally) => sum + tally.duplicated, 0),
      // With losses, members cannot have seen the same order; losses are counted above.
      reordered:
        lost > 0
          ? 0
          : tallies.reduce((sum, members) => sum + dissenters(members.map(({ order }) => order)), 0),
      timeline: Array.from(timeline, (value) => value ?? 0),
    };
  }

  close(): void {
    this.#isOver = true;
    for (const connection of this.#connections) connection.close();
  }

  #open({ authorization }: Player, lobby: number, seat: number): Promise<void> {
    const { url, intents, capabilities } = this.#plan;
    return new Promise((resolve, reject) => {
      let isReady = false;
      const plan = { url, token: authorization, intents, capabilities, compress: false, scouts: false };
      const connection = new GatewayConnection(plan, {
        ready: () => {
          isReady = true;
          resolve();
        },
        payload: (payload, _, arrivedMicros) => {
          if (payload !== null) this.#came(payload, lobby, seat, arrivedMicros);
        },
        closed: (code, reason, op) => {
          if (!isReady) reject(new Error(`A session could not identify: ${code} ${reason}`));
          if (!isReady || this.#isOver) return;
          this.dropped += 1;
          add(this.closes, op === null ? code : `op ${op}`);
        },
      });
      this.#connections.push(connection);
    });
  }

  #came(payload: Buffer, lobby: number, seat: number, arrivedMicros: number): void {
    const following = this.#following;
    if (!following || payload.indexOf(DISPATCH[following.kind]) < 0) return;
    const stamp = findStamp(payload, following.mark);
    const lobbies = following.tallies.length;
    if (!stamp || stamp.index >= following.total || stamp.index % lobbies !== lobby) return;
    const members = present(following.tallies[lobby]);
    if (!present(members[seat]).see(Math.floor(stamp.index / lobbies))) return;
    const micros = arrivedMicros - stamp.intendedMicros;
    const reached = present(following.reached[stamp.index]) + 1;
    following.reached[stamp.index] = reached;
    following.each.record(micros);
    if (reached === members.length) following.last.record(micros);
    following.deliveries += 1;
    const second = Math.max(0, Math.floor((arrivedMicros - following.startMicros) / SECOND_MICROS));
    following.timeline[second] = (following.timeline[second] ?? 0) + 1;
  }
}
