import { pino } from 'pino';
import { refusal } from '../../../protocol/refusal.ts';
import type { OAuth } from '../../../services/oauth/ports.ts';
import type { Catalog } from '../../../services/premium/catalog.ts';
import type { Store } from '../../../services/premium/store.ts';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { PAGES } from '../../../transports/pages/index.ts';
import { type PagesDeps, pageRoutes } from '../../../transports/pages/routes.ts';
import { arrangeAccounts } from '../../services/accounts/arrange.ts';

/** A browser as far as these pages need one: it keeps cookies, sends its origin, and follows nothing by itself. */
export class Visitor {
  readonly origin: string;
  readonly cookies = new Map<string, string>();
  /** The page that was last shown. */
  text = '';

  constructor(origin: string) {
    this.origin = origin;
  }

  async get(path: string): Promise<Response> {
    return this.#sent(await fetch(this.origin + path, { headers: this.#headers(), redirect: 'manual' }));
  }

  /** Sends a form with the hidden token of the last page, as `headers` would have it. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
    const body = new URLSearchParams([['csrf', this.csrf], ...pairs] as [string, string][]);
    return this.send(path, body.toString(), headers);
  }

  async send(path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: this.origin };
    const given = Object.entries({ ...this.#headers(), ...form, ...headers });
    const init = { method: 'POST', body, redirect: 'manual' as const };
    return this.#sent(
      await fetch(this.origin + path, {
        ...init,
        headers: given.filter(([, value]) => value !== '') as [string, string][],
      }),
    );
  }

  get csrf(): string {
    return this.hidden('csrf');
  }

  /** The value of a hidden field of the last page. */
  hidden(name: string): string {
    return new RegExp(`name="${name}" value="([^"]*)"`).exec(this.text)?.[1] ?? '';
  }

  #headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return cookie === '' ? {} : { cookie };
  }

  async #sent(response: Response): Promise<Response> {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1);
      const at = pair.indexOf('=');
      if (/Max-Age=0\b/.test(line)) this.cookies.delete(pair.slice(0, at));
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    if (text !== '') this.text = text;
    return response;
  }
}

const NO_STORE: Store = {
  shop: async () => null,
  buy: async () => ({ ok: false, refusal: refusal('UNKNOWN_SKU') }),
  cancel: async () => ({ ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') }),
  change: async () => ({ ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') }),
};
const NO_CATALOG: Catalog = {
  list: async () => ({ ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') }),
  create: async () => ({ ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') }),
  edit: async () => ({ ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') }),
};
const NO_OAUTH = { grants: async () => [] } as unknown as OAuth;

/** The pages on a real port, over accounts in memory. */
export async function startPages(
  given: Partial<PagesDeps> & { registrationOpen?: boolean; secure?: boolean } = {},
) {
  const { registrationOpen = true, secure = false, ...deps } = given;
  const arranged = arrangeAccounts({ registrationOpen: () => registrationOpen });
  const faults: unknown[] = [];
  const logger = pino({ level: 'silent' });
  logger.error = ((entry: unknown) => faults.push(entry)) as typeof logger.error;
  const server: HttpServer = await startServer({
    host: '127.0.0.1',
    port: 0,
    installers: [
      pageRoutes(
        {
          accounts: arranged.accounts,
          oauth: NO_OAUTH,
          applications: { get: async () => null },
          ...{ store: NO_STORE, catalog: NO_CATALOG },
          publicUrl: () => (secure ? 'https://play.example' : 'http://play.example'),
          fixedUrl: null,
          requestTimeoutMs: 30_000,
          trustProxy: false,
          take: () => 0,
          randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
          clock: arranged.clock,
          logger,
          ...deps,
        },
        PAGES,
      ),
    ],
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return { ...arranged, server, origin, faults, visitor: () => new Visitor(origin) };
}
