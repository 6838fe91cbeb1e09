import {
  activityButtons,
  activityRequest,
  activitySecret,
  activityTarget,
  activityViewer,
  entrant,
  headlessSession,
  hiddenActivity,
  joinedActivity,
  lobby,
  lobbyEntry,
  lobbyJoin,
  openLobby,
  paymentRequest,
  paymentResult,
  premiumChange,
  premiumCommand,
  relation,
  relationWish,
  runningActivity,
  secretJoin,
  secretRequest,
  shownActivity,
  takeover,
  ticket,
  ticketDraft,
  voiceClient,
  voiceMember,
  voicePlace,
} from './link.games.ts';
import {
  appCommand,
  callback,
  callbackResult,
  commandPermissions,
  directDraft,
  emojiDraft,
  interactionCaller,
  interactionPlace,
  invocation,
  messageEdit,
  permissionTarget,
  storedEmoji,
  storedMessage,
  tokenMessage,
  tokenMessageId,
  written,
  writtenCommand,
} from './link.messages.ts';
import {
  attemptKind,
  attemptStart,
  authorizeQuery,
  call,
  client,
  confirmation,
  consentOutcome,
  decision,
  decisionOutcome,
  deviceDecision,
  deviceRequest,
  emailForm,
  externalIdentity,
  externalProof,
  factorForm,
  factorOffer,
  grant,
  grantedDevice,
  identity,
  issuedTokens,
  newNames,
  oauthClient,
  passwordForm,
  profileChange,
  signedIn,
  signInForm,
  signInStep,
  team,
  teamChange,
  tokenAnswer,
  tokenOrder,
  tokenRequest,
  verifiedPlayer,
} from './link.people.ts';
import {
  applicationUser,
  claimAnswer,
  cursors,
  deliveryTarget,
  opening,
  origin,
  presence,
  presenceUpdate,
  reopened,
  requestInput,
  session,
  sessionClaim,
  startLimit,
  startVerdict,
  states,
  streamer,
  subscribed,
  wantedGuild,
} from './link.sessions.ts';
import {
  application,
  applicationChange,
  applicationId,
  authority,
  channelId,
  clientInput,
  clientObject,
  commandInput,
  commandValue,
  dispatchBody,
  foundingChoice,
  groupSettings,
  guild,
  guildId,
  ids,
  lobbyId,
  messageId,
  person,
  privateChannel,
  scope,
  user,
  userChange,
  userId,
} from './link.values.ts';
import {
  bytes,
  decimal,
  fields,
  flag,
  id,
  integer,
  is,
  list,
  mapOf,
  nothing,
  nullable,
  number,
  oneOf,
  optional,
  record,
  reply,
  type Schema,
  secret,
  setOf,
  text,
  tuple,
  union,
  type ValueOf,
  type ValuesOf,
} from './linkschema.ts';
import { SESSION_REQUESTS } from './sessionrequests.ts';

/** The shard that runs a method: the owner of an aggregate or of another name, the called one, or all others. */
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
type Extra = Partial<Pick<Method, 'since' | 'reads'>>;

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

/** A command of an aggregate: the aggregate's id, and the command's type, input and authority. */
const command = (kind: string) => [id(kind), text, commandInput, authority] as const;
/** Number of a connection period between two shards; messages of an earlier period are ignored. */
const period = integer;
/** The commands of an application, in a guild or everywhere. */
const commandsAt = [applicationId, nullable(guildId)] as const;
const shardState = oneOf('joining', 'serving', 'suspended', 'draining', 'left');

/**
 * Every method between shards. Callers, receivers, the validation of incoming calls and the golden packets are made
 * from this table. Within a published version of the link, methods and optional arguments may be added; any other change
 * needs a new version.
 */
const LINK = {
  // Guilds, private channels and users.
  'guild.command': keyed('guild', command('guild'), reply(commandValue), { reads: true }),
  'guilds.create': once('guild', [guildId, text, user, optional(foundingChoice)], reply(guild)),
  'guilds.createOwn': once('user', [userId, guildId, text, foundingChoice], reply(guild)),
  'guilds.setPresences': asksShard(
    [states(guildId, userId, tuple(nullable(presence), number, flag))],
    list(text),
  ),
  'privateChannel.command': keyed('channel', command('channel'), reply(commandValue)),
  'privateChannel.open': repeatable('user', [userId, userId, optional(flag)], reply(privateChannel)),
  'privateChannel.openGroup': repeatable(
    'channel',
    [channelId, list(userId), groupSettings],
    reply(privateChannel),
  ),
  'privateChannel.relationsChanged': repeatable('channel', [channelId], nothing),
  'users.update': repeatable('user', [userId, userChange], reply(user)),
  'users.guildIdsOf': repeatable('user', [userId], list(guildId)),
  'users.hasSession': repeatable('user', [userId, text], flag),
  'users.keepsSession': repeatable('user', [userId, text], flag, { since: 2 }),
  'users.plays': repeatable('user', [userId, applicationId], flag),
  'users.presences': asksShard([list(userId)], mapOf(userId, presence)),
  'users.deliver': tells('user', [
    list(deliveryTarget),
    text,
    text,
    nullable(origin),
    optional(nullable(origin)),
  ]),
  'users.setMemberships': asksShard([states(userId, guildId, oneOf('joined', 'left'))], list(text)),
  'users.repeatPresences': asksShard([states(userId, guildId, is(null))], list(text)),

  // Sessions whose user or guild another shard owns.
  'remoteSessions.subscribe': asksShard([guildId, list(wantedGuild), integer], list(subscribed)),
  'remoteSessions.open': asksShard([session], opening),
  'remoteSessions.reopen': asksShard([session, nullable(presenceUpdate), cursors], reopened),
  'remoteSessions.ask': asksShard([session, text, tuple(requestInput)], nothing),
  'remoteSessions.begin': tellsShard([text, period], 2),
  'remoteSessions.ended': tellsShard([text, period, integer, flag]),
  'remoteSessions.writable': tellsShard([text, period, integer]),
  'localSessions.whenWritable': tellsShard([period, integer, integer]),
  'localSessions.replaced': tellsShard([period, integer, nullable(guildId), integer]),
  'localSessions.join': tellsShard([period, integer, guildId]),
  'localSessions.guildLost': tellsShard([guildId]),
  'localSessions.guildLoaded': tellsShard([guildId]),

  // Gateway sessions that move, and their journals.
  'sessions.take': asksShard([sessionClaim], claimAnswer),
  'sessions.takeCopy': asksShard([sessionClaim], claimAnswer),
  'sessions.held': asksShard([list(text), optional(list(integer))], list(text)),
  'sessions.reassert': asksShard([list(text)], nothing),
  'sessions.wantAuthorizeRequests': asksShard([applicationUser, text, flag], flag),
  'sessions.requestAuthorization': asksShard([userId, applicationId, text], integer),
  'sessionStarts.take': once('user', [userId, text, nullable(integer)], startVerdict),
  'sessionStarts.limitOf': once('user', [userId], startLimit),
  'journals.location': asksShard([], text),
  'journals.append': asksShard([text, text, integer, integer, bytes], flag),
  'shard.status': asksShard(
    [],
    fields({
      ...{ state: shardState, sessions: nullable(integer), epoch_lag_ms: nullable(integer) },
      ...{ journal_bytes: nullable(integer), link_bytes: nullable(integer) },
      residents: nullable(record(integer)),
    }),
  ),

  // Accounts, sign-in and OAuth2.
  'accounts.signIn': once('user', [signInForm, client], reply(signInStep)),
  'accounts.secondFactor': once('user', [text, text, client], reply(userId)),
  'accounts.issueToken': once('user', [userId], secret),
  'accounts.revokeToken': repeatable('user', [userId, text], nothing),
  'accounts.open': once('user', [userId, client, optional(text)], secret),
  'accounts.close': repeatable('user', [userId, text], nothing),
  'accounts.closeAll': repeatable('user', [userId, nullable(text)], nothing),
  'accounts.rename': once('user', [userId, newNames], reply(nothing)),
  'accounts.confirm': once('user', [userId, text, client], reply(nothing)),
  'accounts.changePassword': once('user', [userId, passwordForm, nullable(text), client], reply(nothing)),
  'accounts.setPassword': once('user', [userId, text], reply(nothing)),
  'accounts.changeEmail': once('user', [userId, emailForm, client], reply(nothing)),
  'accounts.askToConfirm': once('user', [userId, client], reply(nothing)),
  'accounts.confirmEmail': once('user', [text], reply(userId)),
  'accounts.reset': once('user', [text, text, optional(client)], reply(userId)),
  'accounts.offerFactor': once('user', [userId, optional(text)], reply(factorOffer)),
  'accounts.enableFactor': once('user', [userId, factorForm, client], reply(list(secret))),
  'accounts.disableFactor': once('user', [userId, confirmation, client], reply(nothing)),
  'rateLimits.take': once('name', [call.attempt], call.verdict),
  'attempts.begin': once('name', [text, attemptKind, flag], attemptStart),
  'attempts.forget': tells('name', [text, attemptKind]),
  'attempts.takeBack': tells('name', [text, attemptKind]),
  'mailQuota.mailbox': once('name', [text], flag),
  'mailQuota.address': once('name', [text], flag),
  'identity.forget': tellsAll([userId]),
  'identity.revoked': tellsAll([userId, nullable(text)]),
  'operator.rotateToken': once('user', [userId, oneOf('bot', 'user')], secret),
  'operator.revokeTokens': once('user', [userId], nothing),
  'teams.change': repeatable('name', [ids.team, teamChange], reply(nullable(team))),
  'applications.update': repeatable('application', [applicationId, applicationChange], reply(application)),
  'webhookEvents.queued': tells('application', [applicationId]),
  'appCommands.write': once('application', [...commandsAt, clientInput], reply(writtenCommand)),
  'appCommands.edit': repeatable('application', [...commandsAt, ids.command, clientInput], reply(appCommand)),
  'appCommands.delete': once('application', [...commandsAt, ids.command], reply(nothing)),
  'appCommands.overwrite': repeatable('application', [...commandsAt, clientInput], reply(list(appCommand))),
  'appCommands.setPermissions': repeatable(
    'application',
    [applicationId, guildId, permissionTarget, clientInput],
    reply(commandPermissions),
  ),
  'applicationEmojis.create': once('application', [applicationId, emojiDraft], reply(storedEmoji)),
  'applicationEmojis.rename': repeatable(
    'application',
    [applicationId, ids.emoji, optional(text)],
    reply(storedEmoji),
  ),
  'applicationEmojis.delete': once('application', [applicationId, ids.emoji], reply(nothing)),
  'premium.run': once('application', [applicationId, premiumCommand], reply(premiumChange)),
  // Money: the owner of the application asks the payment provider.
  'payments.run': once('application', [applicationId, paymentRequest], reply(paymentResult)),
  'appCommands.indexChanged': tellsAll([list(guildId)]),
  // Running activities: the owner of the guild or private channel decides.
  'runningActivities.join': repeatable('name', [id('owner'), activityRequest], reply(joinedActivity)),
  'runningActivities.leave': repeatable('name', [id('owner'), activityRequest], nothing),
  'runningActivities.list': repeatable('name', [id('owner'), activityViewer], reply(list(clientObject))),
  'runningActivities.all': repeatable('name', [id('owner')], list(runningActivity)),
  // Interactions: the owner of the guild or private channel decides.
  'interactions.place': repeatable('name', [id('owner'), text], nullable(interactionCaller)),
  'interactions.forget': tellsAll([text]),
  'interactions.invoke': once('name', [id('owner'), invocation], reply(oneOf('begun', 'repeated'))),
  'interactions.answer': once('name', [id('owner'), text, callback], reply(callbackResult)),
  'interactions.followUp': once('name', [id('owner'), text, tokenMessage], reply(written)),
  'interactions.message': repeatable('name', [id('owner'), text, tokenMessageId], reply(storedMessage)),
  'interactions.edit': repeatable('name', [id('owner'), text, tokenMessageId, messageEdit], reply(written)),
  'interactions.remove': once('name', [id('owner'), text, tokenMessageId], reply(nothing)),
  'interactions.dismiss': once('name', [id('owner'), interactionPlace, messageId, userId], reply(nothing)),
  'oauth.issue': once('user', [tokenOrder], issuedTokens),
  'oauth.granted': repeatable('user', [userId, applicationId], nullable(setOf(scope))),
  'oauth.deauthorize': repeatable('user', [userId, applicationId, optional(fields({ silent: flag }))], flag),
  'oauth.grants': repeatable('user', [userId], list(grant)),
  'oauth.token': once('user', [tokenRequest], reply(tokenAnswer)),
  'oauth.revoke': repeatable('user', [oauthClient, text], nothing),
  'oauth.describeConsent': repeatable('user', [userId, authorizeQuery], consentOutcome),
  'oauth.decideConsent': once('user', [userId, authorizeQuery, decision], decisionOutcome),
  'oauth.forget': tellsAll([userId]),
  'oauth.revoked': tellsAll([userId, applicationId, optional(text)]),
  'devices.finish': once('device', [text, deviceDecision], flag),
  'devices.poll': once('device', [text, applicationId, nullable(externalProof)], reply(tokenAnswer)),
  'devices.signedIn': once('device', [text], reply(userId)),
  'devices.approve': once('user', [userId, deviceRequest], flag),
  'devices.exchange': once('user', [userId, grantedDevice, nullable(externalProof)], reply(tokenAnswer)),

  // Players of games, their relationships and activities.
  'players.banned': once('user', [userId, nullable(decimal)], nothing),
  'players.linkChild': once('application', [applicationId, applicationId], reply(nothing)),
  'players.enter': once('application', [applicationId, applicationId, verifiedPlayer], reply(signedIn)),
  'players.join': once('application', [applicationId, userId, externalIdentity], reply(nothing)),
  'players.part': once('application', [applicationId, externalIdentity], reply(nothing)),
  'players.partAgain': once(
    'application',
    [applicationId, userId, identity, nullable(userId)],
    reply(nothing),
  ),
  'players.updateProfile': once(
    'application',
    [applicationId, userId, externalIdentity, profileChange],
    reply(fields({ created: flag })),
  ),
  'players.forget': once('application', [applicationId, userId, externalIdentity], reply(nothing)),
  'relationships.change': once(
    'user',
    [userId, userId, userId, nullable(applicationId), relationWish],
    reply(nothing),
  ),
  'relationships.takeOver': once('user', [userId, takeover], nothing),
  'relationships.lock': once('user', [userId, text, userId], nothing),
  'relationships.unlock': tells('user', [userId, text]),
  'friends.of': repeatable('user', [userId], list(relation)),
  'friends.blocks': repeatable('user', [userId, userId], flag),
  'friends.friends': repeatable('user', [userId, userId, nullable(applicationId)], flag),
  'friends.forget': repeatable('user', [userId], nothing),
  'friends.forgetAll': tellsAll([]),
  'directMessages.send': once('user', [person, userId, directDraft], reply(clientObject)),
  'activities.accept': repeatable('user', [person, activityTarget], reply(activitySecret)),
  'activities.metadata': repeatable('user', [person, shownActivity], reply(activityButtons)),
  'activities.startHeadless': once(
    'user',
    [person, list(clientInput), nullable(text)],
    reply(headlessSession),
  ),
  'activities.endHeadless': once('user', [person, text], reply(nothing)),
  'activities.joinable': repeatable('user', [userId, nullable(applicationId)], nullable(hiddenActivity)),
  'activities.showInvite': once('user', [userId, applicationId, dispatchBody], nothing),

  // Lobbies and matchmaking.
  'lobby.command': keyed('lobby', command('lobby'), reply(commandValue)),
  'lobbies.createOrJoin': repeatable('user', [lobbyJoin, authority], reply(lobby)),
  'lobbies.createOpen': once('user', [openLobby, authority], reply(lobby)),
  'lobbies.enter': repeatable('user', [lobbyId, lobbyEntry, authority], reply(lobby)),
  'lobbies.speak': once('lobby', [lobbyId, text, clientInput, authority], reply(nothing)),
  // With an entrant, an owner that also owns the lobby runs the join, and its reply says how the join ended.
  'lobbies.ofSecret': repeatable(
    'name',
    [text, secretRequest, optional(entrant), optional(authority)],
    nullable(union(lobbyId, secretJoin)),
  ),
  'lobbies.settled': repeatable('lobby', [lobbyId], nothing),
  'lobbies.changeUser': tells('lobby', [lobbyId, user]),
  'lobbies.idle': tells('lobby', [lobbyId, number]),
  'lobbyLinks.link': once('lobby', [lobbyId, nullable(channelId), authority], reply(lobby)),
  'lobbyLinks.refresh': once('lobby', [lobbyId], nothing),
  'lobbyLinks.named': once('guild', [guildId, channelId], nullable(lobbyId)),
  'lobbySessions.joined': tells('user', [userId, lobbyId, applicationId, optional(flag)]),
  'lobbySessions.left': tells('user', [userId, lobbyId, list(text), optional(flag)]),
  'lobbySessions.lost': tells('user', [userId, lobbyId, list(text)]),
  'lobbySessions.back': tells('user', [userId, lobbyId]),
  'lobbySessions.invited': tells('user', [userId, voiceMember, text, nullable(text)]),
  'lobbySessions.detach': repeatable('lobby', [lobbyId, userId, text], nothing),
  'lobbySessions.check': repeatable('user', [userId, lobbyId, list(text)], nothing),
  'matchmaking.enter': once('application', [ticketDraft, authority], reply(ticket)),
  'matchmaking.get': repeatable('application', [ids.ticket, authority], reply(ticket)),
  'matchmaking.cancel': repeatable('application', [ids.ticket, authority], reply(ticket)),

  // Voice.
  'places.leave': tells('name', [text, voicePlace, text, authority]),
  'places.greet': tells('channel', [text, userId, text]),
  'calls.wake': tells('channel', [id('channel')]),
  // Voice clients that have connected to another shard than that of their call: their frames, and those for them.
  'voiceSockets.received': tellsShard([integer, nullable(voiceClient), bytes, flag]),
  'voiceSockets.closed': tellsShard([integer, integer]),
  'voiceSockets.sent': tellsShard([integer, bytes, flag]),
  'voiceSockets.ended': tellsShard([integer, nullable(integer), text]),
  'streams.ask': tells('name', [text, streamer, SESSION_REQUESTS.stream.input]),
} as const;

/** The type of the catalogue. */
type Rows = typeof LINK;
export type LinkMethod = keyof Rows;
type MethodsWhere<Row> = { [M in LinkMethod]: Rows[M] extends Row ? M : never }[LinkMethod];
type ByShard = 'shard' | 'all shards';

/** Calls that the owner of a key answers. */
export type OwnerAsk = Exclude<MethodsWhere<{ kind: 'ask' }>, MethodsWhere<{ by: ByShard }>>;
/** Calls that carry a command of an aggregate, under a command key. */
export type CommandMethod = MethodsWhere<{ repeat: 'keyed' }>;
/** Notifications to the owner of a key. */
export type OwnerTell = Exclude<MethodsWhere<{ kind: 'tell' }>, MethodsWhere<{ by: ByShard }>>;
export type ShardAsk = MethodsWhere<{ kind: 'ask'; by: 'shard' }>;
export type ShardTell = MethodsWhere<{ kind: 'tell'; by: 'shard' }>;
export type Broadcast = MethodsWhere<{ by: 'all shards' }>;

export type ArgsOf<M extends LinkMethod> = ValuesOf<Rows[M]['args']>;
export type ReplyOf<M extends LinkMethod> = ValueOf<Rows[M]['reply']>;

/** Methods by name. */
export type Catalogue = ReadonlyMap<string, Method>;
export const CATALOGUE: Catalogue = new Map(Object.entries(LINK));
