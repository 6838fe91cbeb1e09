import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, SoundId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { defaultSound } from '../../protocol/sounds.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { visibleChannels } from '../permissions/permissions.ts';
import { auditEntry } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import type { PlayedSound } from './expressions.ts';
import type { EphemeralFacts, GuildFact, VoiceChannelFacts } from './facts.ts';
import type { Guild, LiveVoiceChannel } from './guild.ts';
import type { GuildConsequence, GuildTopic } from './topic.ts';

/** Fields that Request Channel Info (op 43) may request. */
type ChannelInfoField = 'status' | 'voice_start_time';

type VoiceChannelCommands = {
  /** A null `status` removes it. At most `LIMITS.voice_status_chars_max` characters. */
  setVoiceChannelStatus: {
    input: { readonly channelId: ChannelId; readonly status: string | null };
    value: null;
  };
  /**
   * Plays a sound to everyone in the caller's voice channel: a default one, one of the guild, or one of another guild,
   * `foreign`, which the caller may hear there.
   */
  playSound: {
    input: {
      readonly channelId: ChannelId;
      readonly soundId: SoundId;
      readonly sourceGuildId: string | null;
      readonly foreign?: PlayedSound;
    };
    value: null;
  };
};

function setVoiceChannelStatus(
  guild: Guild,
  { channelId, status: given }: VoiceChannelCommands['setVoiceChannelStatus']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (channel.type !== CHANNEL.GUILD_VOICE) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const connected = guild.voiceStates.get(by.userId)?.channel_id === channelId;
  if (!connected && (bitsIn(guild, by, channel, env.nowMs) & P.MANAGE_CHANNELS) === 0n) {
    return refused(refusal('MISSING_PERMISSIONS'));
  }
  const status = given === '' ? null : given;
  if (status === (guild.liveVoice.get(channelId)?.status ?? null)) return accepted(null);
  const place = { channel_id: channelId };
  return accepted(null, [
    { type: 'voiceStatusChanged', channelId, status },
    auditEntry(env, by, {
      actionType: status === null ? AUDIT.VOICE_CHANNEL_STATUS_DELETE : AUDIT.VOICE_CHANNEL_STATUS_UPDATE,
      targetId: channelId,
      // The published types list the options of older actions only.
      options: status === null ? place : { ...place, status },
    }),
  ]);
}

function playSound(
  guild: Guild,
  { channelId, soundId, sourceGuildId, foreign }: VoiceChannelCommands['playSound']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (channel.type !== CHANNEL.GUILD_VOICE) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const state = guild.voiceStates.get(by.userId);
  if (state?.channel_id !== channelId) return refused(refusal('UNKNOWN_VOICE_STATE'));
  const { deaf, self_deaf, mute, suppress } = state;
  if (deaf || self_deaf || mute || suppress) return refused(refusal('CANNOT_SEND_VOICE_EFFECT'));
  const own = guild.expressions.sounds.get(soundId);
  const isForeign = sourceGuildId !== null && sourceGuildId !== guild.id;
  if (isForeign && (bitsIn(guild, by, channel, env.nowMs) & P.USE_EXTERNAL_SOUNDS) === 0n)
    return refused(refusal('MISSING_PERMISSIONS'));
  const sound = isForeign ? foreign : (own ?? (sourceGuildId === null ? defaultSound(soundId) : undefined));
  if (!sound) return refused(refusal('UNKNOWN_SOUND'));
  return accepted(null, [{ type: 'soundPlayed', channelId, userId: by.userId, sound }]);
}

function change(guild: Guild, channelId: ChannelId, part: Partial<LiveVoiceChannel>): void {
  const next = { status: null, startedMs: null, ...guild.liveVoice.get(channelId), ...part };
  if (next.status === null && next.startedMs === null) guild.liveVoice.delete(channelId);
  else guild.liveVoice.set(channelId, next);
}

const toChannel = (guild: Guild, t: Dispatch['t'], channelId: ChannelId, d: object): readonly Dispatch[] => [
  { t, d: { ...d, guild_id: guild.id }, to: { kind: 'channel', channelId } },
];

const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1000));

/** State of voice channels: a status, the time of the first join, sounds. */
export const voiceChannels: GuildTopic<
  VoiceChannelCommands,
  keyof VoiceChannelFacts | keyof Pick<EphemeralFacts, 'soundPlayed'>
> = {
  commands: {
    setVoiceChannelStatus: { decide: setVoiceChannelStatus },
    playSound: { decide: playSound },
  },
  facts: {
    voiceStatusChanged: {
      apply: (guild, { channelId, status }) => change(guild, channelId, { status }),
      dispatches: (guild, { channelId, status }) =>
        toChannel(guild, 'VOICE_CHANNEL_STATUS_UPDATE', channelId, { id: channelId, status }),
    },
    voiceStartChanged: {
      apply: (guild, { channelId, startedMs }) => change(guild, channelId, { startedMs }),
      dispatches: (guild, { channelId, startedMs }) =>
        toChannel(guild, 'VOICE_CHANNEL_START_TIME_UPDATE', channelId, {
          id: channelId,
          voice_start_time: seconds(startedMs),
        }),
    },
    soundPlayed: {
      durable: false,
      apply: () => {},
      dispatches: (guild, { channelId, userId, sound }) =>
        toChannel(guild, 'VOICE_CHANNEL_EFFECT_SEND', channelId, effect(channelId, userId, sound)),
    },
  },
};

const effect = (channelId: ChannelId, userId: UserId, sound: PlayedSound) => ({
  channel_id: channelId,
  user_id: userId,
  emoji:
    sound.emoji_id === null && sound.emoji_name === null
      ? null
      : { id: sound.emoji_id, name: sound.emoji_name },
  sound_id: sound.sound_id,
  sound_volume: sound.volume,
});

/**
 * Adds the channel facts that follow from changed voice states or a deleted channel. The first join sets the channel's
 * start time; the last leave clears it and removes the status; a deleted channel loses status and stage instance. Each
 * fact follows its cause, but precedes the channel's own deletion so that users who saw the channel receive it.
 *
 * Cost: O(voice states of the guild).
 */
export const voiceConsequences: GuildConsequence = {
  causes: new Set(['voiceStateChanged', 'channelDeleted']),
  add: (guild, facts, _authority, { nowMs }) => withTurnovers(guild, facts, nowMs),
};

function withTurnovers(guild: Guild, facts: readonly GuildFact[], nowMs: number): readonly GuildFact[] {
  const last = facts.findLastIndex(({ type }) => type === 'voiceStateChanged');
  const turned = last < 0 ? [] : turnovers(guild, facts, nowMs);
  const emptied = new Set(
    turned.flatMap((fact) => (fact.type === 'voiceStatusChanged' ? [fact.channelId] : [])),
  );
  return facts.flatMap((fact, at) => [
    ...(fact.type === 'channelDeleted' ? closing(guild, fact.channel.id, emptied) : []),
    fact,
    ...(at === last ? turned : []),
  ]);
}

/** Facts about the channels that these voice states fill or empty. */
function turnovers(guild: Guild, facts: readonly GuildFact[], nowMs: number): GuildFact[] {
  const counts = new Map<string, number>();
  for (const { channel_id } of guild.voiceStates.values())
    if (channel_id !== null) counts.set(channel_id, (counts.get(channel_id) ?? 0) + 1);
  const before = new Map(counts);
  const places = new Map<UserId, string | null>();
  for (const fact of facts) {
    if (fact.type !== 'voiceStateChanged') continue;
    const { userId, voiceState } = fact;
    const known = places.get(userId);
    const was = known === undefined ? (guild.voiceStates.get(userId)?.channel_id ?? null) : known;
    places.set(userId, voiceState.channel_id);
    if (was !== null) counts.set(was, (counts.get(was) ?? 0) - 1);
    if (voiceState.channel_id !== null)
      counts.set(voiceState.channel_id, (counts.get(voiceState.channel_id) ?? 0) + 1);
  }
  return [...counts].flatMap(([id, count]) => {
    const channelId = id as ChannelId;
    const [was, is] = [(before.get(id) ?? 0) > 0, count > 0];
    if (was === is) return [];
    return is ? [started(channelId, nowMs)] : ended(guild, channelId);
  });
}

const started = (channelId: ChannelId, startedMs: number): GuildFact => ({
  type: 'voiceStartChanged',
  channelId,
  startedMs,
});

function ended(guild: Guild, channelId: ChannelId): GuildFact[] {
  const status = guild.liveVoice.get(channelId)?.status ?? null;
  return [
    { type: 'voiceStartChanged', channelId, startedMs: null },
    ...(status === null ? [] : [{ type: 'voiceStatusChanged' as const, channelId, status: null }]),
  ];
}

function closing(guild: Guild, channelId: ChannelId, emptied: ReadonlySet<ChannelId>): GuildFact[] {
  const status = emptied.has(channelId) ? null : (guild.liveVoice.get(channelId)?.status ?? null);
  const stage = guild.stageInstances.get(channelId);
  return [
    ...(status === null ? [] : [{ type: 'voiceStatusChanged' as const, channelId, status: null }]),
    ...(stage ? [{ type: 'stageInstanceDeleted' as const, stage }] : []),
  ];
}

/** CHANNEL_INFO: the voice channels that a member may see, each with the requested fields; null for unset ones. */
export function channelInfo(
  guild: Guild,
  userId: UserId,
  fields: readonly string[],
  nowMs: number,
): { readonly guild_id: string; readonly channels: readonly object[] } {
  const channels = visibleChannels(guild, userId, nowMs).filter(({ type }) => VOICE_LIKE.has(type));
  const asked = (field: ChannelInfoField): boolean => fields.includes(field);
  return {
    guild_id: guild.id,
    channels: channels.map(({ id }) => {
      const live = guild.liveVoice.get(id);
      return {
        id,
        ...(asked('status') ? { status: live?.status ?? null } : {}),
        ...(asked('voice_start_time') ? { voice_start_time: seconds(live?.startedMs ?? null) } : {}),
      };
    }),
  };
}
