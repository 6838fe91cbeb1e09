import { expect } from 'vitest';
import { OPERATIONS } from '../../transports/rest/operations.generated.ts';

export interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array; readonly type: string }[];
  readonly reason?: string;
}

interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly errors?: unknown;
}

const PLACES = new Map(
  OPERATIONS.map((line) => {
    const [id = '', method = '', path = ''] = line.split(' ');
    return [id, { method, path }];
  }),
);

/** The API by operationId, as a caller that is no library. */
export class RestClient {
  readonly #base: string;
  readonly #authorization: string | null;

  constructor(api: string, authorization: string | null, version = 10) {
    this.#base = `${api}/v${version}`;
    this.#authorization = authorization;
  }

  /** @throws only when no answer comes. */
  async ask<T = ErrorBody>(operationId: string, call: Call = {}): Promise<Answer<T>> {
    const place = PLACES.get(operationId);
    if (!place) throw new Error(`There is no operation "${operationId}".`);
    const path = place.path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = call.params?.[name];
      if (value === undefined) throw new Error(`${operationId} needs ${name}.`);
      return percentEncoded(value);
    });
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(call.query ?? {})) query.set(key, String(value));
    const response = await fetch(`${this.#base}${path}${query.size > 0 ? `?${query}` : ''}`, {
      method: place.method,
      headers: this.#headers(call),
      ...(call.body !== undefined && { body: bodyOf(call) }),
    });
    const text = await response.text();
    // The native parser answers its own refusals (a header too large) in HTML or not at all.
    const isJson = response.headers.get('content-type') === 'application/json';
    const body = (isJson && text !== '' ? JSON.parse(text) : undefined) as T;
    return { status: response.status, headers: response.headers, body };
  }

  /** The body of a 2xx answer; any other fails the test with what was answered. */
  async call<T = undefined>(operationId: string, call: Call = {}): Promise<T> {
    const { status, body } = await this.ask<T>(operationId, call);
    if (status >= 300) expect.fail(`${operationId} was answered ${status} ${JSON.stringify(body)}`);
    return body;
  }

  #headers(call: Call): Record<string, string> {
    return {
      ...(this.#authorization !== null && { authorization: this.#authorization }),
      ...(call.reason !== undefined && { 'x-audit-log-reason': percentEncoded(call.reason) }),
      ...(call.body !== undefined && !call.files && { 'content-type': 'application/json' }),
    };
  }
}

/** A surrogate without its pair, which no URL can carry, becomes U+FFFD. */
const percentEncoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

function bodyOf({ body, files }: Call): string | FormData {
  if (!files) return JSON.stringify(body);
  const form = new FormData();
  form.set('payload_json', JSON.stringify(body));
  for (const [index, { name, bytes, type }] of files.entries())
    form.set(`files[${index}]`, new Blob([new Uint8Array(bytes)], { type }), name);
  return form;
}
