import type { APIGuildMember, GatewayPresenceUpdate, GatewayVoiceState } from 'discord-api-types/v10';
import { WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../outcome.ts';
import { channelPermissions } from '../permissions/permissions.ts';
import type { Presence } from '../presence/merge.ts';
import { sameValue } from './auditing.ts';
import { inVoice, leftVoice, voiceRefusal } from './ephemeral.voice.ts';
import type { EphemeralFacts, GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { By, Dispatch, Topic } from './topic.ts';

export interface VoiceStateWish {
  /** The voice channel to be in; `null` leaves. */
  readonly channelId: ChannelId | null;
  /** The gateway session that asks: only the one that brought its user into voice can take them out again. */
  readonly sessionId: string;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
}

/** Commands whose facts are never stored: they are lost with the process, and nobody minds. */
export type EphemeralCommands = {
  startTyping: { input: { readonly channelId: ChannelId }; value: null };
  /** The merged presence of all the user's sessions; `null`: offline. Nothing happens when it is as before. */
  setPresence: { input: { readonly userId: UserId; readonly presence: Presence | null }; value: null };
  /** Voice State Update (op 4) of the caller. Answers the state that holds now; `null`: not in voice. */
  setVoiceState: { input: VoiceStateWish; value: GatewayVoiceState | null };
};

export const ephemeral: Topic<EphemeralCommands, EphemeralFacts, GuildFact> = {
  needs: {
    startTyping: () => ({}),
    setPresence: ({ userId }) => ({ members: [userId] }),
    setVoiceState: () => ({}),
  },

  decide: {
    startTyping: (guild, { channelId }, by, env) => {
      const channel = guild.channels.get(channelId);
      if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
      if (!WITH_MESSAGES.has(channel.type)) return refused(refusal('CANNOT_SEND_IN_NON_TEXT_CHANNEL'));
      return accepted(null, [{ type: 'typingStarted', channelId, userId: by.userId, atMs: env.nowMs }]);
    },

    setPresence: (guild, { userId, presence }) => {
      if (!guild.members.get(userId)) return accepted(null);
      const next = presence === null ? null : presenceUpdate(guild, userId, presence);
      if (sameValue(guild.presences.get(userId) ?? null, next)) return accepted(null);
      return accepted(null, [{ type: 'presenceChanged', userId, presence: next }]);
    },

    setVoiceState,
  },

  apply: {
    typingStarted: () => undefined,
    presenceChanged: (guild, { userId, presence }) => {
      if (presence) guild.presences.set(userId, presence);
      else guild.presences.delete(userId);
    },
    voiceStateChanged: (guild, fact) => {
      const { userId, voiceState } = fact;
      const before = guild.voiceStates.get(userId)?.channel_id;
      if (before && before !== voiceState.channel_id) leftChannel.set(fact, before as ChannelId);
      if (voiceState.channel_id === null) guild.voiceStates.delete(userId);
      else guild.voiceStates.set(userId, voiceState);
    },
  },

  dispatches: {
    typingStarted: (guild, { channelId, userId, atMs }) => {
      const member = guild.members.get(userId);
      const d = {
        channel_id: channelId,
        guild_id: guild.id,
        user_id: userId,
        timestamp: Math.floor(atMs / 1000),
        ...(member ? { member } : {}),
      };
      return [{ t: 'TYPING_START', d, to: { kind: 'channel', channelId } }];
    },
    presenceChanged: (guild, { userId, presence }) => [
      { t: 'PRESENCE_UPDATE', d: presence ?? offline(guild, userId), to: { kind: 'guild' } },
    ],
    voiceStateChanged: (guild, fact) => voiceDispatches(guild, fact, leftChannel.get(fact) ?? null),
  },
};

/** Where a user was before a fact moved them: noted by `apply` for `dispatches`, and gone with the fact. */
const leftChannel = new WeakMap<object, ChannelId>();

function presenceUpdate(guild: Guild, userId: UserId, presence: Presence): GatewayPresenceUpdate {
  const update = {
    user: { id: userId },
    guild_id: guild.id,
    status: presence.status,
    activities: [...presence.activities],
    client_status: presence.client_status,
  };
  // The type package spells the words of a status as an enumeration; they are the same words.
  return update as GatewayPresenceUpdate;
}

const offline = (guild: Guild, userId: UserId): object => ({
  user: { id: userId },
  guild_id: guild.id,
  status: 'offline',
  activities: [],
  client_status: {},
});

function setVoiceState(
  guild: Guild,
  wish: VoiceStateWish,
  by: By,
  env: Env,
): Outcome<GatewayVoiceState | null, GuildFact> {
  const { userId } = by;
  const member = guild.members.get(userId);
  if (!member) return refused(refusal('UNKNOWN_MEMBER'));
  const before = guild.voiceStates.get(userId);
  if (wish.channelId === null) {
    if (!before || before.session_id !== wish.sessionId) return accepted(before ?? null);
    const voiceState = leftVoice(before, member);
    return accepted(null, [{ type: 'voiceStateChanged', userId, voiceState }]);
  }
  if (before && before.channel_id === wish.channelId && before.session_id === wish.sessionId) {
    const voiceState: GatewayVoiceState = {
      ...before,
      member: member as APIGuildMember,
      self_mute: wish.selfMute,
      self_deaf: wish.selfDeaf,
    };
    if (sameValue(before, voiceState)) return accepted(before);
    return accepted(voiceState, [{ type: 'voiceStateChanged', userId, voiceState }]);
  }
  const channel = guild.channels.get(wish.channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const no = voiceRefusal(guild, channel, channelPermissions(guild, userId, channel, env.nowMs), userId);
  if (no) return refused(no);
  const voiceState = inVoice(guild, member, channel, wish, env.nowMs);
  return accepted(voiceState, [{ type: 'voiceStateChanged', userId, voiceState }]);
}

/**
 * A voice state belongs to its channel, so those who may not see that channel hear of it only when the user
 * disappears from one that they do see: then it reads as if the user had left voice.
 */
function voiceDispatches(
  guild: Guild,
  { userId, voiceState }: EphemeralFacts['voiceStateChanged'],
  left: ChannelId | null,
): Dispatch[] {
  const here = (voiceState.channel_id ?? left) as ChannelId | null;
  const channel = here === null ? undefined : guild.channels.get(here);
  if (!channel) return [{ t: 'VOICE_STATE_UPDATE', d: voiceState, to: { kind: 'guild' } }];
  const dispatches: Dispatch[] = [
    { t: 'VOICE_STATE_UPDATE', d: voiceState, to: { kind: 'channel', channelId: channel.id } },
  ];
  if (!sees(guild, userId, channel.id)) {
    dispatches.push({ t: 'VOICE_STATE_UPDATE', d: voiceState, to: { kind: 'users', userIds: [userId] } });
  }
  if (left === null || voiceState.channel_id === null) return dispatches;
  const blind = [...guild.sessionCounts.keys()].filter(
    (id) => id !== userId && sees(guild, id, left) && !sees(guild, id, channel.id),
  );
  if (blind.length > 0) {
    const d = { ...voiceState, channel_id: null };
    dispatches.push({ t: 'VOICE_STATE_UPDATE', d, to: { kind: 'users', userIds: blind } });
  }
  return dispatches;
}

/** No time-out hides a channel, so the time does not matter here. */
function sees(guild: Guild, userId: UserId, channelId: ChannelId): boolean {
  const channel = guild.channels.get(channelId);
  return !!channel && (channelPermissions(guild, userId, channel, 0) & P.VIEW_CHANNEL) !== 0n;
}
