import { dropOldest } from '../../protocol/oldest.ts';
import type { CallApi } from './commands.ts';
import type { RpcApplication } from './games.ts';
import { isObject, RpcClosed } from './link.ts';

interface ApplicationPorts {
  readonly call: CallApi;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** How long an answer of the server is used. */
const KEPT_MS = 10_000;
const KEPT_MAX = 64;
/** The server allows a person ten such requests in ten seconds. Pages of any origin may cause them, and get half. */
const [OF_PAGES_MAX, WINDOW_MS] = [5, 10_000];

/** The applications that connect, as the server describes them. */
export class Applications {
  readonly #ports: ApplicationPorts;
  readonly #kept = new Map<string, { readonly sinceMs: number; readonly read: Promise<RpcApplication> }>();
  #window = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };

  constructor(ports: ApplicationPorts) {
    this.#ports = ports;
  }

  /** @throws RpcClosed for an unknown application, and when pages ask for too many. */
  async of(clientId: string, isOfPage: boolean): Promise<RpcApplication> {
    const nowMs = this.#ports.nowMs();
    const kept = this.#kept.get(clientId);
    if (kept && nowMs - kept.sinceMs < KEPT_MS) return kept.read;
    if (isOfPage) this.#admitPage(nowMs);
    const read = this.#read(clientId);
    const entry = { sinceMs: nowMs, read };
    this.#kept.delete(clientId);
    this.#kept.set(clientId, entry);
    dropOldest(this.#kept, KEPT_MAX);
    return read.catch((error: unknown) => {
      const isUnknown = error instanceof RpcClosed && error.code === UNKNOWN.code;
      if (!isUnknown && this.#kept.get(clientId) === entry) this.#kept.delete(clientId);
      throw error;
    });
  }

  #admitPage(nowMs: number): void {
    if (nowMs - this.#window.sinceMs >= WINDOW_MS) this.#window = { sinceMs: nowMs, count: 0 };
    this.#window.count += 1;
    if (this.#window.count > OF_PAGES_MAX)
      throw new RpcClosed('RATELIMITED', 'Pages connect to too many applications.');
  }

  async #read(clientId: string): Promise<RpcApplication> {
    const { status, body } = await this.#ports.call('GET', `/applications/${clientId}/rpc`);
    if (status === 401) throw new RpcClosed('TOKEN_REVOKED', 'The person has signed out.');
    if (status === 404 || status === 400) throw UNKNOWN;
    if (status !== 200 || !isObject(body)) throw new RpcClosed('ABNORMAL', 'The server does not answer.');
    const { rpc_origins: origins } = body;
    return {
      ...{ id: clientId, name: String(body.name), description: String(body.description ?? '') },
      icon: typeof body.icon === 'string' ? body.icon : null,
      origins: Array.isArray(origins) ? origins.map(String) : [],
    };
  }
}

const UNKNOWN = new RpcClosed('INVALID_CLIENTID', 'There is no such application.');
