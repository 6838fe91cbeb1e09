import type { Logger } from 'pino';
import type { CallView, MemberView } from './actors/call/calls.ts';
import type { Directory } from './actors/cluster/ports.ts';
import type { LobbyHandlers } from './actors/lobby/game.ports.ts';
import type { ShardState } from './actors/placement/ports.ts';
import type { Clock, Timer } from './actors/runtime/clock.ts';
import type { Config } from './config/config.ts';
import type { Team, TeamChange } from './engine/application/teams.ts';
import type { PremiumCommand } from './engine/premium/rules.ts';
import type { ProviderSettings } from './engine/provisional/providers.ts';
import type { Application } from './engine/user/facts.ts';
import type { ChaosRule, ChaosScenario, ChaosStatus } from './protocol/chaos.ts';
import type { DispatchName } from './protocol/dispatches.ts';
import type { ApplicationId, ChannelId, GuildId, TeamId, UserId } from './protocol/ids.ts';
import type { APIGuild, APIUser } from './protocol/objects.ts';
import type { Entitlement, Sku, Subscription } from './protocol/premium.ts';
import type { SecurityTrail } from './protocol/security.ts';
import type { Interact } from './sdk/interactions/embedded.ts';
import type { InteractionAnswer, Person } from './sdk/interactions/person.ts';
import type { Email, Mailer } from './services/accounts/ports.ts';
import type { UploadedImage } from './services/channels/messagefiles.ts';
import type { QueueDefinition } from './services/matchmaking/ports.ts';
import type { Inspection } from './services/operator/inspection.ts';
import type { Blobs } from './storage/blob/blobs.ts';
import type { Storage } from './storage/ports.ts';
import type { Recorder } from './transports/recording/recorder.ts';
import type { AfterHook, Api, BeforeHook, OperationId } from './transports/rest/typed.ts';
import type { DispatchPayloads } from './transports/wire/payloads.ts';

export type {
  GameEnd,
  GameLobby,
  GameMember,
  GameMessage,
  GameTick,
  LobbyHandlers,
} from './actors/lobby/game.ports.ts';
export type { ChaosRule, ChaosScenario, ChaosStatus } from './protocol/chaos.ts';
export type { OwnApplication as ApplicationObject } from './protocol/schemas/application.ts';
export type { AutoModerationRule } from './protocol/schemas/automod.ts';
export type { Channel, DirectMessageChannel } from './protocol/schemas/channel.ts';
export type { Command } from './protocol/schemas/command.ts';
export type { ScheduledEvent, StageInstance } from './protocol/schemas/event.ts';
export type { OpenLobby } from './protocol/schemas/extension.ts';
export type { Guild, Role } from './protocol/schemas/guild.ts';
export type { Invite } from './protocol/schemas/invite.ts';
export type { Lobby, LobbyMember, LobbyMessage } from './protocol/schemas/lobby.ts';
export type { Member, VoiceState } from './protocol/schemas/member.ts';
export type { Message } from './protocol/schemas/message.ts';
export type { GameRelationship, Relationship } from './protocol/schemas/social.ts';
export type { User } from './protocol/schemas/user.ts';
export type { Webhook } from './protocol/schemas/webhook.ts';
export type { QueueDefinition, Ticket, TicketObject } from './services/matchmaking/ports.ts';
export type {
  AfterHook,
  Api,
  ApiAnswer,
  ApiCall,
  ApiCaller,
  BeforeHook,
  CamelCase,
  HookCall,
  HookChange,
  HookError,
  HookRefusal,
  HookReply,
  OperationId,
} from './transports/rest/typed.ts';
export type {
  DispatchPayloads,
  GatewayLobby,
  GatewayLobbyMember,
} from './transports/wire/payloads.ts';
export type { Clock, Directory, Email as Letter, Mailer, Timer, UploadedImage };

export interface EngineOptions {
  /** Settings that differ from the defaults of `config/config.ts`. */
  readonly config?: Partial<Config>;
  /** The time. One of `movableClock` can be moved forward by `admin.moveClock`. */
  readonly clock?: Clock;
  /** Cryptographically secure random bytes. */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** Worker number in snowflakes, 0 to 1023. Shards of a cluster get theirs from the directory. */
  readonly workerId?: number;
  /** Makes the engine a shard of this directory's cluster, instead of the one that `config` names. */
  readonly directory?: Directory;
  /** Whether other processes listen on the same port, as the shards of one machine do; else the port must be free. */
  readonly sharedPort?: boolean;
  /** Replaces the engine's id generator; must return strictly ascending snowflakes. */
  readonly nextId?: () => string;
  /** The stores, instead of those that `config` names; the engine closes them when it closes. */
  readonly storage?: Storage;
  readonly blobs?: Blobs;
  readonly logger?: Logger;
  /** Sends e-mails, instead of the mail server or the folder that `config` names. A rejection is treated as a fault. */
  readonly mailer?: Mailer;
  /**
   * Whether an image that a member sends is explicit. A guild whose `explicit_content_filter` covers the member refuses the
   * message with 20009. Called with the whole image, before it is stored; a rejection is treated as a fault.
   */
  readonly isExplicit?: (image: UploadedImage) => boolean | Promise<boolean>;
  /** Injects failures, to test clients and bots; `{}` to add rules later. Never set it for players. */
  readonly chaos?: ChaosScenario;
  /** Receives every call and gateway frame, secrets included, as `guildhall dev --record` does. */
  readonly recorder?: Recorder;
}

export interface NewUser {
  /** 2 to 32 of a to z, digits, `_` and single dots; unique and not reserved. Capitals are converted to small letters. */
  readonly username: string;
  readonly globalName?: string;
  /** 8 to 1024 bytes. With a password or an e-mail address the user can sign in. */
  readonly password?: string;
  /** Receives an e-mail to confirm it; afterwards a password can be requested with it. */
  readonly email?: string;
  /** A guild that the user joins. If it does not exist, no user is created. */
  readonly guildId?: GuildId;
}

export interface Addresses {
  /** The URL ends in `/api`. */
  readonly api: string;
  readonly gateway: string;
  readonly cdn: string;
  /** Null when calls are not served. */
  readonly voice: VoiceAddresses | null;
}

export interface VoiceAddresses {
  /** The endpoint in VOICE_SERVER_UPDATE: host and port, with a path if needed, without a scheme. */
  readonly endpoint: string;
  /** Certificate of the development authority, for `NODE_EXTRA_CA_CERTS`; null with another certificate, or without TLS. */
  readonly caFile: string | null;
  /** False when the gateway listens without TLS, behind a proxy that adds it. */
  readonly secure: boolean;
  readonly udpPort: number;
  readonly webrtcPort: number;
  /** The address announced to browsers. */
  readonly webrtcAddress: string;
}

export interface NewApplication {
  readonly application: Application;
  readonly bot: APIUser;
  /** Shown once; only a hash is stored. */
  readonly botToken: string;
  readonly clientSecret: string;
}

/** Operator functions. The CLI and the admin API call these. */
export interface Admin {
  /**
   * Creates an application with its bot. All privileged intents are on unless `flags` says otherwise. With `guildId` the bot
   * joins that guild, with a role of `permissions` if given; if the guild refuses, no application is created.
   */
  createApplication(input: {
    name: string;
    ownerId?: UserId;
    flags?: number;
    guildId?: GuildId;
    permissions?: bigint;
  }): Promise<NewApplication>;
  /**
   * Configures the OAuth2 client of an application: redirect URIs, whether it may omit its secret, and the partner scopes it may
   * request. Absent fields stay unchanged. Rejects with `ApiError` for an invalid redirect URI (it must be an http(s) URL or
   * `scheme:/path`, without a fragment), and for a child whose kind of client would differ from its parent's; children are
   * changed with their parent.
   */
  configureClient(input: {
    applicationId: ApplicationId;
    redirectUris?: readonly string[];
    publicClient?: boolean;
    approvedScopes?: readonly string[];
    /** Origins of the application's pages that may reach the RPC server of its users. */
    rpcOrigins?: readonly string[];
  }): Promise<Application>;
  /**
   * Sets where the origin of an application's activity leads, and gives an application with an activity a command that
   * launches it. No mappings take the activity away. Rejects with `ApiError` for invalid mappings.
   */
  configureActivity(input: {
    applicationId: ApplicationId;
    urlMappings: readonly { readonly prefix: string; readonly target: string }[];
  }): Promise<Application>;
  /** Creates a team of people who own applications together. Its owner is a person. */
  createTeam(input: { name: string; ownerId: UserId }): Promise<Team>;
  /** Changes a team, or gives it an application. The value is null when it was deleted, which needs it to have no applications. */
  changeTeam(teamId: TeamId, change: TeamChange): Promise<Team | null>;
  /** Gives an application to a person, and takes it from its team. */
  setApplicationOwner(input: { applicationId: ApplicationId; ownerId: UserId }): Promise<Application>;
  showTeam(teamId: TeamId): Promise<{ readonly team: Team; readonly applications: readonly Application[] }>;
  listTeams(): Promise<Team[]>;
  /** Creates a user with a token. Rejects with `ApiError` when a name, password or address is refused. */
  createUser(input: NewUser): Promise<{ user: APIUser; token: string }>;
  /**
   * Sets a user's password, a random one if none is given, so that the user can sign in. Two-step sign-in is turned off and
   * every browser signed out, for users who lost all their credentials. Rejects with `ApiError` when the password is refused,
   * or when the login name belongs to another user.
   */
  setPassword(input: { userId: UserId; password?: string }): Promise<{ loginName: string; password: string }>;
  /**
   * Configures how players of an application prove their identity. The issuer's documents are fetched first: rejects with
   * `ApiError` when the issuer is not public, or its answers are invalid.
   */
  configureIdentityProvider(applicationId: ApplicationId, settings: ProviderSettings): Promise<void>;
  removeIdentityProvider(applicationId: ApplicationId, type: ProviderSettings['type']): Promise<void>;
  /**
   * Makes an application the child of another one of the same publisher, with the same kind of client: they share their
   * players, and the child's own tokens, identities and provisional accounts are deleted.
   */
  linkChildApplication(input: { childId: ApplicationId; parentId: ApplicationId }): Promise<void>;
  /**
   * Bans a user from the server, until a time in Unix milliseconds or permanently (null). Tokens are revoked at once, and
   * linked players get restricted accounts of their own.
   */
  banUser(userId: UserId, untilMs: number | null): Promise<void>;
  unbanUser(userId: UserId): Promise<void>;
  createGuild(input: { name: string; ownerId: UserId }): Promise<APIGuild>;
  /**
   * Sets the premium tier of a guild, which decides how many emoji, stickers and sounds it may have, and its bitrates. Nothing is
   * sold here: the operator chooses. Lowering it deletes nothing.
   */
  setPremiumTier(input: { guildId: GuildId; tier: 0 | 1 | 2 | 3 }): Promise<void>;
  /** Adds a user, or a bot's user, to a guild, with a role of `permissions` if given. */
  addMember(input: { guildId: GuildId; userId: UserId; permissions?: bigint }): Promise<void>;
  /**
   * Accepts an invite on behalf of a user, for which the platform's OpenAPI has no route. `added` is false for an existing
   * member. Rejects with `ApiError` when the invite is unknown or expired, or the user is banned.
   */
  acceptInvite(input: { code: string; userId: UserId }): Promise<{ guildId: GuildId; added: boolean }>;
  /** Issues a new token and revokes all earlier ones; their sessions close with 4004. */
  rotateToken(userId: UserId): Promise<{ token: string }>;
  revokeTokens(userId: UserId): Promise<void>;
  /** Changes what an application sells, or who has it. Rejects with `ApiError` when it is refused. */
  premium(
    applicationId: ApplicationId,
    command: PremiumCommand,
  ): Promise<{
    readonly skus: readonly Sku[];
    readonly entitlements: readonly Entitlement[];
    readonly subscriptions: readonly Subscription[];
  }>;
  /** Moves the time of day forward, as when a month of a subscription is tried. Rejects where the clock cannot be moved. */
  moveClock(byMs: number): Promise<{ readonly nowMs: number }>;
  /** An application, its bot, and the number of its global commands. Rejects with `ApiError` for an unknown id. */
  showApplication(applicationId: ApplicationId): Promise<{
    readonly application: Application;
    readonly bot: APIUser | null;
    readonly commands: number;
  }>;
  /** A user, the guilds of which it is a member, and how many tokens it has. Rejects with `ApiError` for an unknown id. */
  showUser(userId: UserId): Promise<{
    readonly user: APIUser;
    readonly guildIds: readonly GuildId[];
    readonly tokens: number;
    readonly banned: boolean;
  }>;
  /** A guild with its counts and channels. Rejects with `ApiError` for an unknown id. */
  showGuild(guildId: GuildId): Promise<{
    readonly guild: APIGuild;
    readonly channels: readonly { readonly id: ChannelId; readonly type: number; readonly name: string }[];
    readonly bots: readonly Application[];
  }>;
  /** Deletes a guild with everything in it. Rejects with `ApiError` for an unknown id. */
  deleteGuild(guildId: GuildId): Promise<void>;
  /**
   * Copies an embedded database in a data directory, for `guildhall backup`; commits wait meanwhile. The caller deletes the
   * copy. @returns its directory; null for a PostgreSQL server, which is backed up without this, and for a database in memory.
   */
  copyDatabase(): Promise<string | null>;
  listApplications(after: ApplicationId | null, limit: number): Promise<Application[]>;
  listUsers(after: UserId | null, limit: number): Promise<APIUser[]>;
  /** People with that username, in any case; at most two. Bots are not found by name. */
  usersNamed(username: string): Promise<APIUser[]>;
  listGuilds(
    after: GuildId | null,
    limit: number,
  ): Promise<{ readonly id: GuildId; readonly name: string }[]>;
}

/** Parameters of an operation called without HTTP: path parameters, query and body by their names on the wire. */
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

/** The caller of an operation that is called by a name known only at run time. */
export interface ApiOptions {
  /** A bot or user by id; null for an unauthenticated call. */
  readonly as: UserId | string | null;
  readonly reason?: string;
}

/** A call in progress: its members, and the quality of their media. */
export interface CallListing extends Omit<CallView, 'members'> {
  readonly members: readonly (MemberView & { readonly media: MemberMedia | null })[];
}

/** Counted since the member connected; `in` is what the member sends. */
export interface MemberMedia {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Share of the member's packets that were lost, 0 to 1. */
  readonly loss: number;
  readonly jitterMs: number;
}

/** The calls of this process: each shard has those of the guilds and channels it owns. */
export interface CallControl {
  list(): Promise<CallListing[]>;
  /**
   * Restricts the receivers of a user's audio to the given users, whether in the call now or later, as for proximity
   * voice; null removes the restriction. It ends when the user leaves the call, or the call moves to another shard.
   *
   * @returns false when the user is not in that call, or another shard has it; a call has the id of its channel.
   * @throws RangeError for more listeners than a call may have members.
   */
  setAudibility(callId: string, userId: string, listenerIds: readonly string[] | null): boolean;
}

/**
 * Lobby features beyond the platform: games that the server referees, and queues that fill lobbies. The client side (search,
 * settings, ready checks, tickets) consists of operations of `api`.
 */
export interface LobbyControl {
  /**
   * Defines a game. From then on it runs in every lobby whose `game` is this name; after a restart it starts over.
   *
   * @throws RangeError for an invalid or duplicate name, or a tick interval out of bounds.
   */
  defineLobby<State>(name: string, handlers: LobbyHandlers<State>): void;
  /**
   * Defines a queue for the players of every application. Players of different applications are never matched.
   *
   * @throws RangeError for an invalid or duplicate name, or numbers out of bounds.
   */
  defineQueue(name: string, definition: QueueDefinition): void;
}

/** One shard, as a row of `GET /cluster`; the keys are a contract for tools. Null fields were not answered in time. */
export interface ShardStatus {
  readonly id: string;
  /** The process to signal. */
  readonly pid: number;
  readonly host: string;
  /** Address of its links, `host:port`; null for a single process. */
  readonly address: string | null;
  readonly admin_url: string | null;
  readonly version: string;
  /** `silent`: the directory lists it as a member, but it does not answer. */
  readonly state: ShardState | 'silent';
  readonly sessions: number | null;
  /** Number of partitions that it owns. */
  readonly partitions: number;
  /** How long partitions assigned to it have not been served by it yet; 0 when it serves all. */
  readonly epoch_lag_ms: number | null;
  readonly journal_bytes: number | null;
  /** Bytes queued for other shards. */
  readonly link_bytes: number | null;
  /** Number of actors in its memory, by kind. */
  readonly residents: Readonly<Record<string, number>> | null;
  readonly uptime_ms: number;
}

export interface ClusterStatus {
  /** Null for a single process. */
  readonly cluster_id: string | null;
  /** Number of partitions of the id space, and of those that no shard serves now. */
  readonly partitions: number;
  readonly partitions_unserved: number;
  /** Ascending by id. */
  readonly shards: readonly ShardStatus[];
}

export interface ClusterControl {
  /** Queries every shard. One that does not answer within a second is listed as silent. */
  status(): Promise<ClusterStatus>;
  /** Hands over everything this shard owns to the others, and waits until they have it. Sessions and sockets stay. */
  drain(): Promise<void>;
}

/** The page and the user that a one-time link of the playground opens. */
export interface PlaygroundEntry {
  /** The user that the browser is signed in as. */
  readonly userId: UserId;
  /** Shown beside the chat; null for nothing. */
  readonly demo: PlaygroundDemo | null;
}

interface PlaygroundDemo {
  /** The application whose lobbies the page offers. */
  readonly applicationId: string;
  /** Programs to paste into a file, with a bot's token filled in. */
  readonly recipes: readonly { readonly name: string; readonly install: string; readonly program: string }[];
}

interface PlaygroundControl {
  /**
   * A link that signs a browser in once, within fifteen minutes, at this process. The code stands behind `#`, which browsers
   * send to no server.
   */
  signInLink(entry: PlaygroundEntry): string;
}

/** Failures that are injected while the engine runs; docs/failure-injection.md has all rules. */
export interface ChaosControl {
  /** @returns the id of the rule. @throws RangeError when there are too many. */
  add(rule: ChaosRule): string;
  /** @returns false when there is no such rule. */
  remove(id: string): boolean;
  clear(): void;
  /** The rules in force, and how often each has struck. */
  list(): readonly ChaosStatus[];
}

export interface Engine {
  readonly config: Config;
  /**
   * Every REST operation, run through the same pipeline as HTTP: `createMessage({ as, params, body })`, or by operationId
   * `create_message({ params, body }, { as })`. Rejects with `ApiError` on a refusal. An unknown name throws a RangeError that
   * suggests the closest one.
   */
  readonly api: Api;
  readonly admin: Admin;
  /** Null unless the engine was created with the option `chaos`. */
  readonly chaos: ChaosControl | null;
  readonly calls: CallControl;
  /** Reads sessions, lobbies, queues and logs for the console. */
  readonly inspect: Inspection;
  readonly lobbies: LobbyControl;
  readonly cluster: ClusterControl;
  /**
   * Joins the cluster, if there is one, then opens the port that serves API, gateway and files. The admin port is opened
   * separately (see `cli/serve.ts`); `adminUrl` is its URL for the other shards.
   */
  listen(options?: { readonly adminUrl?: string }): Promise<Addresses>;
  /** Stops accepting, asks every session to reconnect (op 7), flushes commits. Within `drain_timeout_ms`. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /**
   * Calls `listener` once for every dispatch of that name, independent of its recipients. @returns a function that removes the listener.
   *
   * @throws RangeError for an unknown name; the message suggests the closest one.
   */
  on<Name extends DispatchName>(
    event: Name,
    listener: (d: DispatchPayloads[Name], where: { guildId: GuildId | null }) => void,
  ): () => void;
  /**
   * Runs a command of an application as a user: `{ as, command: '/ping text:hello', guildId, channelId }`.
   *
   * @returns what the user would see: a message, a form, suggestions, or why it failed.
   * @throws ApiError when the server refuses it; InvocationError when the command or an option is unknown.
   */
  interact(invocation: Interact): Promise<InteractionAnswer>;
  /** A user as a person who uses applications: runs commands, clicks, selects and fills in forms. */
  person(userId: UserId | string): Person;
  /** Runs before an operation, over HTTP or embedded. @throws RangeError for an unknown operation, as `on` does. */
  before<Id extends OperationId>(operationId: Id, hook: BeforeHook<Id>): () => void;
  /** Runs after an operation was answered. @throws RangeError for an unknown operation, as `on` does. */
  after<Id extends OperationId>(operationId: Id, hook: AfterHook<Id>): () => void;
  readonly playground: PlaygroundControl;
  /** All metrics as Prometheus text. */
  metrics(): Promise<string>;
  /** Records a security event in the log and in metrics, as the admin port does. */
  readonly security: SecurityTrail;
  /** The reason for each part that is not ready; empty when all are. */
  unready(): Promise<Record<string, string>>;
}
export type { ApplicationId, ChannelId };
