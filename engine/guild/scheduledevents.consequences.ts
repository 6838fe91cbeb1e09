import { type ChannelId, compareIds } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { EVENT_ENTITY, EVENT_STATUS } from '../../protocol/scheduledevents.ts';
import type { Env } from '../kernel/aggregate.ts';
import { isFinished, type ScheduledEvent } from '../scheduledevent/event.ts';
import { begun, ended, finished, watched } from '../scheduledevent/schedule.ts';
import type { GuildFact, StageFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildConsequence } from './topic.ts';

/**
 * Adds what follows for events. One begins and ends with the stage instance that is opened for it, ends with its
 * channel, and is due to end once its channel is empty. Each fact precedes its cause, so that users who saw the
 * channel receive it. Events that have been over for long are forgotten.
 *
 * Cost: O(events + voice states).
 */
export const eventConsequences: GuildConsequence = {
  causes: new Set([
    'stageInstanceCreated',
    'stageInstanceDeleted',
    'channelDeleted',
    'voiceStateChanged',
    'scheduledEventUpdated',
  ]),
  add: (guild, facts, _authority, env) =>
    guild.scheduledEvents.byId.size === 0 ? facts : added(guild, facts, env),
};

function added(guild: Guild, facts: readonly GuildFact[], env: Env): readonly GuildFact[] {
  const gone = new Set(facts.flatMap((fact) => (fact.type === 'channelDeleted' ? [fact.channel.id] : [])));
  const decided = new Set(
    facts.flatMap((fact) =>
      fact.type === 'scheduledEventUpdated' || fact.type === 'scheduledEventDeleted' ? [fact.event.id] : [],
    ),
  );
  const all = facts.flatMap((fact) => {
    const events = followers(guild, fact, gone, env.nowMs).filter(({ id }) => !decided.has(id));
    for (const { id } of events) decided.add(id);
    return [...events.map((event) => ({ type: 'scheduledEventUpdated' as const, event })), fact];
  });
  const left = leftAlone(guild, facts, env.nowMs).filter(({ id }) => !decided.has(id));
  return [
    ...all,
    ...left.map((event) => ({ type: 'scheduledEventTimed' as const, event })),
    ...forgotten(guild, all),
  ];
}

/** The events that a fact changes, as they are then. */
function followers(
  guild: Guild,
  fact: GuildFact,
  gone: ReadonlySet<string>,
  nowMs: number,
): ScheduledEvent[] {
  if (fact.type === 'stageInstanceCreated' || fact.type === 'stageInstanceDeleted')
    return ofStage(guild, fact, gone, nowMs);
  if (fact.type !== 'channelDeleted') return [];
  return [...guild.scheduledEvents.byId.values()]
    .filter((event) => event.channel_id === fact.channel.id && !isFinished(event))
    .map((event) => finished(event, finishOf(event), nowMs));
}

/** Ends an event when its channel is deleted. */
const finishOf = ({ status }: ScheduledEvent) =>
  status === EVENT_STATUS.ACTIVE ? EVENT_STATUS.COMPLETED : EVENT_STATUS.CANCELED;

function ofStage(
  guild: Guild,
  { type, stage }: { readonly type: string } & StageFacts['stageInstanceCreated'],
  gone: ReadonlySet<string>,
  nowMs: number,
): ScheduledEvent[] {
  const { guild_scheduled_event_id: id } = stage;
  const event = id === null ? undefined : guild.scheduledEvents.byId.get(id);
  if (!event || isFinished(event) || gone.has(stage.channel_id)) return [];
  if (type === 'stageInstanceCreated')
    return [
      event.status === EVENT_STATUS.ACTIVE
        ? { ...event, entity_id: stage.id }
        : begun(event, stage.id, nowMs),
    ];
  return event.status === EVENT_STATUS.ACTIVE ? [ended(event, EVENT_STATUS.COMPLETED, nowMs)] : [];
}

/** Active events whose last user leaves the channel. */
function leftAlone(guild: Guild, facts: readonly GuildFact[], nowMs: number): ScheduledEvent[] {
  const moves = facts.filter((fact) => fact.type === 'voiceStateChanged');
  if (moves.length === 0) return [];
  const active = [...guild.scheduledEvents.byId.values()].filter(
    ({ status, entity_type: type }) => status === EVENT_STATUS.ACTIVE && type !== EVENT_ENTITY.EXTERNAL,
  );
  return active.flatMap((event) => {
    const there = usersIn(guild, event.channel_id);
    if (there.size === 0) return [];
    for (const { userId, voiceState } of moves)
      if (voiceState.channel_id === event.channel_id) there.add(userId);
      else there.delete(userId);
    return there.size === 0 ? [watched(event, true, nowMs)] : [];
  });
}

const usersIn = ({ voiceStates }: Guild, channelId: ChannelId | null): Set<string> =>
  new Set([...voiceStates].flatMap(([userId, { channel_id: at }]) => (at === channelId ? [userId] : [])));

/** The oldest finished events beyond the number that is kept. */
function forgotten(guild: Guild, facts: readonly GuildFact[]): GuildFact[] {
  const over = new Map(
    [...guild.scheduledEvents.byId.values()].flatMap((event) =>
      isFinished(event) ? [[event.id, event] as const] : [],
    ),
  );
  for (const fact of facts)
    if (fact.type === 'scheduledEventUpdated' && isFinished(fact.event)) over.set(fact.event.id, fact.event);
  const most = LIMITS.scheduled_events_finished_max;
  if (over.size <= most) return [];
  const oldest = [...over.keys()].sort(compareIds).slice(0, over.size - most);
  return oldest.map((eventId) => ({ type: 'scheduledEventForgotten', eventId }));
}
