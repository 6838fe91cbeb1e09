import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Authority } from '../authority.ts';
import { accepted, type Env, type Outcome, refused } from '../outcome.ts';
import { channelPermissions, guildPermissions, holds } from '../permissions/permissions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { type GuildCommands, guildRules } from './index.ts';
import { withVoiceConsequences } from './voicechannels.ts';

/**
 * Decides a command of the guild: first whether the caller may at all, then the command's own rule.
 * Everything it needs is in the guild's windows already.
 */
export function decideGuild<K extends keyof GuildCommands>(
  guild: Guild,
  type: K,
  input: GuildCommands[K]['input'],
  authority: Authority,
  env: Env,
): Outcome<GuildCommands[K]['value'], GuildFact> {
  const no = forbidden(guild, authority, env);
  if (no) return refused(no);
  const outcome = guildRules.decide[type](guild, input, authority.by, env);
  if (!outcome.ok) return outcome;
  const facts = withVoiceConsequences(guild, outcome.facts, env.nowMs);
  return facts === outcome.facts ? outcome : accepted(outcome.value, facts);
}

/**
 * Membership, then the channel's existence and visibility, then the bits. An outsider learns nothing: a guild
 * looks unknown, a channel out of reach.
 */
function forbidden(guild: Guild, authority: Authority, { nowMs, splits }: Env): Refusal | null {
  const { by, channelId, requires } = authority;
  if (by.system) return null;
  const member = guild.members.get(by.userId);
  if (channelId === undefined) {
    if (!member) return refusal('UNKNOWN_GUILD');
    if (requires === 0n) return null;
    const held = guildPermissions(guild, by.userId, nowMs);
    return holds(held, requires, splits) ? null : refusal('MISSING_PERMISSIONS');
  }
  const channel = guild.channels.get(channelId);
  if (!channel) return refusal('UNKNOWN_CHANNEL');
  if (!member) return refusal('MISSING_ACCESS');
  const permissions = channelPermissions(guild, by.userId, channel, nowMs);
  if ((permissions & P.VIEW_CHANNEL) === 0n) return refusal('MISSING_ACCESS');
  return holds(permissions, requires, splits) ? null : refusal('MISSING_PERMISSIONS');
}
