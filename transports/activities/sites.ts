import type { LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Pool } from 'undici';
import { checkedLookup, type Resolve, resolveBySystem } from '../outgoing/connection.ts';
import { mayContact, mayContactAt, type Permitted } from '../outgoing/endpoints.ts';

export interface SiteSettings extends Permitted {
  /** CA certificates, PEM, trusted besides the usual ones. */
  readonly extraCa: string | null;
  readonly resolve?: Resolve;
}

/** A host of targets that may be contacted. */
export interface Site {
  readonly url: URL;
  readonly pool: Pool;
  /** Options of a connection: it resolves names to addresses that may be contacted alone. */
  readonly connect: { readonly lookup: LookupFunction; readonly ca?: string[] };
}

/** Hosts of targets that are known; mappings with parameters in a host make many. */
const SITES_MAX = 1_000;
const CONNECTIONS_PER_SITE_MAX = 256;
/** Servers close idle connections after about 5 s; a request on one that is being closed fails. */
const IDLE_MS = 4_000;

/** The hosts of targets, each with the connections to it that are kept. */
export class Sites {
  readonly #settings: SiteSettings;
  readonly #timeoutMs: number;
  readonly #ca: string[] | null;
  readonly #sites = new Map<string, Site | null>();

  /** @param timeoutMs Timeout for a connection, and for the first and each further part of an answer. */
  constructor(settings: SiteSettings, timeoutMs: number) {
    this.#settings = settings;
    this.#timeoutMs = timeoutMs;
    this.#ca = settings.extraCa === null ? null : [...rootCertificates, settings.extraCa];
  }

  /** The site of a host with an optional port; null for one that may not be contacted. */
  of(host: string): Site | null {
    const known = this.#sites.get(host);
    if (known !== undefined) return known;
    const url = this.#urlOf(host);
    const site = url && this.#open(url);
    const [oldest] = this.#sites;
    if (this.#sites.size >= SITES_MAX && oldest !== undefined) {
      this.#sites.delete(oldest[0]);
      void oldest[1]?.pool.close();
    }
    this.#sites.set(host, site);
    return site;
  }

  close(): void {
    for (const site of this.#sites.values()) void site?.pool.destroy();
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

  #open(url: URL): Site {
    const { resolve = resolveBySystem } = this.#settings;
    const timeout = this.#timeoutMs;
    const lookup = checkedLookup(resolve, (address) => mayContactAt(this.#settings, url, address));
    const connect = { lookup, ...(this.#ca && { ca: this.#ca }) };
    const pool = new Pool(url.origin, {
      ...{ connections: CONNECTIONS_PER_SITE_MAX, pipelining: 1, connect: { ...connect, timeout } },
      ...{ keepAliveTimeout: IDLE_MS, headersTimeout: timeout, bodyTimeout: timeout },
    });
    return { url, pool, connect };
  }
}

const isLocal = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
