import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { EVENT_ENTITY, type EventEntity } from '../../protocol/scheduledevents.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Audience } from '../kernel/dispatch.ts';
import { channelPermissions, holds } from '../permissions/permissions.ts';
import { type EventPayload, eventPayload, isFinished, type ScheduledEvent } from '../scheduledevent/event.ts';
import { bitsIn, bitsOf } from './authorize.ts';
import type { Guild } from './guild.ts';

/** Where an event takes place. */
type EventLocation = Pick<ScheduledEvent, 'entity_type' | 'channel_id'>;

/** The type of the channel of an event; absent for one outside of channels. */
const CHANNEL_OF: Partial<Record<EventEntity, number>> = {
  [EVENT_ENTITY.STAGE_INSTANCE]: CHANNEL.GUILD_STAGE_VOICE,
  [EVENT_ENTITY.VOICE]: CHANNEL.GUILD_VOICE,
};

/** Permissions that a writer of an event needs in its channel besides the permissions for events. */
const BESIDES: Record<EventEntity, bigint> = {
  [EVENT_ENTITY.STAGE_INSTANCE]: P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS,
  [EVENT_ENTITY.VOICE]: P.VIEW_CHANNEL | P.CONNECT,
  [EVENT_ENTITY.EXTERNAL]: 0n,
};

/** An event in a channel is visible to those who see the channel; other events to all members. */
export const audienceOf = ({ channel_id: channelId }: EventLocation): Audience =>
  channelId === null ? { kind: 'guild' } : { kind: 'channel', channelId };

/** Whether the caller may know of the event. */
export function seesEvent(guild: Guild, by: By, { channel_id: id }: EventLocation, nowMs: number): boolean {
  if (by.system || id === null) return true;
  const channel = guild.channels.get(id);
  return channel !== undefined && (bitsIn(guild, by, channel, nowMs) & P.VIEW_CHANNEL) !== 0n;
}

/** The users with a session who may know of the event. */
export function viewersOf(guild: Guild, { channel_id: id }: EventLocation): UserId[] {
  const userIds = [...guild.sessionCounts.keys()];
  if (id === null) return userIds;
  const channel = guild.channels.get(id);
  if (!channel) return [];
  // Time affects no bit that VIEW_CHANNEL depends on.
  return userIds.filter((userId) => (channelPermissions(guild, userId, channel, 0) & P.VIEW_CHANNEL) !== 0n);
}

/** Scheduled and active events that are visible with these channels. */
export const eventsSeen = (guild: Guild, visible: ReadonlySet<string>): EventPayload[] =>
  [...guild.scheduledEvents.byId.values()]
    .filter((event) => !isFinished(event) && (event.channel_id === null || visible.has(event.channel_id)))
    .map(eventPayload);

/** Why an event cannot take place there; null when it can. */
export function placeRefusal(
  guild: Guild,
  { entity_type: type, channel_id: id }: EventLocation,
): Refusal | null {
  const wanted = CHANNEL_OF[type];
  if (wanted === undefined)
    return id === null ? null : invalidField(['channel_id'], 'BASE_TYPE_INVALID', 'Must be null.');
  if (id === null) return invalidField(['channel_id'], 'BASE_TYPE_REQUIRED', 'This field is required');
  const channel = guild.channels.get(id);
  if (!channel) return refusal('UNKNOWN_CHANNEL');
  return channel.type === wanted ? null : refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE');
}

/**
 * Why the caller may not write an event there; null for one who may. Until the split of CREATE_EVENTS is in force,
 * MANAGE_EVENTS includes it (`env.rulesMs`).
 *
 * @param whose A new event, one of the caller's own, or another's.
 * @source https://docs.discord.com/developers/resources/guild-scheduled-event#guild-scheduled-event-permissions-requirements
 */
export function writeRefusal(
  guild: Guild,
  { entity_type: type, channel_id: id }: EventLocation,
  whose: 'new' | 'own' | 'other',
  by: By,
  env: Env,
): Refusal | null {
  const channel = id === null ? null : guild.channels.get(id);
  if (channel === undefined) return refusal('UNKNOWN_CHANNEL');
  const bits = channel ? bitsIn(guild, by, channel, env.nowMs) : bitsOf(guild, by, env.nowMs);
  if (channel && (bits & P.VIEW_CHANNEL) === 0n) return refusal('MISSING_ACCESS');
  const creates = holds(bits, P.CREATE_EVENTS, env.rulesMs);
  const manages = holds(bits, P.MANAGE_EVENTS);
  const may = whose === 'new' ? creates : whose === 'own' ? creates || manages : manages;
  return may && holds(bits, BESIDES[type]) ? null : refusal('MISSING_PERMISSIONS');
}

/** Why a stage instance cannot be opened for an event; null when it can, or when it belongs to no event. */
export function stageEventRefusal(
  guild: Guild,
  {
    channelId,
    scheduledEventId: id,
  }: { readonly channelId: string; readonly scheduledEventId: string | null },
): Refusal | null {
  if (id === null) return null;
  const event = guild.scheduledEvents.byId.get(id);
  const isHere = event?.entity_type === EVENT_ENTITY.STAGE_INSTANCE && event.channel_id === channelId;
  if (!event || !isHere) return refusal('UNKNOWN_GUILD_SCHEDULED_EVENT');
  return isFinished(event) ? refusal('CANNOT_UPDATE_FINISHED_EVENT') : null;
}

/** Whether a voice channel is empty. */
export const isEmpty = (guild: Guild, channelId: ChannelId | null): boolean => {
  for (const { channel_id: at } of guild.voiceStates.values()) if (at === channelId) return false;
  return true;
};
