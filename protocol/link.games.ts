import {
  applicationId,
  authorization,
  channelId,
  clientObject,
  commandValue,
  entitlementId,
  guildId,
  ids,
  lobbyId,
  messageId,
  metadata,
  skuId,
  subscriptionId,
  user,
  userId,
} from './link.values.ts';
import {
  code,
  fields,
  flag,
  given,
  integer,
  is,
  list,
  nullable,
  number,
  oneOf,
  optional,
  partial,
  record,
  reply,
  text,
  union,
  variants,
} from './linkschema.ts';
import { linksOf } from './schemas/fields.ts';
import { LOBBY_FIELDS, LOBBY_SETTINGS } from './schemas/lobbyfields.ts';

/** Values of lobbies, matchmaking, activities, relationships, voice and premium between shards; see `link.ts`. */

const lobbyChange = partial(linksOf(LOBBY_FIELDS));
const member = fields({ metadata: given(metadata), flags: given(integer), additional_name: given(text) });
const settings = partial(linksOf(LOBBY_SETTINGS));
export const lobbyJoin = fields({ secret: text, lobby: lobbyChange, member });
export const openLobby = fields({ change: lobbyChange, settings, password: given(text), member });
export const lobbyEntry = fields({ password: nullable(text), member });
export const secretRequest = fields({
  ...{ applicationId, lobby: lobbyChange, member: optional(member), full: flag, not: nullable(lobbyId) },
});
/** A user who joins, with the open sessions that the lobby then serves. */
export const entrant = fields({
  ...{ user, full: flag, allSessions: optional(is(true)) },
  sessions: list(
    fields({
      ...{ sessionId: text, userId, intents: integer, bot: flag },
      authorization: given(authorization),
    }),
  ),
});
/** The lobby of a secret, and the reply to the command by which a user joined it. */
export const secretJoin = fields({ lobbyId, reply: reply(commandValue) });
export const lobby = fields({
  ...{ id: lobbyId, application_id: text, flags: integer, metadata: nullable(metadata) },
  members: list(fields({ id: userId, flags: integer })),
});

export const ticketDraft = fields({
  ...{ queue: text, properties: record(union(text, number)) },
  ...{ lobbyId: nullable(lobbyId), userIds: nullable(list(userId)) },
});
export const ticket = fields({ id: ids.ticket, queue: text, status: text, user_ids: list(userId) });

const location = { ownerId: text, guildId: nullable(guildId), channelId };
const activityFields = { ...location, applicationId };
export const activityViewer = fields({ ...location, userId });
export const activityRequest = fields({ ...activityFields, userId, connectionId: nullable(text) });
const connection = fields({ userId, connectionId: nullable(text), untilMs: number });
export const runningActivity = fields({ ...activityFields, launchId: text, connections: list(connection) });
export const joinedActivity = fields({ instance: runningActivity, permissions: text });

const activityOf = { userId, sessionId: text, applicationId };
export const activityTarget = fields({
  ...{ ...activityOf, action: union(is(1), is(2)) },
  invite: nullable(fields({ channelId, messageId })),
});
export const shownActivity = fields(activityOf);
export const activitySecret = fields({ secret: text });
export const activityButtons = fields({ button_urls: list(text) });
export const headlessSession = fields({ token: text, activities: list(clientObject) });
/** The secret fields of a user's activity, which its viewers do not receive. */
export const hiddenActivity = fields({
  ...{ applicationId, partyId: nullable(text), isPublic: flag, buttonUrls: list(text) },
  secrets: fields({ join: nullable(text), spectate: nullable(text) }),
});

export const relationWish = variants('kind', {
  ...{ request: {}, block: {}, remove: {}, rename: { nickname: nullable(text) } },
});
export const takeover = fields({
  ...{ from: userId, to: userId, peerId: userId, copyOf: nullable(applicationId) },
});
export const relation = fields({
  ...{ userId, peerId: userId, applicationId: nullable(applicationId) },
  ...{ type: code<1 | 2 | 3 | 4>('relation', 1), sinceMs: number, nickname: nullable(text) },
  originApplicationId: nullable(applicationId),
});

export const voicePlace = variants('kind', { guild: { id: guildId }, private: { id: channelId } });
export const voiceMember = fields({
  ...{ callId: channelId, groupId: channelId, serverId: text, guildId: nullable(guildId), userId },
  ...{ sessionId: text, silenced: flag, deafened: flag, mayStream: flag, mayPrioritize: flag },
  afkAfterMs: nullable(number),
});

/** A client of the voice gateway: its address and the version of its connection. */
export const voiceClient = fields({ address: text, version: integer });

const receiver = fields({ userId, guildId: nullable(guildId) });
const billing = fields({
  ...{ id: text, state: oneOf('running', 'ending', 'over'), skuId, periodStartMs: number },
  ...{ periodEndMs: number, paidUntilMs: number, endedMs: nullable(number) },
});
const level = union(is(0), is(1), is(2), is(3));
export const premiumCommand = variants('kind', {
  createSku: {
    ...{ name: text, type: oneOf('durable', 'consumable', 'subscription'), owner: oneOf('user', 'guild') },
    available: optional(flag),
  },
  editSku: { skuId, name: optional(text), available: optional(flag) },
  setPrice: { skuId, price: nullable(fields({ amount: number, currency: text, days: number })) },
  setPerks: { skuId, perks: fields({ guildTier: level, premiumType: level }) },
  test: { skuId, to: receiver },
  grant: { skuId, to: receiver, gifterId: nullable(userId), days: number },
  ...{ deleteTest: { entitlementId }, refund: { entitlementId } },
  consume: { entitlementId },
  cancel: { subscriptionId, atOnce: flag },
  change: { subscriptionId, skuId },
  settle: { subscriptionId },
  order: { skuId, to: receiver, payerId: userId },
  paid: { orderId: text, paymentId: nullable(text), billing: nullable(billing) },
  refunded: { orderId: text },
  follow: { orderId: text, billing },
  postpone: { subscriptionId, checkMs: number },
});
const changed = list(fields({ id: text }));
export const premiumChange = fields({
  ...{ skus: changed, entitlements: changed, subscriptions: changed, orders: changed },
});
export const paymentRequest = variants('kind', {
  buy: { wish: fields({ skuId, to: receiver, payerId: userId }) },
  run: { command: premiumCommand },
  settle: { subscriptionId },
  notice: {
    notice: fields({ applicationId, orderId: text, about: oneOf('payment', 'billing', 'refund'), id: text }),
  },
});
/** The result of a request about payments: a change, or the page where the order is paid. */
export const paymentResult = union(premiumChange, fields({ url: text }));
