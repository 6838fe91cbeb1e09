import type { ApplicationId, ChannelId, GuildId, UserId } from './ids.ts';
import {
  anything,
  bytes,
  decimal,
  fields,
  flag,
  id,
  list,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  record,
  reply,
  type Schema,
  text,
  tuple,
  type ValueOf,
  type ValuesOf,
  whole,
} from './linkschema.ts';

/**
 * The shard that runs a method: the owner shard of an aggregate or of another name, the called shard, or all others.
 */
type RunBy =
  | 'guild'
  | 'channel'
  | 'lobby'
  | 'user'
  | 'application'
  | 'device'
  | 'name'
  | 'shard'
  | 'all shards';

/**
 * Whether a call with an unknown outcome is sent again. `once`: no, the caller gets a fault. `repeatable`: yes, two
 * runs have the effect of one. `keyed`: yes, with a command key by which the aggregate runs it once.
 */
type Repeat = 'once' | 'repeatable' | 'keyed';

/** One method between shards. */
export interface Method {
  readonly kind: 'ask' | 'tell';
  readonly by: RunBy;
  readonly repeat: Repeat;
  readonly args: readonly Schema<unknown>[];
  /** `nothing` for a notification, which gets no reply. */
  readonly reply: Schema<unknown>;
  /** The version of the link that added the method; see `LINK_VERSIONS`. */
  readonly since: number;
  /** An owner without a safe lease may run it too, and must then refuse every change. */
  readonly reads: boolean;
}

type Schemas = readonly Schema<unknown>[];
interface Extra {
  readonly since?: number;
  readonly reads?: boolean;
}

const owned =
  <R extends Repeat>(repeat: R) =>
  <B extends Exclude<RunBy, 'shard' | 'all shards'>, const A extends Schemas, V>(
    by: B,
    args: A,
    answer: Schema<V>,
    { since = 1, reads = false }: Extra = {},
  ) => ({ kind: 'ask' as const, by, repeat, args, reply: answer, since, reads });

/** A call to the owner that is not repeated. */
const once = owned('once');
const repeatable = owned('repeatable');
const keyed = owned('keyed');

/** A notification of the owner: in the order of the caller and without a reply; a broken link may lose it. */
const tells = <B extends Exclude<RunBy, 'shard' | 'all shards'>, const A extends Schemas>(
  by: B,
  args: A,
  since = 1,
) => ({ kind: 'tell' as const, by, repeat: 'once' as const, args, reply: nothing, since, reads: false });

/** A call to a given shard; the caller decides whether to repeat it. */
const asksShard = <const A extends Schemas, V>(args: A, answer: Schema<V>, since = 1) => ({
  ...{ kind: 'ask' as const, by: 'shard' as const, repeat: 'once' as const },
  ...{ args, reply: answer, since, reads: false },
});
const tellsShard = <const A extends Schemas>(args: A, since = 1) => ({
  ...{ kind: 'tell' as const, by: 'shard' as const, repeat: 'once' as const },
  ...{ args, reply: nothing, since, reads: false },
});
/** A notification of every other shard. */
const tellsAll = <const A extends Schemas>(args: A, since = 1) => ({
  ...{ kind: 'tell' as const, by: 'all shards' as const, repeat: 'once' as const },
  ...{ args, reply: nothing, since, reads: false },
});

const guildId = id<GuildId>('guild');
const channelId = id<ChannelId>('channel');
const lobbyId = id<ChannelId>('lobby');
const userId = id<UserId>('user');
const applicationId = id<ApplicationId>('application');
/** The caller and the permissions that the call requires. */
const authority = object;
/** A command of an aggregate: its type, input and authority. */
const command = [text, object, authority] as const;
/** A session of another shard, as its host describes it. */
const session = object;
/** Result of a session's subscription. */
const subscribed = oneOf('member', 'gone', 'tooOld');
/** Number of a connection period between two shards; messages of an earlier period are ignored. */
const period = whole;
const shardState = oneOf('joining', 'serving', 'suspended', 'draining', 'left');
/** Counts by name. */
const countByName = record(whole);
/** Counters for sign-in attempts. */
const attemptKind = oneOf('login', 'everywhere', 'factor', 'address');
/** Current states by owner and subject. */
const states = list(tuple(id('owner'), anything));

/**
 * Every method between shards. Callers, receivers, the validation of incoming calls and the golden packets are made
 * from this table. Within a version of the link, methods and optional arguments may be added; any other change needs a
 * new version.
 */
export const LINK = {
  // Guilds, private channels and users.
  'guild.command': keyed('guild', [guildId, ...command], reply(anything), { reads: true }),
  'guilds.create': once('guild', [guildId, text, object, optional(object)], reply(object)),
  'guilds.createOwn': once('user', [userId, guildId, text, object], reply(object)),
  'guilds.setPresences': asksShard([states], list(text)),
  'privateChannel.command': keyed('channel', [channelId, ...command], reply(anything)),
  'privateChannel.open': repeatable('user', [userId, userId, optional(flag)], reply(object)),
  'privateChannel.openGroup': repeatable('channel', [channelId, list(userId), object], reply(object)),
  'privateChannel.relationsChanged': repeatable('channel', [channelId], nothing),
  'users.update': repeatable('user', [userId, object], reply(object)),
  'users.guildIdsOf': repeatable('user', [userId], list(guildId)),
  'users.hasSession': repeatable('user', [userId, text], flag),
  'users.plays': repeatable('user', [userId, applicationId], flag),
  'users.presences': asksShard([list(userId)], object),
  'users.deliver': tells('user', [list(tuple(userId, anything)), text, text, anything, optional(anything)]),
  'users.setMemberships': asksShard([states], list(text)),
  'users.repeatPresences': asksShard([states], list(text)),

  // Sessions whose user or guild another shard owns.
  'remoteSessions.subscribe': asksShard([id('guild'), list(object), whole], list(subscribed)),
  'remoteSessions.open': asksShard([session], object),
  'remoteSessions.reopen': asksShard([session, nullable(object), list(anything)], object),
  'remoteSessions.ask': asksShard([session, text, tuple(anything)], anything),
  'remoteSessions.members': asksShard([session, object], nothing),
  'remoteSessions.channelInfo': asksShard([session, guildId, list(text)], nothing),
  'remoteSessions.ended': tellsShard([text, period, whole, flag]),
  'remoteSessions.writable': tellsShard([text, period, whole]),
  'localSessions.whenWritable': tellsShard([period, whole, whole]),
  'localSessions.replaced': tellsShard([period, whole, nullable(guildId), whole]),
  'localSessions.join': tellsShard([period, whole, guildId]),

  // Gateway sessions that move, and their journals.
  'sessions.take': asksShard([object], object),
  'sessions.takeCopy': asksShard([object], object),
  'sessions.held': asksShard([list(text), optional(list(whole))], list(text)),
  'sessions.reassert': asksShard([list(text)], nothing),
  'sessions.wantAuthorizeRequests': asksShard([object, text, flag], flag),
  'sessions.requestAuthorization': asksShard([userId, applicationId, text], whole),
  'sessionStarts.take': once('user', [userId, text, nullable(whole)], anything),
  'sessionStarts.limitOf': once('user', [userId], object),
  'journals.location': asksShard([], text),
  'journals.append': asksShard([text, text, whole, whole, bytes], flag),
  'shard.status': asksShard(
    [],
    fields({
      ...{ state: shardState, sessions: nullable(whole), epoch_lag_ms: nullable(whole) },
      ...{ journal_bytes: nullable(whole), link_bytes: nullable(whole), residents: nullable(countByName) },
    }),
  ),

  // Accounts, sign-in and OAuth2.
  'accounts.signIn': once('user', [object, object], reply(object)),
  'accounts.secondFactor': once('user', [text, text, object], reply(userId)),
  'accounts.issueToken': once('user', [userId], object),
  'accounts.revokeToken': repeatable('user', [userId, text], nothing),
  'accounts.open': once('user', [userId, object, optional(text)], object),
  'accounts.close': repeatable('user', [userId, text], nothing),
  'accounts.closeAll': repeatable('user', [userId, nullable(text)], nothing),
  'accounts.rename': once('user', [userId, object], reply(nothing)),
  'accounts.confirm': once('user', [userId, text, object], reply(nothing)),
  'accounts.changePassword': once('user', [userId, object, nullable(text), object], reply(nothing)),
  'accounts.setPassword': once('user', [userId, text], reply(nothing)),
  'accounts.changeEmail': once('user', [userId, object, object], reply(nothing)),
  'accounts.askToConfirm': once('user', [userId, object], reply(nothing)),
  'accounts.confirmEmail': once('user', [text], reply(userId)),
  'accounts.reset': once('user', [text, text, optional(object)], reply(userId)),
  'accounts.offerFactor': once('user', [userId, optional(text)], reply(object)),
  'accounts.enableFactor': once('user', [userId, object, object], reply(list(object))),
  'accounts.disableFactor': once('user', [userId, object, object], reply(nothing)),
  'attempts.begin': once('name', [text, attemptKind, flag], object),
  'attempts.forget': tells('name', [text, attemptKind]),
  'attempts.takeBack': tells('name', [text, attemptKind]),
  'mailQuota.mailbox': once('name', [text], flag),
  'mailQuota.address': once('name', [text], flag),
  'identity.forget': tellsAll([userId]),
  'identity.revoked': tellsAll([userId, nullable(text)]),
  'operator.rotateToken': once('user', [userId, oneOf('bot', 'user')], object),
  'operator.revokeTokens': once('user', [userId], nothing),
  'teams.change': repeatable('name', [id('team'), object], reply(nullable(object))),
  'applications.update': repeatable('application', [applicationId, object], reply(object)),
  'webhookEvents.queued': tells('application', [applicationId]),
  'appCommands.write': once('application', [applicationId, nullable(guildId), anything], reply(object)),
  'appCommands.edit': repeatable(
    'application',
    [applicationId, nullable(guildId), text, anything],
    reply(object),
  ),
  'appCommands.delete': once('application', [applicationId, nullable(guildId), text], reply(nothing)),
  'appCommands.overwrite': repeatable(
    'application',
    [applicationId, nullable(guildId), anything],
    reply(list(object)),
  ),
  'appCommands.setPermissions': repeatable(
    'application',
    [applicationId, guildId, object, anything],
    reply(object),
  ),
  'applicationEmojis.create': once('application', [applicationId, object], reply(object)),
  'applicationEmojis.rename': repeatable('application', [applicationId, text, optional(text)], reply(object)),
  'applicationEmojis.delete': once('application', [applicationId, text], reply(nothing)),
  'premium.run': once('application', [applicationId, object], reply(object)),
  // Money: the owner of the application asks the payment provider.
  'payments.run': once('application', [applicationId, object], reply(object)),
  'appCommands.indexChanged': tellsAll([list(guildId)]),
  // Running activities: the owner of the guild or private channel decides.
  'runningActivities.join': repeatable('name', [id('owner'), object], reply(object)),
  'runningActivities.leave': repeatable('name', [id('owner'), object], nothing),
  'runningActivities.list': repeatable('name', [id('owner'), object], reply(list(object))),
  'runningActivities.all': repeatable('name', [id('owner')], list(object)),
  // Interactions: the owner of the guild or private channel decides.
  'interactions.place': repeatable('name', [id('owner'), text], nullable(object)),
  'interactions.forget': tellsAll([text]),
  'interactions.invoke': once('name', [id('owner'), object], reply(oneOf('begun', 'repeated'))),
  'interactions.answer': once('name', [id('owner'), text, object], reply(object)),
  'interactions.followUp': once('name', [id('owner'), text, object], reply(object)),
  'interactions.message': repeatable('name', [id('owner'), text, text], reply(object)),
  'interactions.edit': repeatable('name', [id('owner'), text, text, object], reply(object)),
  'interactions.remove': once('name', [id('owner'), text, text], reply(nothing)),
  'interactions.dismiss': once('name', [id('owner'), object, text, text], reply(nothing)),
  'oauth.issue': once('user', [object], object),
  'oauth.granted': repeatable('user', [userId, applicationId], nullable(object)),
  'oauth.deauthorize': repeatable('user', [userId, applicationId, optional(object)], flag),
  'oauth.grants': repeatable('user', [userId], list(object)),
  'oauth.token': once('user', [object], reply(object)),
  'oauth.revoke': repeatable('user', [object, text], nothing),
  'oauth.describeConsent': repeatable('user', [userId, object], object),
  'oauth.decideConsent': once('user', [userId, object, object], object),
  'oauth.forget': tellsAll([userId]),
  'oauth.revoked': tellsAll([userId, applicationId]),
  'devices.finish': once('device', [text, object], flag),
  'devices.poll': once('device', [text, applicationId, nullable(object)], reply(object)),
  'devices.signedIn': once('device', [text], reply(text)),
  'devices.approve': once('user', [userId, object], flag),
  'devices.exchange': once('user', [userId, object, nullable(object)], reply(object)),

  // Players of games, their relationships and activities.
  'players.banned': once('user', [userId, nullable(decimal)], nothing),
  'players.linkChild': once('application', [applicationId, applicationId], reply(nothing)),
  'players.enter': once('application', [applicationId, applicationId, object], reply(object)),
  'players.join': once('application', [applicationId, userId, object], reply(nothing)),
  'players.part': once('application', [applicationId, object], reply(nothing)),
  'players.partAgain': once('application', [applicationId, userId, object, nullable(userId)], reply(nothing)),
  'players.updateProfile': once('application', [applicationId, userId, object, object], reply(object)),
  'players.forget': once('application', [applicationId, userId, object], reply(nothing)),
  'relationships.change': once(
    'user',
    [userId, userId, userId, nullable(applicationId), object],
    reply(nothing),
  ),
  'relationships.takeOver': once('user', [userId, object], nothing),
  'friends.of': repeatable('user', [userId], list(object)),
  'friends.blocks': repeatable('user', [userId, userId], flag),
  'friends.friends': repeatable('user', [userId, userId, nullable(applicationId)], flag),
  'friends.forget': repeatable('user', [userId], nothing),
  'friends.forgetAll': tellsAll([]),
  'directMessages.send': once('user', [object, userId, object], reply(object)),
  'activities.accept': repeatable('user', [object, object], reply(object)),
  'activities.metadata': repeatable('user', [object, object], reply(object)),
  'activities.startHeadless': once('user', [object, list(anything), nullable(text)], reply(object)),
  'activities.endHeadless': once('user', [object, text], reply(nothing)),
  'activities.joinable': repeatable('user', [userId, nullable(applicationId)], nullable(object)),
  'activities.showInvite': once('user', [userId, applicationId, object], nothing),

  // Lobbies and matchmaking.
  'lobby.command': keyed('lobby', [lobbyId, ...command], reply(anything)),
  'lobbies.createOrJoin': repeatable('user', [object, authority], reply(object)),
  'lobbies.createOpen': once('user', [object, authority], reply(object)),
  'lobbies.enter': repeatable('user', [lobbyId, object, authority], reply(object)),
  'lobbies.speak': once('lobby', [lobbyId, text, anything, authority], reply(nothing)),
  'lobbies.ofSecret': repeatable('name', [text, object], nullable(lobbyId)),
  'lobbies.settled': repeatable('lobby', [lobbyId], nothing),
  'lobbies.changeUser': tells('lobby', [lobbyId, object]),
  'lobbies.idle': tells('lobby', [lobbyId, decimal]),
  'lobbyLinks.link': once('lobby', [lobbyId, nullable(channelId), authority], reply(object)),
  'lobbyLinks.refresh': once('lobby', [lobbyId], anything),
  'lobbyLinks.named': once('guild', [guildId, channelId], nullable(lobbyId)),
  'lobbySessions.joined': tells('user', [userId, lobbyId, applicationId]),
  'lobbySessions.left': tells('user', [userId, lobbyId, list(text)]),
  'lobbySessions.lost': tells('user', [userId, lobbyId, list(text)]),
  'lobbySessions.invited': tells('user', [userId, object, text, nullable(text)]),
  'lobbySessions.detach': tells('lobby', [lobbyId, userId, text]),
  'matchmaking.enter': once('application', [object, authority], reply(object)),
  'matchmaking.get': repeatable('application', [text, authority], reply(object)),
  'matchmaking.cancel': repeatable('application', [text, authority], reply(object)),

  // Voice.
  'places.leave': tells('name', [text, object, text, authority]),
  'places.greet': tells('channel', [text, userId, text]),
  'calls.wake': tells('channel', [id('channel')]),
  'streams.ask': tells('name', [text, object, object]),
} as const;

/** The type of the catalogue. */
export type Rows = typeof LINK;
export type LinkMethod = keyof Rows;
type MethodsWhere<Row> = { [M in LinkMethod]: Rows[M] extends Row ? M : never }[LinkMethod];
type OfShards = 'shard' | 'all shards';

/** Calls that the owner of a key answers. */
export type OwnerAsk = Exclude<MethodsWhere<{ kind: 'ask' }>, MethodsWhere<{ by: OfShards }>>;
/** Notifications to the owner of a key. */
export type OwnerTell = Exclude<MethodsWhere<{ kind: 'tell' }>, MethodsWhere<{ by: OfShards }>>;
export type ShardAsk = MethodsWhere<{ kind: 'ask'; by: 'shard' }>;
export type ShardTell = MethodsWhere<{ kind: 'tell'; by: 'shard' }>;
export type Broadcast = MethodsWhere<{ by: 'all shards' }>;

export type ArgsOf<M extends LinkMethod> = ValuesOf<Rows[M]['args']>;
export type ReplyOf<M extends LinkMethod> = ValueOf<Rows[M]['reply']>;

/** Methods by name. */
export type Catalogue = ReadonlyMap<string, Method>;
export const CATALOGUE: Catalogue = new Map(Object.entries(LINK));

/**
 * What is wrong with the arguments of a call from another shard; null when they are valid. Extra arguments are ignored.
 */
export function malformedArgs(
  name: string,
  { args: schemas }: Method,
  args: readonly unknown[],
): string | null {
  const at = schemas.findIndex((schema, index) => !schema.accepts(args[index]));
  return at < 0
    ? null
    : `Malformed call of ${name}: argument ${at + 1} must be ${schemas[at]?.name}, got ${kindOf(args[at])}.`;
}

/** What is wrong with a reply of another shard; null when it is valid. */
export function malformedReply(name: string, { reply: schema }: Method, value: unknown): string | null {
  return schema.accepts(value)
    ? null
    : `Malformed reply of ${name}: expected ${schema.name}, got ${kindOf(value)}.`;
}

/** The type of a value for error messages, never its content, which may be secret. */
const kindOf = (value: unknown): string => (value === null ? 'null' : typeof value);
