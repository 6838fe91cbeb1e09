import { networkOf } from '../../protocol/addresses.ts';
import type { Inbound } from './inbound.ts';
import { Shares } from './shares.ts';

/**
 * Bounds the requests and WebSockets of each network. Reading the address of a connection takes a system call. So no request's
 * address is read while all networks together have fewer under way than one may have. At that number, the addresses of all
 * requests under way are read.
 */
export class Networks {
  readonly #shares: Shares;
  readonly #perOneMax: number;
  readonly #trustProxy: boolean;
  readonly #unread = new Set<Inbound>();

  /** @param trustProxy Whether a proxy in front names the client in X-Forwarded-For. */
  constructor(max: number, perOneMax: number, trustProxy: boolean) {
    this.#shares = new Shares(max, perOneMax);
    this.#perOneMax = perOneMax;
    this.#trustProxy = trustProxy;
  }

  /**
   * Counts a request until it is over.
   *
   * @param isSocket Whether its connection becomes a WebSocket: the address cannot be read later.
   * @returns false when its network has too much under way.
   */
  admit(inbound: Inbound, isSocket: boolean): boolean {
    if (this.#unread.size + this.#shares.total >= this.#perOneMax) {
      for (const each of this.#unread) this.#take(each);
      this.#unread.clear();
      return this.#take(inbound);
    }
    if (isSocket) return this.#take(inbound);
    this.#unread.add(inbound);
    inbound.onOver(() => this.#unread.delete(inbound));
    return true;
  }

  #take(inbound: Inbound): boolean {
    const giveBack = this.#shares.take(networkOf(inbound.address(this.#trustProxy)));
    if (giveBack) inbound.onOver(giveBack);
    return giveBack !== null;
  }
}
