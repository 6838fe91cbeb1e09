import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { LogWindows } from '../../actors/runtime/faults.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { INVALID_CALLS, watchInvalidCalls } from '../../engine/ratelimit/invalid.ts';
import { createLimiter } from '../../engine/ratelimit/limiter.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { createApplicationAccess } from '../../services/applications/access.ts';
import { teamRights } from '../../services/applications/teams.ts';
import { createLinkRefusal } from '../../services/channels/channels.ts';
import { createExpressions } from '../../services/channels/expressions.ts';
import { createMessageFiles } from '../../services/channels/messagefiles.ts';
import { createMessageViews } from '../../services/channels/messageviews.ts';
import { createExpressionFiles } from '../../services/guilds/expressionfiles.ts';
import { type ApiDeps, apiRoutes, type HttpMetrics } from '../../transports/http/api.ts';
import { type HttpServer, type Installer, startServer } from '../../transports/http/server.ts';
import { createCatalog } from '../../transports/rest/catalog.ts';
import { attachmentKey, expressionKey } from '../../transports/rest/image.ts';
import { createLimits } from '../../transports/rest/limits.ts';
import type { AnyOperation, Caller } from '../../transports/rest/operation.ts';
import { createPipeline, type Hooks } from '../../transports/rest/pipeline.ts';
import type { Services } from '../../transports/rest/services.ts';

export const BOT: Caller = {
  kind: 'bot',
  userId: '1000' as UserId,
  applicationId: '1001' as ApplicationId,
  applicationFlags: 0,
  authorization: null,
};
export const HUMAN: Caller = {
  kind: 'user',
  userId: '2000' as UserId,
  applicationId: null,
  applicationFlags: 0,
  authorization: null,
};

const NO_HOOKS: Hooks = { before: new Map(), after: new Map() };

/** Services whose answer matters to few tests: files of every size fit, and no application belongs to a team. */
const QUIET: Pick<Services, 'uploads'> & { readonly teams: Pick<Services['teams'], 'of' | 'may'> } = {
  uploads: { fits: async () => true },
  teams: teamRights({ teams: { get: async () => null } }),
};

/** Services that are made from the given ones, as the engine makes them. */
const DERIVED: {
  readonly [K in keyof Services]?: (given: Services) => Services[K];
} = {
  presentMessages: ({ read }) => createMessageViews({ storage: read }),
  expressions: ({ read, guilds }) => createExpressions({ guilds, store: read.expressions }),
  expressionFiles: ({ blobs }) => createExpressionFiles({ blobs, expressionKey }),
  messageFiles: ({ blobs, nextId }) => createMessageFiles({ blobs, nextId, fileKey: attachmentKey }),
  applicationAccess: ({ read, teams = QUIET.teams }) =>
    createApplicationAccess({ applications: { get: (id) => read.applications.get(id) }, teams }),
  linkRefusal: ({ channels, oauth }) => createLinkRefusal({ channels, oauth }),
};

/** Services of which only the given ones, and those made from them, may be used; any other is a failure of the test. */
export function servicesOf(given: object): Services {
  return new Proxy(given, {
    get(target, key) {
      const derive = DERIVED[key as keyof Services];
      if (derive && !(key in target)) return derive(target as Services);
      if (key in target) return Reflect.get(target, key);
      if (key in QUIET) return Reflect.get(QUIET, key);
      throw new TypeError(`The test gave no service "${String(key)}".`);
    },
  }) as Services;
}

/** A pipeline over the given operations, on a virtual clock. */
export function pipelineOf(
  operations: Readonly<Record<string, AnyOperation>>,
  options: {
    services?: object;
    hooks?: Partial<Hooks>;
    globalPerSecond?: number;
    limited?: boolean;
    /** Calls in vain before an address is blocked, in ten minutes. */
    inVainMax?: number;
  } = {},
) {
  const clock = new VirtualClock();
  const catalog = createCatalog(operations);
  const global = { limit: options.globalPerSecond ?? 50, windowMs: 1_000 };
  const limiter = createLimiter({ global, entriesMax: 1_000 });
  const rule = { ...INVALID_CALLS, limit: options.inVainMax ?? INVALID_CALLS.limit };
  const limits = createLimits(
    { take: (attempt) => limiter.take(attempt, clock.monotonic()), invalid: watchInvalidCalls(1_000, rule) },
    clock,
  );
  const pipeline = createPipeline({
    catalog,
    services: servicesOf(options.services ?? {}),
    hooks: { ...NO_HOOKS, ...options.hooks },
    limits: options.limited === false ? null : limits,
    signUrl: (url) => `${url}?signed`,
  });
  return { clock, catalog, pipeline };
}

/** The REST interface on a real port. `Bot good`, `Bearer good` and `Bearer user-<id>` are the tokens it knows. */
export async function startApi(
  operations: Readonly<Record<string, AnyOperation>>,
  options: Parameters<typeof pipelineOf>[1] & {
    settings?: Partial<ApiDeps['settings']>;
    installers?: readonly Installer[];
    metrics?: HttpMetrics;
    logger?: ApiDeps['logger'];
    /** Turns of the event loop that it takes to look a token up. */
    lookUpTurns?: number;
  } = {},
) {
  const { clock, catalog, pipeline } = pipelineOf(operations, options);
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    installers: [
      apiRoutes({
        pipeline,
        catalog,
        clock,
        logger: options.logger ?? pino({ level: 'silent' }),
        logWindows: new LogWindows(clock),
        urls: { origin: 'http://127.0.0.1' },
        authenticate: async (scheme, token) => {
          for (let turn = 0; turn < (options.lookUpTurns ?? 0); turn += 1) await setImmediate();
          const [, userId] = /^user-(\d+)$/.exec(token) ?? [];
          if (userId !== undefined) return { ...HUMAN, userId: userId as UserId };
          return token === 'good' ? (scheme === 'Bot' ? BOT : HUMAN) : null;
        },
        ...(options.metrics ? { metrics: options.metrics } : {}),
        settings: {
          bodyBytesMax: 25 << 20,
          bodies: {
            bytesMax: 100 << 20,
            reservedBytes: 60 << 20,
            addressBytesMax: 10 << 20,
            userBytesMax: 50 << 20,
          },
          ...{ fileBytesMax: 10 << 20, raisedFileBytesMax: 10 << 20 },
          requestTimeoutMs: 30_000,
          trustProxy: false,
          ...options.settings,
        },
      }),
      ...(options.installers ?? []),
    ],
  });
  return { clock, catalog, pipeline, server, url: `http://127.0.0.1:${server.port}` };
}

/** Writes raw bytes to a server and answers what came back once `enough` says so, or the connection closed. */
export function exchange(
  server: HttpServer,
  parts: readonly (string | Uint8Array)[],
  enough: (text: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    const done = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (enough(text)) done();
    });
    // A reset after the answer is how a refused upload may end; what counts is what was answered.
    socket.on('error', done);
    socket.on('close', done);
    for (const part of parts) socket.write(part);
  });
}

/** A request in its own bytes. */
export function request(line: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
