import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ApiParams, Engine } from '../../embedding.ts';
import type { LogTail } from '../../protocol/logtail.ts';
import { openApi } from '../rest/openapi.ts';
import type { keepHistory } from './history.ts';
import { refusalOf } from './port.ts';
import { type AdminAnswer, AdminError } from './route.ts';

export interface Watched {
  readonly engine: Pick<Engine, 'api' | 'metrics'>;
  readonly version: string;
  readonly history: ReturnType<typeof keepHistory>;
  /** Settings in force, secrets masked. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly log: LogTail;
  /** Changes through this port, newest last. */
  readonly trail: LogTail;
}

const Operation = Compile(
  Type.Object(
    {
      operation: Type.String({ pattern: '^[a-z0-9_]{1,100}$' }),
      /** Id of the user or bot to call as; null for an unauthenticated call. */
      as: Type.Union([Type.String({ pattern: '^[0-9]{1,20}$' }), Type.Null()]),
      params: Type.Optional(Type.Record(Type.String(), Type.String())),
      query: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      body: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
);

/** Console data besides the admin API: settings, the last hour's metrics, log, trail, and the declared operations. */
export async function watched(
  path: string,
  query: URLSearchParams,
  { engine, version, history, settings, log, trail }: Watched,
): Promise<AdminAnswer | null> {
  const after = Number(query.get('after') ?? 0);
  const ok = (body: object): AdminAnswer => ({ status: 200, body });
  if (path === '/settings') return ok({ settings });
  if (path === '/history') return ok({ samples: history.samples() });
  if (path === '/log') return ok({ lines: log.after(after) });
  if (path === '/metrics.json') return ok({ text: await engine.metrics() });
  if (path === '/trail') return ok({ lines: trail.after(after) });
  if (path === '/openapi.json') return ok(openApi(version, '/api/v10'));
  return null;
}

type ApiCall = (call: ApiParams, options: { readonly as: string | null }) => Promise<unknown>;

/** Calls an operation as a user or bot, for the API explorer. Its answer is that of the API. */
export async function callOperation(
  body: unknown,
  { engine }: { readonly engine: Pick<Engine, 'api'> },
): Promise<AdminAnswer> {
  if (!Operation.Check(body))
    throw new AdminError(
      400,
      'invalid_body',
      'Give operation, as (an id or null), and params, query and body if need be.',
    );
  const { operation, as, ...call } = body;
  const what = `POST /operations ${operation}`;
  const run: ApiCall | undefined = Reflect.get(engine.api, operation);
  if (run === undefined)
    throw new AdminError(404, 'unknown_operation', `There is no operation ${operation}.`);
  try {
    return { status: 200, body: { ok: true, reply: (await run(call, { as })) ?? null }, what };
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === null) throw error;
    const { status, code, message, errors } = refused;
    return {
      status: 200,
      body: { ok: false, status, reply: { code, message, ...(errors && { errors }) } },
      what,
    };
  }
}
