import { isJson, type Json } from '../../sdk/voice/wire.ts';

const KEPT = 'console';
const CODE = /^#code=([\w-]{32})$/;

interface OperationCall {
  readonly operation: string;
  /** Id of the user or bot to call as. */
  readonly as: string;
  readonly params: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** Calls of the admin API. The token is kept in the tab's session storage, and nowhere else. */
export class Admin {
  readonly #token: string;
  /** The shard that answers, at the port of a supervisor; null for any. */
  readonly shard: string | null;

  constructor(token: string, shard: string | null = null) {
    this.#token = token;
    this.shard = shard;
  }

  /** The same token, answered by one shard. */
  at(shard: string | null): Admin {
    return new Admin(this.#token, shard);
  }

  get(path: string): Promise<Json> {
    return this.#ask(path, {});
  }

  post(path: string, body: object): Promise<Json> {
    const headers = { 'content-type': 'application/json' };
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** Calls an operation of the API. @throws Error with the message of a refusal. */
  async call(operation: OperationCall): Promise<Json> {
    const answer = await this.post('/operations', operation);
    const reply = isJson(answer.reply) ? answer.reply : {};
    if (answer.ok === true) return reply;
    throw new Error(text(reply.message) || 'The server refused it.');
  }

  #ask(path: string, init: RequestInit): Promise<Json> {
    const named = this.shard === null ? '' : `${path.includes('?') ? '&' : '?'}shard=${this.shard}`;
    return ask(path + named, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${this.#token}` },
    });
  }
}

async function ask(path: string, init: RequestInit): Promise<Json> {
  const response = await fetch(path, init);
  const text = await response.text();
  const body: unknown = text === '' ? {} : JSON.parse(text);
  if (response.ok && isJson(body)) return body;
  const error = isJson(body) && isJson(body.error) ? body.error.message : undefined;
  throw new Error(typeof error === 'string' ? error : `The server answered ${response.status}.`);
}

/** Takes the one-time code out of the address, and exchanges it; else the token that this tab keeps; else null. */
export async function signInFromAddress(): Promise<string | null> {
  const code = CODE.exec(location.hash)?.[1];
  if (location.hash.startsWith('#code')) history.replaceState(null, '', location.pathname);
  if (code === undefined) return sessionStorage.getItem(KEPT);
  const { token } = await ask('/console/code', {
    method: 'POST',
    headers: { authorization: `Code ${code}` },
  });
  return typeof token === 'string' ? token : null;
}

export function keep(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, token);
}

export const text = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
export const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
