import assert from 'node:assert/strict';
import type { Guilds } from '../../actors/guild/guilds.ts';
import type { FreshLobbies } from '../../actors/lobby/fresh.ts';
import type { LobbyShell } from '../../actors/lobby/lobby.shell.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import { batchReads } from '../../actors/runtime/cache.ts';
import type { Clock, Lifetime } from '../../actors/runtime/clock.ts';
import type { Registry } from '../../actors/runtime/registry.ts';
import type { TimerWheel } from '../../actors/runtime/wheel.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { idleAtMs, type LobbyState } from '../../engine/lobby/lobby.ts';
import { type Founding, foundLobby, type MemberDraft, type Person } from '../../engine/lobby/members.ts';
import type { LobbyObject } from '../../engine/lobby/objects.ts';
import { type LobbyCommands, lobbyRules } from '../../engine/lobby/rules.ts';
import type { Application } from '../../engine/user/facts.ts';
import {
  type ApplicationId,
  type ChannelId,
  type FreshId,
  isChannelId,
  type UserId,
} from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { LobbyChange } from '../../protocol/schemas/lobbyfields.ts';
import type { Storage, StoredFact } from '../../storage/ports.ts';
import type { ChannelDirectory } from '../channels/channels.ts';
import type { Repeat } from '../repeating.ts';
import type { Attachments } from './attachments.ts';
import type { Deadlines } from './deadlines.ts';
import type { Links } from './links.ts';
import type { LobbyOperations } from './ports.ts';
import type { LobbySecrets } from './secrets.ts';

export interface LobbiesPorts {
  readonly registry: Registry<LobbyState, LobbyShell>;
  readonly storage: Pick<Storage, 'lobbies' | 'guilds' | 'applications' | 'writer'>;
  readonly guilds: Guilds;
  readonly channels: ChannelDirectory;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
  readonly nextId: () => FreshId;
  /** Newly created lobbies, which their actors adopt without reading the database. */
  readonly fresh: FreshLobbies;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Scope of the work in the background, which `close` ends earlier. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** Keyed hash of a secret, hexadecimal, so that the database does not reveal secrets. */
  readonly secretHash: (applicationId: ApplicationId, secret: string) => Promise<string>;
  readonly inviteCode: () => string;
  readonly routing: Routing;
  /** Reports faults of operations that no caller awaits. */
  readonly onFault: (error: unknown, id: string) => void;
}

export interface LobbyContext extends LobbiesPorts {
  readonly call: LobbyOperations['call'];
  readonly attachments: Attachments;
  readonly links: Links;
  readonly secrets: LobbySecrets;
  readonly deadlines: Deadlines;
  readonly application: (id: ApplicationId) => Promise<Application | null>;
  readonly person: ReturnType<typeof personReader>;
  /** Notifies the owner shard that an empty lobby ends at this time, Unix milliseconds. */
  readonly idle: (id: ChannelId, atMs: number) => void;
  readonly owners: LobbyOwners;
  /** Repeats a call until it succeeds. */
  readonly repeat: Repeat;
  /** Repeats what waits about the lobby at once. */
  readonly wake: (id: string) => void;
}

/** The application of the caller; refused for callers without one. */
export const applicationOf = ({ by }: Authority): Reply<ApplicationId> =>
  by.applicationId ? { ok: true, value: by.applicationId } : refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));

/** A join by secret that the owner of the secret ran, because it also owns the lobby. */
interface SecretJoin {
  readonly lobbyId: ChannelId;
  readonly reply: Reply<LobbyObject>;
}

/** A join by secret, as the owner of the secret needs it. */
export interface SecretRequest {
  readonly applicationId: ApplicationId;
  readonly lobby: LobbyChange;
  /** Absent in requests of shards that run an earlier version. */
  readonly member?: MemberDraft;
  /** The user is in as many lobbies as allowed, so no lobby is created for this join. */
  readonly full: boolean;
  /** The lobby that the secret named before and that has ended. */
  readonly not: ChannelId | null;
}

/** Operations on the owner shard of a lobby or a secret. */
interface LobbyOwners {
  /**
   * The lobby of a secret, created if there is none; null when the rules refuse to found one (`foundingOf`). If the owner of the
   * secret owns the lobby too, it also runs the join.
   */
  ofSecret(
    hash: string,
    wanted: SecretRequest,
    person: Person,
    authority: Authority,
  ): Promise<ChannelId | SecretJoin | null>;
  /** Resolves when all commits of the lobby are durable, including its end. */
  settled(lobbyId: ChannelId): Promise<void>;
  changeUser(id: ChannelId, user: APIUser): void;
}

/** The founding of the lobby that a join by secret asks for. */
export const foundingOf = ({ applicationId, lobby, member = {}, full }: SecretRequest): Founding => ({
  ...{ applicationId, change: lobby, metadataKey: 'lobby_metadata', byClient: true },
  founder: { draft: member, full },
});

/** Ids that are tried for one that this shard owns: beyond the largest cluster, which has one owned id in 64. */
const ID_TRIES = 256;

/**
 * An id that this shard owns, so that the owner of a secret owns its lobby too and a join by secret needs no other shard. Any
 * id works, and ownership may change.
 */
function ownId(nextId: () => FreshId, isOwn: (id: FreshId) => boolean): FreshId {
  let id = nextId();
  for (let tries = 1; tries < ID_TRIES && !isOwn(id); tries += 1) id = nextId();
  return id;
}

/** Creates an empty lobby, which expires like any other if no user joins. */
export async function createEmptyLobby(
  { commit, nextId, clock, routing, idle, fresh }: Omit<LobbyContext, 'owners'>,
  founding: Founding,
): Promise<Reply<ChannelId>> {
  const nextOwnId = (): FreshId => ownId(nextId, (id) => routing.owns(id));
  const outcome = foundLobby(founding, { nowMs: clock.now(), nextId: founding.secret ? nextOwnId : nextId });
  if (!outcome.ok) return outcome;
  const { value: lobby, facts } = outcome;
  const { id } = lobby;
  // Before the commit: the first actor may start as soon as the lobby is committed, and a later one must read the stored state.
  if (routing.owns(id)) fresh.keep(lobby);
  try {
    await commit(id, facts);
  } catch (error) {
    fresh.take(id);
    throw error;
  }
  idle(id, idleAtMs(lobby) ?? Number.POSITIVE_INFINITY);
  return { ok: true, value: id };
}

type PersonRow = Awaited<ReturnType<Storage['lobbies']['persons']>>[number];

/** Reads users with the number of their lobbies; concurrent reads share one query. */
export function personReader({ lobbies }: Pick<Storage, 'lobbies'>) {
  const keyOf = (applicationId: string, userId: string): string => `${applicationId}:${userId}`;
  const read = batchReads<PersonRow>(async (keys) => {
    const asked = keys.map((key) => {
      const [applicationId, userId] = key.split(':') as [ApplicationId, UserId];
      return { applicationId, userId };
    });
    const rows = await lobbies.persons(asked);
    return new Map(rows.map((row) => [keyOf(row.applicationId, row.user.id), row]));
  });
  return (applicationId: ApplicationId, userId: UserId) => read(keyOf(applicationId, userId));
}

/** The requested users, when all of them exist. */
interface Persons {
  readonly ok: true;
  /** Whether the user is in as many lobbies as allowed. */
  full(userId: UserId): boolean;
  user(userId: UserId): APIUser;
  /** Must be called in the same turn as the command to the lobby. */
  value(lobbyId: ChannelId, userId: UserId): Person;
}

/** The users by id; refused with 10013 if any is unknown. */
export async function personsOf(
  { person, attachments, routing }: Pick<LobbyContext, 'person' | 'attachments' | 'routing'>,
  applicationId: ApplicationId,
  userIds: readonly UserId[],
): Promise<Persons | { readonly ok: false; readonly refusal: Refusal }> {
  const rows = await Promise.all([...new Set(userIds)].map((userId) => person(applicationId, userId)));
  const byId = new Map<string, PersonRow>();
  for (const row of rows) {
    if (!row) return refused(refusal('UNKNOWN_USER'));
    byId.set(row.user.id, row);
  }
  const full = (userId: UserId): boolean => (byId.get(userId)?.lobbies ?? 0) >= LIMITS.lobbies_per_user_max;
  const user = (userId: UserId): APIUser => {
    const row = byId.get(userId);
    assert(row, 'a person was not asked for');
    return row.user;
  };
  return {
    ok: true,
    full,
    user,
    value(lobbyId, userId) {
      // Sessions of users of other shards are attached by their owner when it learns of the new member.
      const sessions = routing.owns(userId) ? attachments.entering(lobbyId, applicationId, userId) : [];
      return { user: user(userId), sessions, full: full(userId) };
    },
  };
}

/** Sends commands to the owner shards of lobbies. */
export function commandCaller({ registry, routing }: LobbiesPorts): LobbyOperations['call'] {
  const run = <K extends keyof LobbyCommands>(
    id: ChannelId,
    type: K,
    input: LobbyCommands[K]['input'],
    authority: Authority,
    commandKey: string | null = null,
  ): Promise<Reply<LobbyCommands[K]['value']>> =>
    new Promise((resolve, reject) => {
      registry.workWith(id, (shell) => shell.command(type, input, authority, resolve, reject, commandKey));
    });
  return routing.command<ChannelId, LobbyCommands>('lobby.command', lobbyRules, isChannelId, run);
}

/** Operations on the owner shard of a lobby or a secret. */
export function createLobbyOwners(context: Omit<LobbyContext, 'owners'>): LobbyOwners {
  const { registry, routing, storage, secrets, call, onFault } = context;
  return {
    /** Requests of shards that run an earlier version name no person. `not`: a lobby that has ended, to be removed from the cache. */
    ofSecret: routing.ask(
      'lobbies.ofSecret',
      async (
        hash: string,
        request: SecretRequest,
        person?: Person,
        authority?: Authority,
      ): Promise<ChannelId | SecretJoin | null> => {
        if (request.not !== null) secrets.forget(request.not);
        const lobbyId = await secrets.lobby(request.applicationId, hash, async (secret) => {
          const created = await createEmptyLobby(context, { ...foundingOf(request), secret });
          return created.ok ? created.value : null;
        });
        if (!lobbyId || !person || !authority || !routing.owns(lobbyId)) return lobbyId;
        const { lobby, member = {} } = request;
        return { lobbyId, reply: await call(lobbyId, 'joinLobby', { person, lobby, member }, authority) };
      },
    ),
    /** Resolves when all commits of the lobby are durable, including its end. */
    settled: routing.ask(
      'lobbies.settled',
      async (_lobbyId: ChannelId): Promise<void> => storage.writer.flush(),
    ),
    changeUser: routing.tell('lobbies.changeUser', (id: ChannelId, user: APIUser): void => {
      // Only resident lobbies need the change; others load the account when they start.
      if (registry.peek(id)) call(id, 'changeUser', { user }, SYSTEM).catch((fault) => onFault(fault, id));
    }),
  };
}
