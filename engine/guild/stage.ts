import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, ScheduledEventId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry, type Change, changesOf } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import type { GuildFact, StageFacts } from './facts.ts';
import type { Guild, StageInstance } from './guild.ts';
import { stageEventRefusal } from './scheduledevents.places.ts';
import type { GuildTopic } from './topic.ts';

/** 1: public, which is retired and only stored; 2: for the guild. */
type StagePrivacy = 1 | 2;

type StageCommands = {
  createStageInstance: {
    input: {
      readonly channelId: ChannelId;
      readonly topic: string;
      readonly privacyLevel: StagePrivacy;
      readonly scheduledEventId: ScheduledEventId | null;
      /** Whether to notify everyone, which requires MENTION_EVERYONE. */
      readonly notify: boolean;
    };
    value: StageInstance;
  };
  getStageInstance: { input: { readonly channelId: ChannelId }; value: StageInstance };
  updateStageInstance: {
    input: { readonly channelId: ChannelId; readonly topic?: string; readonly privacyLevel?: StagePrivacy };
    value: StageInstance;
  };
  deleteStageInstance: { input: { readonly channelId: ChannelId }; value: null };
};

const AUDITED = ['topic', 'privacy_level'] as const;

const logged = (env: Env, by: By, actionType: number, stage: StageInstance, changes: Change[]): GuildFact =>
  auditEntry(env, by, { actionType, targetId: stage.id, changes, options: { channel_id: stage.channel_id } });

/** The audit entry of a stage instance that begins (without `before`) or ends (without `after`). */
export function stageEntry(
  env: Env,
  by: By,
  actionType: number,
  ...[before, after]: readonly [StageInstance, null] | readonly [null, StageInstance]
): GuildFact {
  return logged(env, by, actionType, before ?? after, changesOf(before, after, AUDITED));
}

type NewStage = Omit<StageCommands['createStageInstance']['input'], 'notify'>;

export const openStage = (
  guild: Guild,
  { channelId, topic, privacyLevel, scheduledEventId }: NewStage,
  env: Env,
): StageInstance => ({
  id: env.nextId(),
  guild_id: guild.id,
  channel_id: channelId,
  topic,
  privacy_level: privacyLevel,
  discoverable_disabled: true,
  guild_scheduled_event_id: scheduledEventId,
});

function createStageInstance(
  guild: Guild,
  input: StageCommands['createStageInstance']['input'],
  by: By,
  env: Env,
): Outcome<StageInstance, GuildFact> {
  const { channelId, notify } = input;
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (channel.type !== CHANNEL.GUILD_STAGE_VOICE) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  if (guild.stageInstances.has(channelId)) return refused(refusal('STAGE_ALREADY_OPEN'));
  const no = stageEventRefusal(guild, input);
  if (no) return refused(no);
  if (notify && (bitsIn(guild, by, channel, env.nowMs) & P.MENTION_EVERYONE) === 0n) {
    return refused(refusal('MISSING_PERMISSIONS'));
  }
  const stage = openStage(guild, input, env);
  return accepted(stage, [
    { type: 'stageInstanceCreated', stage },
    stageEntry(env, by, AUDIT.STAGE_INSTANCE_CREATE, null, stage),
  ]);
}

function updateStageInstance(
  guild: Guild,
  { channelId, topic, privacyLevel }: StageCommands['updateStageInstance']['input'],
  by: By,
  env: Env,
): Outcome<StageInstance, GuildFact> {
  const before = guild.stageInstances.get(channelId);
  if (!before) return refused(refusal('UNKNOWN_STAGE_INSTANCE'));
  const stage: StageInstance = {
    ...before,
    topic: topic ?? before.topic,
    privacy_level: privacyLevel ?? before.privacy_level,
  };
  const changes = changesOf(before, stage, AUDITED);
  if (changes.length === 0) return accepted(before);
  return accepted(stage, [
    { type: 'stageInstanceUpdated', stage },
    logged(env, by, AUDIT.STAGE_INSTANCE_UPDATE, stage, changes),
  ]);
}

function deleteStageInstance(
  guild: Guild,
  { channelId }: StageCommands['deleteStageInstance']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const stage = guild.stageInstances.get(channelId);
  if (!stage) return refused(refusal('UNKNOWN_STAGE_INSTANCE'));
  return accepted(null, [
    { type: 'stageInstanceDeleted', stage },
    stageEntry(env, by, AUDIT.STAGE_INSTANCE_DELETE, stage, null),
  ]);
}

const set = (guild: Guild, { stage }: { readonly stage: StageInstance }): void => {
  guild.stageInstances.set(stage.channel_id, stage);
};

const shown =
  (t: Dispatch['t']) =>
  (_guild: Guild, { stage }: { readonly stage: StageInstance }): readonly Dispatch[] => [
    { t, d: stage, to: { kind: 'channel', channelId: stage.channel_id } },
  ];

/** Stage instances: at most one per stage channel, from its creation by a moderator until its deletion. */
export const stages: GuildTopic<StageCommands, keyof StageFacts> = {
  commands: {
    createStageInstance: { decide: createStageInstance },
    getStageInstance: {
      decide: (guild, { channelId }) => {
        const stage = guild.stageInstances.get(channelId);
        return stage ? accepted(stage) : refused(refusal('UNKNOWN_STAGE_INSTANCE'));
      },
    },
    updateStageInstance: { decide: updateStageInstance },
    deleteStageInstance: { decide: deleteStageInstance },
  },
  facts: {
    stageInstanceCreated: { apply: set, dispatches: shown('STAGE_INSTANCE_CREATE') },
    stageInstanceUpdated: { apply: set, dispatches: shown('STAGE_INSTANCE_UPDATE') },
    stageInstanceDeleted: {
      apply: (guild, { stage }) => {
        guild.stageInstances.delete(stage.channel_id);
      },
      dispatches: shown('STAGE_INSTANCE_DELETE'),
    },
  },
};
