import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Admin, Engine } from '../../embedding.ts';
import { type FreshId, snowflakeOf } from '../../protocol/ids.ts';

/** A route's answer; 204 without a body. */
export interface AdminAnswer {
  readonly status: number;
  readonly body?: unknown;
  /** A file in place of a body. */
  readonly file?: { readonly body: Uint8Array; readonly headers: Readonly<Record<string, string>> };
  /** Name of the change in the audit trail, when the path does not say it. */
  readonly what?: string;
}

/** A refused request; the message says why. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface AdminCall {
  /** The id in the path, of the kind that the path names; `NO_ID` for a path without one. */
  readonly id: FreshId;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** The parts of the engine that the routes use. */
export type Operated = Pick<Engine, 'admin' | 'api' | 'calls' | 'cluster' | 'config' | 'interact'> &
  Partial<Pick<Engine, 'chaos' | 'inspect'>>;

export interface AdminRoute {
  readonly method: 'GET' | 'POST';
  /** `:id` stands for one snowflake. */
  readonly path: string;
  handle(engine: Operated, call: AdminCall): Promise<AdminAnswer>;
}

/** Converts integer ids to text, with all their digits. Values that are not ids fail validation as text. */
function withTextIds(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const isInteger = (value: unknown) => typeof value === 'bigint' || Number.isSafeInteger(value);
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      key.endsWith('_id') && isInteger(value) ? String(value) : value,
    ]),
  );
}

/** The id of a path without one. */
export const NO_ID = snowflakeOf(0n);

/** Options of an object schema without further keys. */
export const closed = { additionalProperties: false } as const;

/** An id in a body, of the kind `Id` says. */
export const Snowflake = <Id extends string>() =>
  Type.String({ pattern: '^[0-9]{1,20}$' }) as TSchema as TUnsafe<Id>;

/** A GET route. */
export function get(
  path: string,
  run: (engine: Operated, query: URLSearchParams) => Promise<unknown>,
): AdminRoute {
  return {
    method: 'GET',
    path,
    handle: async (engine, { query }) => ({ status: 200, body: await run(engine, query) }),
  };
}

/** A GET route of one record. */
export const record = (path: string, run: (admin: Admin, id: FreshId) => Promise<unknown>): AdminRoute => ({
  method: 'GET',
  path,
  handle: async ({ admin }, { id }) => ({ status: 200, body: await run(admin, id) }),
});

/** A POST route: its body is checked against `schema` before `run` sees it. */
export function post<Schema extends TSchema>(
  path: string,
  schema: Schema,
  run: (admin: Admin, body: Static<Schema>, id: FreshId) => Promise<AdminAnswer>,
): AdminRoute {
  const validator = Compile(schema);
  return {
    method: 'POST',
    path,
    handle({ admin }, { body: sent, id }) {
      const body = withTextIds(sent);
      if (!validator.Check(body)) {
        const wrong = validator.Errors(body).map((error) => {
          const field = error.instancePath.slice(1).replaceAll('/', '.') || 'the body';
          return `${field} ${error.message}`;
        });
        throw new AdminError(400, 'invalid_body', `${wrong.slice(0, 5).join('; ')}.`);
      }
      return run(admin, body, id);
    },
  };
}
