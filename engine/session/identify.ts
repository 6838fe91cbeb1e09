import { CLOSE } from '../../protocol/closecodes.ts';
import { ALL_INTENTS, deniedIntents } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';

/** Which slice of its guilds a session serves. */
export type Shard = readonly [id: number, count: number];
export type CloseReason = (typeof CLOSE)[keyof typeof CLOSE];

/**
 * Judges what IDENTIFY asks for. Null: nothing is wrong with it.
 *
 * `intents` is what the client sent, null when it sent none: bots must, users need not.
 *
 * @source the platform's gateway documentation, "Identify", "Sharding" and "Privileged Intents"
 */
export function judgeIdentify(
  asked: { readonly intents: number | null; readonly shard: Shard },
  by: { readonly bot: boolean; readonly applicationFlags: number },
): CloseReason | null {
  const [id, count] = asked.shard;
  const shardValid = Number.isInteger(id) && Number.isInteger(count) && id >= 0 && id < count;
  if (!shardValid || count > LIMITS.shards_max) return CLOSE.INVALID_SHARD;
  if (asked.intents === null) return by.bot ? CLOSE.INVALID_INTENTS : null;
  const known = Number.isInteger(asked.intents) && asked.intents >= 0 && asked.intents <= ALL_INTENTS;
  if (!known || (asked.intents & ~ALL_INTENTS) !== 0) return CLOSE.INVALID_INTENTS;
  if (by.bot && deniedIntents(asked.intents, by.applicationFlags) !== 0) return CLOSE.DISALLOWED_INTENTS;
  return null;
}

/** Shard that a guild's dispatches go to. @source the platform's gateway documentation, "Sharding" */
export function shardOf(guildId: string, count: number): number {
  return count === 1 ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count));
}

/** The guilds of one shard, in the order given. */
export function guildsOfShard<Id extends string>(guildIds: readonly Id[], [id, count]: Shard): Id[] {
  return count === 1 ? [...guildIds] : guildIds.filter((guildId) => shardOf(guildId, count) === id);
}
