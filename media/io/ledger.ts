import type { NonceReport } from '../sfu/ports.ts';
import type { MemberOrder, Order } from './orders.ts';

type Of<T extends Order['type']> = Extract<Order, { readonly type: T }>;
/** Each of these replaces the one before it, whole. */
type Lasting = Of<'payloadTypes' | 'gate' | 'audience' | 'streams' | 'wants'>;

interface Entry {
  readonly join: Of<'join'>;
  transport: Of<'udp'> | Of<'peer'> | null;
  /** Of the transport's key; null before the lane has reported any. */
  nonces: NonceReport | null;
  readonly lasting: Map<Lasting['type'], Lasting>;
}

interface Room {
  encryptedOnly: Of<'encryptedOnly'> | null;
  readonly ssrcs: Set<number>;
}

/** All that a successor of a lane must be told. It learns from the very orders that the lane gets. */
export class Ledger {
  readonly #rooms = new Map<string, Room>();
  readonly #entries = new Map<number, Entry>();

  get callIds(): readonly string[] {
    return [...this.#rooms.keys()];
  }

  /** Measures how much a lane has to do. */
  get memberCount(): number {
    return this.#entries.size;
  }

  /** Notes an order; one about nothing that is known changes nothing. */
  note(order: Order): void {
    if (order.type === 'open') {
      if (!this.#rooms.has(order.callId))
        this.#rooms.set(order.callId, { encryptedOnly: null, ssrcs: new Set() });
    } else if ('callId' in order) this.#noteOfRoom(order);
    else this.#noteOfMember(order);
  }

  #noteOfRoom(order: Of<'close' | 'encryptedOnly' | 'join'>): void {
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

  /** Notes how far nonces have got, and where the member is. */
  noteNonces(report: NonceReport): void {
    const entry = this.#entries.get(report.ssrc);
    if (entry?.transport?.type !== 'udp') return;
    // A report about the key before may still be on its way; counting on from the higher of the two harms neither.
    const sent = Math.max(report.sent, entry.nonces?.sent ?? 0);
    entry.nonces = { ...report, sent };
  }

  /** The orders that make a new lane what the old one was. */
  *replay(): Generator<Order> {
    for (const [callId, { encryptedOnly, ssrcs }] of this.#rooms) {
      yield { type: 'open', callId };
      if (encryptedOnly) yield encryptedOnly;
      for (const ssrc of ssrcs) yield* this.#replayMember(ssrc);
    }
  }

  *#replayMember(ssrc: number): Generator<Order> {
    const { join, transport, nonces, lasting } = this.#entries.get(ssrc) as Entry;
    yield join;
    if (transport?.type === 'udp') {
      // Without a report the key may have been used all the same, for less than the margin.
      const resume = nonces ?? { ssrc, sent: 0, received: null, address: null };
      yield { ...transport, transport: { ...transport.transport, resume } };
    } else if (transport) yield transport;
    yield* lasting.values();
  }
}
