import type { GatewayGuildCreateDispatchData } from 'discord-api-types/v10';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIGuild } from '../../protocol/objects.ts';
import { visibleChannels } from '../permissions/permissions.ts';
import { isFarIn, nearTo } from '../presence/near.ts';
import { emojisOf } from './emojis.ts';
import type { Guild, Member } from './guild.ts';
import { rolesByRank } from './roles.ts';
import { eventsSeen } from './scheduledevents.places.ts';
import { soundsOf } from './sounds.ts';
import { stickersOf } from './stickers.ts';
import { shownThread, threadsSeen } from './threads.state.ts';

/** The guild object of the wire for replies and GUILD_UPDATE. */
export function guildObject(guild: Guild): APIGuild {
  const object = {
    ...guild.info,
    roles: rolesByRank(guild),
    emojis: emojisOf(guild),
    stickers: stickersOf(guild),
    incidents_data: guild.pages.incidents ?? null,
  };
  // Enumerated fields are plain numbers and strings here; only the wire's types name the enumeration members.
  return object as unknown as APIGuild;
}

/**
 * GUILD_CREATE for one member's session: the channels it may see, and these of the resident members:
 *
 * - Without GUILD_PRESENCES, for a person above `largeThreshold` members, and for all above `guild_create_members_max`:
 *   the member itself and members in voice.
 * - Else above `largeThreshold` members: also members who are online, have a role or have a nick.
 * - Else all.
 *
 * The same rules apply to presences, but a person above `largeThreshold` members gets those of the same call only, as later by
 * PRESENCE_UPDATE. Sessions of people are not restricted by intents. Cost: O(resident members +
 * channels); in a guild above `guild_create_members_max` O(members in voice + channels).
 *
 * @param largeThreshold From IDENTIFY, 50 to 250 members.
 * @param nowMs Unix milliseconds.
 * @source https://docs.discord.com/developers/events/gateway-events#guild-create and
 * https://docs.discord.com/developers/events/gateway-events#request-guild-members
 */
export function guildCreatePayload(
  guild: Guild,
  userId: UserId,
  largeThreshold: number,
  intents: number,
  nowMs: number,
): GatewayGuildCreateDispatchData {
  const self = guild.members.get(userId);
  const gated = self?.user.bot === true;
  const receives = (intent: number): boolean => !gated || (intents & intent) !== 0;
  const channels = visibleChannels(guild, userId, nowMs);
  const visible = new Set<string>(channels.map(({ id }) => id));
  const large = guild.memberCount > largeThreshold;
  const isFar = isFarIn(guild, { bot: gated, largeThreshold });
  const known = knownTo(guild, userId, { presences: receives(INTENTS.GUILD_PRESENCES), large, isFar });
  const payload = {
    ...guildObject(guild),
    joined_at: self?.joined_at,
    large,
    unavailable: false,
    member_count: guild.memberCount,
    members: known.members,
    channels,
    threads: threadsSeen(guild, userId, visible, nowMs).map((record) => shownThread(record, userId)),
    presences: known.presences,
    // Partial states: the guild is the payload's, and their members are in its list.
    voice_states: [...guild.voiceStates.values()]
      .filter((state) => state.channel_id !== null && visible.has(state.channel_id))
      .map(({ guild_id: _guild, member: _member, ...state }) => state),
    stage_instances: [...guild.stageInstances.values()].filter(({ channel_id }) => visible.has(channel_id)),
    guild_scheduled_events: eventsSeen(guild, visible),
    soundboard_sounds: soundsOf(guild),
  };
  return payload as unknown as GatewayGuildCreateDispatchData;
}

/** The members and presences that GUILD_CREATE includes. */
function knownTo(
  guild: Guild,
  viewerId: UserId,
  {
    presences,
    large,
    isFar,
  }: { readonly presences: boolean; readonly large: boolean; readonly isFar: boolean },
): { readonly members: readonly Member[]; readonly presences: readonly object[] } {
  const near = new Set<UserId>([viewerId]);
  for (const [id, { channel_id }] of guild.voiceStates) if (channel_id !== null) near.add(id);
  const nearIn = <Each>(all: Pick<ReadonlyMap<UserId, Each | null>, 'get'>): Each[] =>
    [...near].flatMap((id) => all.get(id) ?? []);
  if (!presences) return { members: nearIn(guild.members), presences: [] };
  if (isFar) {
    const shown = nearTo(guild, viewerId).flatMap((id) => guild.presences.get(id) ?? []);
    return { members: nearIn(guild.members), presences: shown };
  }
  if (guild.memberCount > LIMITS.guild_create_members_max)
    return { members: nearIn(guild.members), presences: nearIn(guild.presences) };
  const isKnown = (member: Member): boolean => {
    const id = member.user.id;
    const isShown = member.roles.length > 0 || (member.nick ?? null) !== null;
    return !large || isShown || near.has(id) || guild.presences.has(id);
  };
  const members = [...guild.members.values()].filter((member) => member !== null && isKnown(member));
  return { members: members as Member[], presences: [...guild.presences.values()] };
}
