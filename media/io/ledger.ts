import type { NonceReport } from '../sfu/ports.ts';
import type { LaneOrder, MemberOrder } from './orders.ts';

type OrderOf<T extends LaneOrder['type']> = Extract<LaneOrder, { readonly type: T }>;
/** Orders of which only the latest per member matters: each replaces the previous one completely. */
type Lasting = OrderOf<'payloadTypes' | 'gate' | 'audience' | 'streams' | 'wants'>;

interface LedgerEntry {
  readonly join: OrderOf<'join'>;
  transport: OrderOf<'udp'> | OrderOf<'peer'> | null;
  /** Nonces used with the transport's key; null before the lane's first report. */
  nonces: NonceReport | null;
  readonly lasting: Map<Lasting['type'], Lasting>;
}

interface Room {
  encryptedOnly: OrderOf<'encryptedOnly'> | null;
  readonly ssrcs: Set<number>;
}

/** The state that a restarted lane needs, collected from the orders sent to the lane and from its reports. */
export class Ledger {
  readonly #rooms = new Map<string, Room>();
  readonly #entries = new Map<number, LedgerEntry>();

  get callIds(): readonly string[] {
    return [...this.#rooms.keys()];
  }

  /** Number of members; measures a lane's load. */
  get memberCount(): number {
    return this.#entries.size;
  }

  /** Records an order; an order about an unknown call or member changes nothing. */
  note(order: LaneOrder): void {
    if (order.type === 'open') {
      if (!this.#rooms.has(order.callId))
        this.#rooms.set(order.callId, { encryptedOnly: null, ssrcs: new Set() });
    } else if ('callId' in order) this.#noteOfRoom(order);
    else this.#noteOfMember(order);
  }

  #noteOfRoom(order: OrderOf<'close' | 'encryptedOnly' | 'join'>): void {
    const room = this.#rooms.get(order.callId);
    if (!room) return;
    if (order.type === 'encryptedOnly') room.encryptedOnly = order;
    else if (order.type === 'join') {
      room.ssrcs.add(order.member.ssrc);
      this.#entries.set(order.member.ssrc, {
        join: order,
        transport: null,
        nonces: null,
        lasting: new Map(),
      });
    } else {
      for (const ssrc of room.ssrcs) this.#entries.delete(ssrc);
      this.#rooms.delete(order.callId);
    }
  }

  #noteOfMember(order: MemberOrder): void {
    const entry = this.#entries.get(order.ssrc);
    if (!entry) return;
    if (order.type === 'leave') {
      this.#entries.delete(order.ssrc);
      this.#rooms.get(entry.join.callId)?.ssrcs.delete(order.ssrc);
    } else if (order.type === 'udp' || order.type === 'peer') {
      entry.transport = order;
      entry.nonces = null;
    } else if (order.type === 'disconnect') entry.transport = null;
    else entry.lasting.set(order.type, order);
  }

  /** Records how many nonces a member's key has used, and the member's address. */
  noteNonces(report: NonceReport): void {
    const entry = this.#entries.get(report.ssrc);
    if (entry?.transport?.type !== 'udp') return;
    // A report about the previous key may arrive late; continuing from the higher of the two counts is safe for both keys.
    const sent = Math.max(report.sent, entry.nonces?.sent ?? 0);
    entry.nonces = { ...report, sent };
  }

  /** Yields the orders that give a new lane the state of the old one. */
  *replay(): Generator<LaneOrder> {
    for (const [callId, { encryptedOnly, ssrcs }] of this.#rooms) {
      yield { type: 'open', callId };
      if (encryptedOnly) yield encryptedOnly;
      for (const ssrc of ssrcs) yield* this.#replayMember(ssrc);
    }
  }

  *#replayMember(ssrc: number): Generator<LaneOrder> {
    const { join, transport, nonces, lasting } = this.#entries.get(ssrc) as LedgerEntry;
    yield join;
    if (transport?.type === 'udp') {
      // Without a report the key may still have been used, but for fewer packets than the margin.
      const resume = nonces ?? { ssrc, sent: 0, received: null, address: null };
      yield { ...transport, transport: { ...transport.transport, resume } };
    } else if (transport) yield transport;
    yield* lasting.values();
  }
}
