import { AUDIT } from '../../protocol/audit.ts';
import { refusal } from '../../protocol/refusal.ts';
import { EVENT_ENTITY } from '../../protocol/scheduledevents.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { ScheduledEvent } from '../scheduledevent/event.ts';
import { begun } from '../scheduledevent/schedule.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, StageInstance } from './guild.ts';
import { openStage, stageEntry } from './stage.ts';

/** The stage instance in which an active event takes place; undefined without one. */
const stageOf = (guild: Guild, event: ScheduledEvent): StageInstance | undefined => {
  const stage = event.channel_id === null ? undefined : guild.stageInstances.get(event.channel_id);
  return stage?.guild_scheduled_event_id === event.id ? stage : undefined;
};

/** Begins an event. One of a stage takes place in its channel's instance, or opens one of the event's name. */
export function beginEvent(
  guild: Guild,
  event: ScheduledEvent,
  by: By,
  env: Env,
): Outcome<ScheduledEvent, GuildFact> {
  const { channel_id: channelId, entity_type: type, id } = event;
  if (type !== EVENT_ENTITY.STAGE_INSTANCE) return accepted(begun(event, null, env.nowMs));
  if (channelId === null || !guild.channels.has(channelId)) return refused(refusal('FAILED_TO_CREATE_STAGE'));
  const open = guild.stageInstances.get(channelId);
  if (!open) {
    const stage = openStage(
      guild,
      { channelId, topic: event.name, privacyLevel: 2, scheduledEventId: id },
      env,
    );
    const facts: GuildFact[] = [
      { type: 'stageInstanceCreated', stage },
      stageEntry(env, by, AUDIT.STAGE_INSTANCE_CREATE, null, stage),
    ];
    return accepted(begun(event, stage.id, env.nowMs), facts);
  }
  if (open.guild_scheduled_event_id !== null) return refused(refusal('STAGE_ALREADY_OPEN'));
  const stage: StageInstance = { ...open, guild_scheduled_event_id: id };
  return accepted(begun(event, stage.id, env.nowMs), [{ type: 'stageInstanceUpdated', stage }]);
}

/** Closes the stage instance of an event that is over. */
export function closeStage(guild: Guild, event: ScheduledEvent, by: By, env: Env): GuildFact[] {
  const stage = stageOf(guild, event);
  if (!stage) return [];
  const closed: GuildFact = { type: 'stageInstanceDeleted', stage };
  return by.system ? [closed] : [closed, stageEntry(env, by, AUDIT.STAGE_INSTANCE_DELETE, stage, null)];
}

/** Detaches the stage instance from a deleted event. */
export function leaveStage(guild: Guild, event: ScheduledEvent): GuildFact[] {
  const stage = stageOf(guild, event);
  return stage ? [{ type: 'stageInstanceUpdated', stage: { ...stage, guild_scheduled_event_id: null } }] : [];
}
