import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/rules.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';
import { type Authenticate, createAuthorizedJoin } from '../../services/guilds/authorizedjoin.ts';
import { createBans } from '../../services/guilds/bans.ts';
import { createDeletion } from '../../services/guilds/deletion.ts';
import { createInvites } from '../../services/guilds/invites.ts';
import { createPrune } from '../../services/guilds/prune.ts';
import { createScreening } from '../../services/guilds/screening.ts';
import type { Storage } from '../../storage/ports.ts';
import { createCatalog } from '../../transports/rest/catalog.ts';
import type { AnyOperation, Upload } from '../../transports/rest/operation.ts';
import { createPipeline } from '../../transports/rest/pipeline.ts';
import type { Services } from '../../transports/rest/services.ts';
import { envAt, NOW_MS } from './people.ts';

interface CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly files?: readonly Upload[];
  /** A user's id; null for none. */
  readonly as?: string | null;
  readonly bot?: boolean;
  readonly applicationFlags?: number;
  readonly reason?: string;
}

/** Fakes of the parts of `Services` a test needs; the rest is absent, and using it fails the test. */
export type Fakes = {
  readonly [K in keyof Services]?: Services[K] extends (...args: never[]) => unknown
    ? Services[K]
    : { readonly [M in keyof Services[K]]?: object };
} & { readonly authenticate?: Authenticate };

/** Ports of the services of guilds; a test gives the stores that its operations use. */
type GuildPorts = Parameters<typeof createInvites>[0] &
  Omit<Parameters<typeof createAuthorizedJoin>[0], 'users'> & {
    readonly storage: Pick<Storage, 'users' | 'guilds' | 'messages' | 'directory'>;
  };

const servicesOfGuilds = (ports: GuildPorts): Pick<Services, 'invites' | 'prune' | 'bans'> => ({
  invites: createInvites(ports),
  prune: createPrune({ ...ports, store: ports.storage.guilds }),
  bans: createBans({ ...ports, messages: ports.storage.messages }),
});

/**
 * Operations in front of one resident guild: real schemas and pipeline, real rules, and stores as the test gives
 * them. Facts are applied at once and kept in `facts`.
 */
export function restGuild(
  guild: Guild,
  operations: Record<string, AnyOperation>,
  { authenticate = async () => null, ...fakes }: Fakes = {},
) {
  const facts: GuildFact[] = [];
  let calls = 0;
  const call = async (type: keyof GuildCommands, input: object, authority: Authority) => {
    const outcome = guildRules.decide(guild, type, input as never, authority, envAt());
    if (!outcome.ok) return outcome;
    for (const fact of outcome.facts) {
      facts.push(fact);
      guildRules.apply(guild, fact);
    }
    return { ok: true, value: outcome.value };
  };
  const guilds = {
    call: (_id: string, type: keyof GuildCommands, input: object, authority: Authority) =>
      call(type, input, authority),
  };
  const { read = {}, ...others } = fakes;
  const ports = {
    ...{ guilds, storage: read, nowMs: () => NOW_MS },
    // Never twice the same, so that two codes differ.
    randomBytes: (size: number) => new Uint8Array(size).fill(calls++),
    authenticate,
  } as unknown as GuildPorts;
  const services = {
    nowMs: ports.nowMs,
    system: SYSTEM,
    guilds: {
      ...guilds,
      delete: createDeletion({ ...ports, store: ports.storage.guilds }),
      updateScreening: createScreening({ ...ports, store: ports.storage.guilds }),
      addAuthorized: createAuthorizedJoin({ ...ports, users: ports.storage.users }),
    },
    ...servicesOfGuilds(ports),
    channels: {
      call: (channelId: string, type: keyof GuildCommands, input: object, authority: Authority) =>
        call(type, { ...input, channelId }, { ...authority, channelId } as Authority),
    },
    uploads: { fits: async () => true },
    ...{ read, ...others },
  } as unknown as Services;
  const hooks = { before: new Map(), after: new Map() };
  const pipeline = createPipeline({ catalog: createCatalog(operations), services, hooks, limits: null });

  const invoke = (operationId: string, options: CallOptions = {}) => {
    const { as = '2', bot = true, applicationFlags = 0, reason = null, ...parts } = options;
    const kind = bot ? ('bot' as const) : ('user' as const);
    const caller =
      as === null
        ? null
        : { kind, userId: as as UserId, applicationId: null, applicationFlags, authorization: null };
    const params = { guild_id: guild.id, ...parts.params };
    const context = { caller, reason, publicUrl: 'http://server.test', address: null };
    return pipeline.invoke(operationId, { ...parts, params, ...context });
  };
  return { invoke, facts };
}

/** The platform's code in an answer's body. */
export const codeOf = (result: { readonly body: unknown }): unknown =>
  (result.body as { code?: unknown } | undefined)?.code;
