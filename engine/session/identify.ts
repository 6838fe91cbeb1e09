import { CLOSE } from '../../protocol/closecodes.ts';
import { ALL_INTENTS, deniedIntents } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Authorization } from '../oauth/authorization.ts';

/** The slice of its guilds that a session serves. */
export type Shard = readonly [id: number, count: number];
type CloseReason = (typeof CLOSE)[keyof typeof CLOSE];

/** The client that identifies. */
interface Identifying {
  readonly bot: boolean;
  readonly applicationFlags: number;
  /** Set when an application acts for a user. */
  readonly authorization: Authorization | null;
}

/**
 * Validates IDENTIFY; null when it is valid.
 *
 * `intents` is null when the client sent none: people may omit it, bots and applications that act for users may not.
 * Such applications receive no guild dispatches, so they cannot shard.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#identify,
 * https://docs.discord.com/developers/events/gateway#sharding and
 * https://docs.discord.com/developers/events/gateway#privileged-intents
 */
export function judgeIdentify(
  asked: { readonly intents: number | null; readonly shard: Shard },
  by: Identifying,
): CloseReason | null {
  const unscoped = by.authorization && judgeScopes(by.authorization);
  if (unscoped) return unscoped;
  const [id, count] = asked.shard;
  const shardValid = Number.isInteger(id) && Number.isInteger(count) && id >= 0 && id < count;
  if (!shardValid || count > (by.authorization ? 1 : LIMITS.shards_max)) return CLOSE.INVALID_SHARD;
  if (asked.intents === null) return by.bot || by.authorization ? CLOSE.INVALID_INTENTS : null;
  const known = Number.isInteger(asked.intents) && asked.intents >= 0 && asked.intents <= ALL_INTENTS;
  if (!known || (asked.intents & ~ALL_INTENTS) !== 0) return CLOSE.INVALID_INTENTS;
  if (by.bot && deniedIntents(asked.intents, by.applicationFlags) !== 0) return CLOSE.DISALLOWED_INTENTS;
  return null;
}

/**
 * Checks the scopes that a token needs for a session on the gateway.
 *
 * @source https://docs.discord.food/gateway/using-gateway#oauth2-and-the-gateway
 */
export function judgeScopes({ scopes }: Authorization): CloseReason | null {
  const lacking = !scopes.has('identify')
    ? 'identify'
    : !scopes.has('gateway.connect') && !scopes.has('voice')
      ? 'gateway.connect'
      : null;
  if (lacking === null) return null;
  return { ...CLOSE.AUTHENTICATION_FAILED, reason: `The token was not granted the scope "${lacking}".` };
}

/**
 * Shard that a guild's dispatches go to.
 *
 * @source https://docs.discord.com/developers/events/gateway#sharding-sharding-formula
 */
export function shardOf(guildId: string, count: number): number {
  return count === 1 ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count));
}

/** The guilds of one shard, in the order given. */
export function guildsOfShard<Id extends string>(guildIds: readonly Id[], [id, count]: Shard): Id[] {
  return count === 1 ? [...guildIds] : guildIds.filter((guildId) => shardOf(guildId, count) === id);
}
