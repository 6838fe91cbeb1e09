import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { streamLost } from '../call/stream.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { channelById, channelPermissions } from '../permissions/permissions.ts';
import { sameValue } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import type { EphemeralFacts, GuildFact, VoiceStateFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';
import { changeOnStage, type StageWish } from './voice.stage.ts';
import { inVoice, leftVoice, unsettled, type VoiceWish, voiceRefusal, wishOf } from './voice.states.ts';

export interface VoiceStateWish extends VoiceWish {
  /** The voice channel to join; null to leave. */
  readonly channelId: ChannelId | null;
}

type VoiceCommands = {
  /**
   * Voice State Update (op 4) of the caller. Returns the resulting state; null when the user is not in voice. Only the
   * session that joined can leave; another session that joins takes over.
   */
  setVoiceState: { input: VoiceStateWish; value: GatewayVoiceState | null };
  /** The state of a user in a channel where the caller may connect, or the caller's own. */
  getVoiceState: { input: { readonly userId: UserId }; value: GatewayVoiceState };
  updateVoiceState: { input: StageWish; value: null };
  /** For the calls: the user's connection is lost. Does nothing when another session has taken over. */
  dropVoice: {
    input: { readonly userId: UserId; readonly sessionId: string; readonly channelId: ChannelId };
    value: null;
  };
  /** For the calls: the user has been silent for the AFK time. Does nothing when the user has left that channel. */
  moveToAfk: { input: { readonly userId: UserId; readonly channelId: ChannelId }; value: null };
  /** For streams: whether the user streams. Does nothing when the user has left or is connected by another session. */
  showStreaming: {
    input: {
      readonly userId: UserId;
      readonly sessionId: string;
      readonly channelId: ChannelId;
      readonly live: boolean;
    };
    value: null;
  };
  /** For a new owner: the streams of the voice states that it has restored ended with the last owner. */
  endStreams: { input: object; value: null };
  /** Updates `suppress` after permissions changed or a time-out ended. */
  settleVoice: { input: object; value: null };
};

type VoiceFacts = VoiceStateFacts & Pick<EphemeralFacts, 'voiceStateRepeated'>;

const about = ({ userId }: { readonly userId: UserId }): Needs => ({ members: [userId] });

/** Voice states: which user is in which voice channel. */
export const voice: GuildTopic<VoiceCommands, keyof VoiceFacts> = {
  commands: {
    setVoiceState: { decide: setVoiceState },
    getVoiceState: {
      needs: about,
      decide: (guild, { userId }, by, env) => {
        const state = guild.voiceStates.get(userId);
        const channel = state && channelById(guild, state.channel_id);
        if (!channel) return refused(refusal('UNKNOWN_VOICE_STATE'));
        const held = bitsIn(guild, by, channel, env.nowMs);
        const own = by.userId === userId;
        // A caller who cannot see the channel does not learn that someone is in it.
        if (!own && (held & P.VIEW_CHANNEL) === 0n) return refused(refusal('UNKNOWN_VOICE_STATE'));
        if (!own && (held & P.CONNECT) === 0n) return refused(refusal('MISSING_PERMISSIONS'));
        return accepted(current(guild, state));
      },
    },
    updateVoiceState: { needs: about, decide: changeOnStage },
    dropVoice: {
      needs: about,
      decide: (guild, { userId, sessionId, channelId }, by) => {
        if (!by.system) return refused(refusal('MISSING_PERMISSIONS'));
        const state = guild.voiceStates.get(userId);
        // A user who has moved meanwhile belongs to another call.
        if (state?.session_id !== sessionId || state.channel_id !== channelId) return accepted(null);
        return accepted(null, [changed(leftVoice(state, guild.members.get(userId)))]);
      },
    },
    moveToAfk: {
      needs: about,
      decide: (guild, { userId, channelId }, by, env) => {
        if (!by.system) return refused(refusal('MISSING_PERMISSIONS'));
        const state = guild.voiceStates.get(userId);
        const member = guild.members.get(userId);
        const afk = channelById(guild, guild.info.afk_channel_id);
        if (!member || !afk || state?.channel_id !== channelId || afk.id === channelId) return accepted(null);
        return accepted(null, [changed(inVoice(guild, member, afk, wishOf(state), env.nowMs))]);
      },
    },
    showStreaming: {
      needs: about,
      decide: (guild, { userId, sessionId, channelId, live }, by) => {
        if (!by.system) return refused(refusal('MISSING_PERMISSIONS'));
        const state = guild.voiceStates.get(userId);
        if (state?.session_id !== sessionId || state.channel_id !== channelId) return accepted(null);
        return accepted(null, [changed({ ...current(guild, state), self_stream: live })]);
      },
    },
    endStreams: {
      repeatable: true,
      background: true,
      decide: (guild, _input, by) =>
        by.system ? accepted(null, lostStreams(guild)) : refused(refusal('MISSING_PERMISSIONS')),
    },
    settleVoice: {
      repeatable: true,
      background: true,
      decide: (guild, _input, _by, env) => {
        const states = unsettled(guild, env.nowMs).map((userId) => settled(guild, userId, env.nowMs));
        return accepted(null, states.map(changed));
      },
    },
  },
  facts: {
    voiceStateChanged: withBefore({
      voiceMembers: ({ userId }) => userId,
      // The channel that this change makes the user leave.
      before: (guild, { userId, voiceState }) => {
        const channelId = guild.voiceStates.get(userId)?.channel_id ?? null;
        return channelId === voiceState.channel_id ? null : channelId;
      },
      apply: (guild, { userId, voiceState }) => {
        if (voiceState.channel_id === null) guild.voiceStates.delete(userId);
        else guild.voiceStates.set(userId, voiceState);
      },
      dispatches: dispatchesOf,
    }),
    voiceStateRepeated: {
      durable: false,
      voiceMembers: ({ userId }) => userId,
      apply: () => {},
      dispatches: (guild, { userId }) => {
        const d = guild.voiceStates.get(userId);
        return d ? [{ t: 'VOICE_STATE_UPDATE', d, to: { kind: 'users', userIds: [userId] } }] : [];
      },
    },
    // No change for the call: its members are reported when their sessions are back.
    streamLost: {
      apply: (guild, { voiceState }) => void guild.voiceStates.set(voiceState.user_id, voiceState),
      dispatches: (guild, { channelId, userIds, voiceState: d }) => [
        streamLost({ guildId: guild.id, channelId, ownerId: d.user_id }, userIds),
        { t: 'VOICE_STATE_UPDATE', d, to: { kind: 'channel', channelId } },
      ],
    },
  },
};

const changed = (voiceState: GatewayVoiceState): GuildFact => ({
  type: 'voiceStateChanged',
  userId: voiceState.user_id,
  voiceState,
});

/** A state with its current member. */
const current = (guild: Guild, state: GatewayVoiceState): GatewayVoiceState => {
  const member = guild.members.get(state.user_id);
  return member ? { ...state, member: member } : state;
};

function lostStreams(guild: Guild): GuildFact[] {
  const states = [...guild.voiceStates.values()];
  return states.flatMap((state): GuildFact[] => {
    const channelId = channelById(guild, state.channel_id)?.id;
    if (!state.self_stream || !channelId) return [];
    const userIds = states.flatMap((each) => (each.channel_id === channelId ? [each.user_id] : []));
    const voiceState = { ...current(guild, state), self_stream: false };
    return [{ type: 'streamLost', channelId, voiceState, userIds }];
  });
}

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
    return accepted(null, [changed(leftVoice(before, member))]);
  }
  const channel = guild.channels.get(wish.channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  // A connected user may mute and unmute even after losing the permission to connect.
  if (before?.channel_id !== channel.id || before.session_id !== wish.sessionId) {
    const held = channelPermissions(guild, userId, channel, env.nowMs);
    const no = voiceRefusal(guild, channel, held, userId);
    if (no) return refused(no);
  }
  const voiceState = inVoice(guild, member, channel, wish, env.nowMs);
  if (before && sameValue(before, voiceState))
    return accepted(before, [{ type: 'voiceStateRepeated', userId }]);
  return accepted(voiceState, [changed(voiceState)]);
}

function settled(guild: Guild, userId: UserId, nowMs: number): GatewayVoiceState {
  const state = guild.voiceStates.get(userId)!;
  const member = guild.members.get(userId);
  const channel = channelById(guild, state.channel_id);
  return member && channel ? inVoice(guild, member, channel, wishOf(state), nowMs) : state;
}

/**
 * A voice state is visible with its channel. Users who cannot see the new channel, but could see the old one, receive
 * the state as if the user had left voice. The user always receives it.
 */
function dispatchesOf(
  guild: Guild,
  { userId, voiceState }: VoiceFacts['voiceStateChanged'],
  left: ChannelId | null,
): Dispatch[] {
  const here = voiceState.channel_id ?? left;
  const channel = here === null ? undefined : guild.channels.get(here);
  if (!channel) return [{ t: 'VOICE_STATE_UPDATE', d: voiceState, to: { kind: 'guild' } }];
  const dispatches: Dispatch[] = [
    { t: 'VOICE_STATE_UPDATE', d: voiceState, to: { kind: 'channel', channelId: channel.id } },
  ];
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

/** Time-outs hide no channel, so any time will do. */
function sees(guild: Guild, userId: UserId, channelId: ChannelId): boolean {
  const channel = guild.channels.get(channelId);
  return !!channel && (channelPermissions(guild, userId, channel, 0) & P.VIEW_CHANNEL) !== 0n;
}
