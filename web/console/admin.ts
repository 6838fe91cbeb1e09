import { isJson, type Json } from '../../sdk/voice/wire.ts';

const KEPT = 'console';
const CODE = /^#code=([\w-]{32})$/;

/** Calls of the admin API. The token is kept in the tab's session storage, and nowhere else. */
export class Admin {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  get(path: string): Promise<Json> {
    return this.#ask(path, {});
  }

  post(path: string, body: object): Promise<Json> {
    const headers = { 'content-type': 'application/json' };
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  #ask(path: string, init: RequestInit): Promise<Json> {
    return ask(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${this.#token}` } });
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
  if (location.hash !== '') history.replaceState(null, '', location.pathname);
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
