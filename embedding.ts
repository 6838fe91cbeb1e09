import type { APIGuild, APIUser } from 'discord-api-types/v10';
import type { Logger } from 'pino';
import type { CallView, MemberView } from './actors/call/calls.ts';
import type { Directory } from './actors/cluster/ports.ts';
import type { LobbyHandlers } from './actors/lobby/game.ports.ts';
import type { ShardState } from './actors/placement/ports.ts';
import type { Clock, Timer } from './actors/runtime/clock.ts';
import type { Config } from './config/config.ts';
import type { ProviderSettings } from './engine/provisional/providers.ts';
import type { Application } from './engine/user/facts.ts';
import type { DispatchName } from './protocol/dispatches.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from './protocol/ids.ts';
import type { SecurityTrail } from './protocol/security.ts';
import type { Email, Mailer } from './services/accounts/ports.ts';
import type { QueueDefinition } from './services/matchmaking/ports.ts';
import type { Blobs } from './storage/blob/blobs.ts';
import type { Storage } from './storage/ports.ts';
import type { operations, unlisted } from './transports/rest/resources/index.ts';

export type {
  GameEnd,
  GameLobby,
  GameMember,
  GameMessage,
  GameTick,
  LobbyHandlers,
} from './actors/lobby/game.ports.ts';
export type { QueueDefinition, Ticket, TicketObject } from './services/matchmaking/ports.ts';
export type { Clock, Directory, Email as Letter, Mailer, Timer };

export interface EngineOptions {
  /** Settings that differ from the defaults of `config/config.ts`. */
  readonly config?: Partial<Config>;
  readonly clock?: Clock;
  /** Cryptographic randomness. */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** Worker number in snowflakes, 0 to 1023. Shards of a cluster have theirs from the directory. */
  readonly workerId?: number;
  /** Makes the engine a shard of the cluster that this directory keeps, instead of the one that `config` names, if any. */
  readonly directory?: Directory;
  /** Whether other processes listen on the same port, as the shards of one machine do; else it must be free. */
  readonly sharedPort?: boolean;
  /** Makes ids instead of the engine's own source; strictly ascending snowflakes. */
  readonly nextId?: () => string;
  /** The stores, instead of those that `config` names; the engine closes them with itself. */
  readonly storage?: Storage;
  readonly blobs?: Blobs;
  readonly logger?: Logger;
  /** Sends letters, instead of the mail server or the folder that `config` names. What it rejects with is a fault. */
  readonly mailer?: Mailer;
}

export interface NewUser {
  /** 2 to 32 of a to z, digits, `_` and single dots, nobody else's and not reserved; capitals become small letters. */
  readonly username: string;
  readonly globalName?: string;
  /** 8 to 1024 bytes. With it, or an address, the user can sign in. */
  readonly password?: string;
  /** Gets a letter to confirm it; then a password may be asked for by it. */
  readonly email?: string;
  /** A guild that the user joins. Nobody is made when there is none of this id. */
  readonly guildId?: GuildId;
}

export interface Addresses {
  /** Ends in `/api`. */
  readonly api: string;
  readonly gateway: string;
  readonly cdn: string;
  /** Null when calls are not served. */
  readonly voice: VoiceAddresses | null;
}

export interface VoiceAddresses {
  /** What VOICE_SERVER_UPDATE says: host and port, with a path where needed, without a scheme. */
  readonly endpoint: string;
  /** Certificate of the development authority, for `NODE_EXTRA_CA_CERTS`; null with a certificate of one's own, or none. */
  readonly caFile: string | null;
  /** False when the gateway listens without TLS, behind a proxy that adds it. */
  readonly secure: boolean;
  readonly udpPort: number;
  readonly webrtcPort: number;
  /** Where browsers are told to send to. */
  readonly webrtcAddress: string;
}

export interface NewApplication {
  readonly application: Application;
  readonly bot: APIUser;
  /** Shown once; only a hash is kept. */
  readonly botToken: string;
  readonly clientSecret: string;
}

/** What the operator does: the CLI and the admin API are thin covers of this. */
export interface Admin {
  /**
   * All privileged intents on unless `flags` says otherwise. With `guildId` the bot joins that guild, with a role of
   * `permissions` when given; when the guild refuses, no application is made.
   */
  createApplication(input: {
    name: string;
    ownerId?: UserId;
    flags?: number;
    guildId?: GuildId;
    permissions?: bigint;
  }): Promise<NewApplication>;
  /**
   * Sets an application up to sign people in: where it may be answered to, whether it can do without its secret, and
   * the partner scopes it may ask for. What is absent stays. `ApiError` for a redirect that is none (an http(s) URL or
   * `scheme:/path`, without a fragment), and for a child that would be another kind of client than its parent; children
   * change with their parent.
   */
  configureClient(input: {
    applicationId: ApplicationId;
    redirectUris?: readonly string[];
    publicClient?: boolean;
    approvedScopes?: readonly string[];
  }): Promise<Application>;
  /** A person with a token. Rejects with `ApiError` when a name, password or address is no good. */
  createUser(input: NewUser): Promise<{ user: APIUser; token: string }>;
  /**
   * Lets a person sign in with a new password, a random one when none is given; for who never had one, and for who
   * lost it with everything else: two-step sign-in is off then, and every browser is signed out. Rejects with
   * `ApiError` when the password is no good, or the name one signs in by belongs to somebody else.
   */
  setPassword(input: { userId: UserId; password?: string }): Promise<{ loginName: string; password: string }>;
  /**
   * Says how players of an application prove who they are. An issuer is asked for its documents first: `ApiError` when
   * it is not public, or does not answer as one must.
   */
  configureIdentityProvider(applicationId: ApplicationId, settings: ProviderSettings): Promise<void>;
  removeIdentityProvider(applicationId: ApplicationId, type: ProviderSettings['type']): Promise<void>;
  /**
   * Puts an application under a parent of the same publisher, as confidential as itself: their players are the same,
   * and what the child had of its own (tokens, identities, provisional accounts) is deleted.
   */
  linkChildApplication(input: { childId: ApplicationId; parentId: ApplicationId }): Promise<void>;
  /**
   * Bans a user from the server, until a time in Unix milliseconds or for good: tokens end at once, and players who
   * were linked to it get restricted accounts of their own.
   */
  banUser(userId: UserId, untilMs: number | null): Promise<void>;
  unbanUser(userId: UserId): Promise<void>;
  createGuild(input: { name: string; ownerId: UserId }): Promise<APIGuild>;
  /** Adds a user, or a bot's user, to a guild; with a role of `permissions` when given. */
  addMember(input: { guildId: GuildId; userId: UserId; permissions?: bigint }): Promise<void>;
  /**
   * Takes up an invite on behalf of a person: the platform's public interface has no route for it. `added` is false
   * for who was a member already. Rejects with `ApiError` when the invite is unknown or over, or the person banned.
   */
  acceptInvite(input: { code: string; userId: UserId }): Promise<{ guildId: GuildId; added: boolean }>;
  /** Issues a new token and revokes all earlier ones; their sessions close with 4004. */
  rotateToken(userId: UserId): Promise<{ token: string }>;
  revokeTokens(userId: UserId): Promise<void>;
  listApplications(): Promise<Application[]>;
  listUsers(after: UserId | null, limit: number): Promise<APIUser[]>;
  listGuilds(
    after: GuildId | null,
    limit: number,
  ): Promise<{ readonly id: GuildId; readonly name: string }[]>;
}

/** Parameters of an operation called without HTTP: path parameters, query and body by the wire's names. */
export interface ApiParams {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly files?: readonly {
    readonly field: string;
    readonly filename: string;
    readonly contentType: string;
    readonly bytes: Uint8Array;
  }[];
}

export interface ApiOptions {
  /** On whose behalf: a bot or user by id; null for nobody. */
  readonly as: UserId | string | null;
  readonly reason?: string;
}

export interface ApiReply {
  readonly status: number;
  readonly body: unknown;
}

/** Called before an operation's handler: may rewrite the call, or refuse it. */
export type BeforeHook = (
  call: ApiParams & { readonly operationId: string; readonly callerId: string | null },
) =>
  | ApiParams
  | { readonly refuse: { status: number; code: number; message: string } }
  | undefined
  | Promise<ApiParams | { readonly refuse: { status: number; code: number; message: string } } | undefined>;
/** Called with an operation's answer: may rewrite it. */
export type AfterHook = (
  call: ApiParams & { readonly operationId: string; readonly callerId: string | null },
  reply: ApiReply,
) => ApiReply | undefined | Promise<ApiReply | undefined>;

/** A call as it is now: who sits in it, and how media come through. */
export interface CallListing extends Omit<CallView, 'members'> {
  readonly members: readonly (MemberView & { readonly media: MemberMedia | null })[];
}

/** Since the member connected. `in` is what it sends. */
export interface MemberMedia {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Share of what the member sent that never arrived, 0 to 1. */
  readonly loss: number;
  readonly jitterMs: number;
}

/** The calls that this process holds: of several shards each knows those of the guilds and channels that it owns. */
export interface CallControl {
  list(): Promise<CallListing[]>;
  /**
   * Bounds who hears a user to the given ones, whoever is in the call now or later, as voice by proximity needs it;
   * null lifts the bound. It holds until the user leaves the call, or the call goes on at another shard.
   *
   * @returns false when the user is not in that call, or another shard holds it; a call has the id of its channel.
   * @throws RangeError for more listeners than a call may have members.
   */
  setAudibility(callId: string, userId: string, listenerIds: readonly string[] | null): boolean;
}

/**
 * Lobbies beyond the platform: games that the server referees, and queues that fill lobbies. What clients ask of them
 * (search, settings, ready checks, tickets) are operations of `api` like all others.
 */
export interface LobbyControl {
  /**
   * Defines a game. It runs in every lobby whose `game` is this name, from then on; after a restart it begins anew.
   *
   * @throws RangeError for a name that is taken or none, or a tick out of bounds.
   */
  defineLobby<State>(name: string, handlers: LobbyHandlers<State>): void;
  /**
   * Defines a queue, for the players of every application, who are never mixed.
   *
   * @throws RangeError for a name that is taken or none, or numbers out of bounds.
   */
  defineQueue(name: string, definition: QueueDefinition): void;
}

/** One shard, by the names that tools know: a row of `GET /cluster`. Null: it did not say in time. */
export interface ShardStatus {
  readonly id: string;
  /** The process to signal. */
  readonly pid: number;
  readonly host: string;
  /** Of its links, `host:port`; null while it is alone. */
  readonly address: string | null;
  readonly admin_url: string | null;
  readonly version: string;
  /** `silent`: the directory holds it for alive, but it does not answer. */
  readonly state: ShardState | 'silent';
  readonly sessions: number | null;
  /** Partitions that it owns. */
  readonly partitions: number;
  /** For how long partitions that it is to own are not served by it yet; 0 when all are. */
  readonly epoch_lag_ms: number | null;
  readonly journal_bytes: number | null;
  /** What waits for other shards. */
  readonly link_bytes: number | null;
  /** Actors in its memory, by kind. */
  readonly residents: Readonly<Record<string, number>> | null;
  readonly uptime_ms: number;
}

export interface ClusterStatus {
  /** Null while the process is alone. */
  readonly cluster_id: string | null;
  /** Slices of the id space, and those that nobody serves now. */
  readonly partitions: number;
  readonly partitions_unserved: number;
  /** By id. */
  readonly shards: readonly ShardStatus[];
}

export interface ClusterControl {
  /** Asks every shard. One that does not answer within a second is listed as silent. */
  status(): Promise<ClusterStatus>;
  /** Gives everything that this shard owns to the others, and waits until they have it. Sessions and sockets stay. */
  drain(): Promise<void>;
}

/** The name of an operation of the HTTP interface that is built, as the published file and docs/http.md call it. */
export type OperationId = keyof typeof operations | keyof typeof unlisted;

export interface Engine {
  readonly config: Config;
  /** Every REST operation by operationId, through the same pipeline as HTTP. Rejects with `ApiError` on a refusal. */
  readonly api: Readonly<Record<OperationId, (call: ApiParams, options: ApiOptions) => Promise<unknown>>>;
  readonly admin: Admin;
  readonly calls: CallControl;
  readonly lobbies: LobbyControl;
  readonly cluster: ClusterControl;
  /**
   * Enters the cluster, if there is one, then opens the port that serves API, gateway and files. The admin port is for
   * whoever runs the server: see `cli/serve.ts`; `adminUrl` tells the other shards where it is.
   */
  listen(options?: { readonly adminUrl?: string }): Promise<Addresses>;
  /** Stops accepting, asks every session to reconnect (op 7), flushes commits. Within `drain_timeout_ms`. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /**
   * Sees every dispatch of that name once, whoever receives it. Returns the function that ends it.
   *
   * @throws RangeError for a name that no dispatch has; the message names the nearest one.
   */
  on(event: DispatchName, listener: (d: unknown, where: { guildId: string | null }) => void): () => void;
  /** Runs before an operation, over HTTP or embedded. @throws RangeError for an unknown operation, as `on` does. */
  before(operationId: OperationId, hook: BeforeHook): () => void;
  /** Runs after an operation was answered. @throws RangeError for an unknown operation, as `on` does. */
  after(operationId: OperationId, hook: AfterHook): () => void;
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** Notes a security event in the log and in metrics, as the admin port does. */
  readonly security: SecurityTrail;
  /** A reason for each part that is not ready; empty when all is well. */
  unready(): Promise<Record<string, string>>;
}
export type { ApplicationId, ChannelId };
