import { rootCertificates } from 'node:tls';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { checkedLookup, type Resolve, resolveBySystem } from '../outgoing/connection.ts';
import { mayContact, mayContactAt, type Permitted } from '../outgoing/endpoints.ts';
import { type ConnectOptions, Pool, type Ticks, Total } from './pool.ts';

export interface SiteSettings extends Permitted {
  /** CA certificates, PEM, trusted besides the usual ones. */
  readonly extraCa: string | null;
  readonly resolve?: Resolve;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** A host of targets that may be contacted. */
export interface ProxyTarget {
  readonly url: URL;
  readonly pool: Pool;
  /** Options of a connection. Names resolve only to addresses that may be contacted. */
  readonly connect: ConnectOptions;
}

/** Hosts of targets that are known; mappings with parameters in a host make many. */
const SITES_MAX = 1_000;
const TICK_MS_MAX = 500;

interface SitesBounds {
  /** Connections to all targets. */
  readonly targetConnections: number;
  /** Timeout for a connection, and for the first and each further part of an answer. */
  readonly targetMs: number;
  readonly exchangeMs: number;
}

/** The hosts of targets, each with the connections to it that are kept. */
export class Sites {
  readonly #settings: SiteSettings;
  readonly #ca: string[] | null;
  readonly #sites = new Map<string, ProxyTarget | null>();
  readonly #ticks: Ticks & { now: number };
  #timer: Timer;
  /** The pools of all sites, also of forgotten ones with requests under way. */
  readonly #pools = new Set<Pool>();
  readonly #total: Total;

  constructor(settings: SiteSettings, { targetConnections, targetMs, exchangeMs }: SitesBounds) {
    this.#settings = settings;
    this.#ca = settings.extraCa === null ? null : [...rootCertificates, settings.extraCa];
    const ms = Math.max(1, Math.min(TICK_MS_MAX, targetMs / 4));
    const [quietMax, exchangeMax] = [Math.ceil(targetMs / ms), Math.ceil(exchangeMs / ms)];
    this.#ticks = { now: 0, ms, quietMax, exchangeMax };
    this.#total = new Total(targetConnections, () => this.#closeIdle());
    this.#timer = this.#nextTick();
  }

  /** The site of a host with an optional port; null for one that may not be contacted. */
  of(host: string): ProxyTarget | null {
    const known = this.#sites.get(host);
    if (known !== undefined) return known;
    const url = this.#urlOf(host);
    const site = url && this.#open(url);
    const [oldest] = this.#sites;
    if (this.#sites.size >= SITES_MAX && oldest !== undefined) {
      this.#sites.delete(oldest[0]);
      oldest[1]?.pool.close();
    }
    this.#sites.set(host, site);
    return site;
  }

  close(): void {
    this.#timer.cancel();
    for (const pool of this.#pools) pool.destroy();
    this.#pools.clear();
    this.#sites.clear();
  }

  /** Plain HTTP goes to this machine only, and to origins that the operator has named with it. */
  #urlOf(host: string): URL | null {
    const { privateOrigins } = this.#settings;
    if (!URL.canParse(`https://${host}`) || !URL.canParse(`http://${host}`)) return null;
    const [secure, plain] = [new URL(`https://${host}`), new URL(`http://${host}`)];
    const isPlain = isLocal(plain.hostname) || privateOrigins.has(plain.origin);
    const url = isPlain && !privateOrigins.has(secure.origin) ? plain : secure;
    return mayContact(this.#settings, url.origin) ? url : null;
  }

  #open(url: URL): ProxyTarget {
    const { resolve = resolveBySystem } = this.#settings;
    const lookup = checkedLookup(resolve, (address) => mayContactAt(this.#settings, url, address));
    const connect = { lookup, ...(this.#ca && { ca: this.#ca }) };
    const pool = new Pool(url, connect, this.#ticks, this.#total);
    this.#pools.add(pool);
    return { url, pool, connect };
  }

  #closeIdle(): boolean {
    for (const pool of this.#pools) if (pool.closeIdle()) return true;
    return false;
  }

  #nextTick(): Timer {
    return this.#settings.clock.setTimer(() => this.#tick(), this.#ticks.ms);
  }

  #tick(): void {
    this.#timer = this.#nextTick();
    this.#ticks.now += 1;
    for (const pool of this.#pools) {
      pool.sweep();
      if (pool.isOver) this.#pools.delete(pool);
    }
  }
}

const isLocal = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
