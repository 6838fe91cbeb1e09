import { MessageType } from 'discord-api-types/v10';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser, GatewayVoiceState } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { streamLost } from '../call/stream.ts';
import type { VoiceMember } from '../call/voicemember.ts';
import { ownVoiceState, sameVoiceState } from '../call/voicestate.ts';
import { systemMessage } from '../channel/messages.ts';
import type { MessageFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type FactOf, type Outcome, refused, type Topic } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { StoredRelation } from '../social/facts.ts';
import { type AsksColumn, areFriends } from '../social/reach.ts';

/** How long a user is rung without an answer, milliseconds. */
export const RING_MS = 60_000;

/** The only region, as in the lists of regions. */
const REGION = 'local';

/** A call in a private channel, from the first join to the last leave. Stored with each change, so that the next owner continues it. */
export interface PrivateCall {
  /** The message of the call in the channel. */
  readonly messageId: MessageId;
  /** The users being rung, and the end of the ringing (Unix milliseconds). Users in the call are not included. */
  readonly ringing: readonly UserId[];
  readonly ringUntilMs: number;
  /** Every user who has been in it, in the order of their first joining. */
  readonly participantIds: readonly UserId[];
  /** Users in the call now. The call ends when the last one leaves. */
  readonly voiceStates: ReadonlyMap<UserId, GatewayVoiceState>;
}

/** The state of a private channel that a call uses. */
interface Callable {
  readonly channel: { readonly id: ChannelId; readonly group?: object };
  readonly recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: ReadonlyMap<MessageId, StoredMessage | null>;
  /** Both sides of every relationship between the users; null until read. */
  relations: readonly StoredRelation[] | null;
  /** Null without a call. */
  call: PrivateCall | null;
}

type CallCommands = {
  /** Voice State Update (op 4) without a guild. `join` false leaves, if this session is the one in the call. */
  setCallState: {
    input: {
      readonly join: boolean;
      readonly sessionId: string;
      readonly selfMute: boolean;
      readonly selfDeaf: boolean;
      readonly selfVideo: boolean;
    };
    /** The resulting state; null when not in the call. */
    value: GatewayVoiceState | null;
  };
  /** Rings users who are not in the call; null `userIds` rings all of them. */
  ringCall: { input: { readonly userIds: readonly UserId[] | null }; value: null };
  /** Stops ringing; null `userIds` means the caller, who declines. */
  stopRinging: { input: { readonly userIds: readonly UserId[] | null }; value: null };
  /** For the timer: the ringing with this end has timed out. */
  ringTimedOut: { input: { readonly ringUntilMs: number }; value: null };
  /** For the calls: the user's connection is lost. Does nothing when another session has taken over. */
  dropCaller: { input: { readonly userId: UserId; readonly sessionId: string }; value: null };
  /** For streams: whether the user streams. Does nothing when another session has taken over. */
  showStreaming: {
    input: { readonly userId: UserId; readonly sessionId: string; readonly live: boolean };
    value: null;
  };
  /** For a new owner: the streams of the call that it has restored ended with the last owner. */
  endStreams: { input: object; value: null };
};

interface CallAfter {
  /** After the change. */
  readonly call: PrivateCall;
}

export type CallFacts = {
  callStarted: CallAfter & { readonly voiceState: GatewayVoiceState };
  /** A null `channel_id` means left. */
  callStateChanged: CallAfter & { readonly userId: UserId; readonly voiceState: GatewayVoiceState };
  ringingChanged: CallAfter;
  callEnded: object;
  /** The stream ended with the process of the last owner. The voice state is without it. */
  callStreamLost: CallAfter & { readonly voiceState: GatewayVoiceState };
};
export type CallFact = FactOf<CallFacts>;
type CallStateChanged = FactOf<Pick<CallFacts, 'callStateChanged'>>;

interface CallShape {
  readonly state: Callable;
  readonly facts: CallFacts & Pick<MessageFacts, 'messageCreated' | 'messageUpdated'>;
  readonly needs: Needs;
  readonly dispatch: Dispatch;
  readonly env: Env;
  readonly row: AsksColumn<Callable>;
}

type MessageUpdated = FactOf<Pick<MessageFacts, 'messageUpdated'>>;
type CallOutcomeFact = CallFact | FactOf<Pick<MessageFacts, 'messageCreated' | 'messageUpdated'>>;
type Input<K extends keyof CallCommands> = CallCommands[K]['input'];

/** Bots do not take part in calls and receive no dispatches of them. */
const people = ({ recipients }: Callable): UserId[] =>
  [...recipients].flatMap(([id, user]) => (user.bot ? [] : [id]));

/** The call with the voice state of a user, or without the user, who stays a participant. */
function withState(call: PrivateCall, voiceState: GatewayVoiceState): PrivateCall {
  const userId = voiceState.user_id;
  const voiceStates = new Map(call.voiceStates);
  if (voiceState.channel_id === null) voiceStates.delete(userId);
  else voiceStates.set(userId, voiceState);
  return { ...call, voiceStates, participantIds: [...new Set([...call.participantIds, userId])] };
}

const changed = (call: PrivateCall, voiceState: GatewayVoiceState): CallStateChanged => ({
  type: 'callStateChanged',
  userId: voiceState.user_id,
  voiceState,
  call: withState(call, voiceState),
});

function setCallState(
  owner: Callable,
  input: Input<'setCallState'>,
  by: By,
  env: Env,
): Outcome<GatewayVoiceState | null, CallOutcomeFact> {
  const user = owner.recipients.get(by.userId);
  if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
  if (by.bot) return refused(refusal('CANNOT_EXECUTE_ON_DM'));
  const { call, channel } = owner;
  const before = call?.voiceStates.get(by.userId);
  if (!input.join) {
    if (!before || before.session_id !== input.sessionId) return accepted(before ?? null);
    return accepted(null, call ? leaving(owner, call, before, env) : []);
  }
  const voiceState: GatewayVoiceState = {
    ...ownVoiceState(channel.id, by.userId, input),
    ...(before?.self_stream && before.session_id === input.sessionId && { self_stream: true }),
  };
  if (!call) return accepted(voiceState, starting(owner, user, voiceState, env));
  if (before && sameVoiceState(before, voiceState)) return accepted(before);
  const entered = changed(call, voiceState);
  const ringing = call.ringing.filter((id) => id !== by.userId);
  return accepted(voiceState, [entered, ...ringingFacts(entered.call, ringing, call.ringUntilMs)]);
}

function starting(
  owner: Callable,
  user: APIUser,
  voiceState: GatewayVoiceState,
  env: Env,
): CallOutcomeFact[] {
  const created = systemMessage(env, owner.channel.id, MessageType.Call, user);
  const message = { ...created.message, call: { participants: [user.id], ended_timestamp: null } };
  // A friend and a group are rung; anyone else sees the call, and may join it.
  const friends = owner.channel.group !== undefined || areFriends(owner.relations ?? [], user.id, null);
  const ringing = friends ? people(owner).filter((id) => id !== user.id) : [];
  const call = {
    ...{ messageId: message.id, ringing, ringUntilMs: env.nowMs + RING_MS },
    ...{ participantIds: [user.id], voiceStates: new Map([[user.id, voiceState]]) },
  };
  return [{ ...created, message }, { type: 'callStarted', call, voiceState }, changed(call, voiceState)];
}

/** A user leaves. The last one ends the call, whose message then gets the participants and the end. */
function leaving(
  owner: Callable,
  call: PrivateCall,
  state: GatewayVoiceState,
  env: Env,
): (CallFact | MessageUpdated)[] {
  const left = leftFact(call, state);
  return left.call.voiceStates.size > 0 ? [left] : [left, ...overFacts(owner, call, env)];
}

const leftFact = (call: PrivateCall, { self_stream: _, ...rest }: GatewayVoiceState) =>
  changed(call, { ...rest, channel_id: null });

/** A user who is no longer a recipient: neither in the call nor rung. */
export function withoutCaller(owner: Callable, userId: UserId, env: Env): (CallFact | MessageUpdated)[] {
  const { call } = owner;
  const state = call?.voiceStates.get(userId);
  if (call && state) return leaving(owner, call, state, env);
  if (!call?.ringing.includes(userId)) return [];
  const ringing = call.ringing.filter((id) => id !== userId);
  return ringingFacts(call, ringing, call.ringUntilMs);
}

/** Removes everyone at once. */
export function endedCall(owner: Callable, env: Env): (CallFact | MessageUpdated)[] {
  const { call } = owner;
  if (!call) return [];
  let rest = call;
  const left = [...call.voiceStates.values()].map((state) => {
    const fact = leftFact(rest, state);
    rest = fact.call;
    return fact;
  });
  return [...left, ...overFacts(owner, call, env)];
}

const overFacts = (owner: Callable, call: PrivateCall, env: Env): (CallFact | MessageUpdated)[] => [
  { type: 'callEnded' },
  ...messageOver(owner, call, env),
];

/** The message of a call gets the participants and the end; nothing when it is deleted. */
function messageOver(
  { messages }: Callable,
  { messageId, participantIds }: PrivateCall,
  env: Env,
): MessageUpdated[] {
  const message = messages.get(messageId);
  const summary = { participants: [...participantIds], ended_timestamp: isoTimestamp(env.nowMs) };
  return message ? [{ type: 'messageUpdated', message: { ...message, call: summary } }] : [];
}

const ringingFacts = (call: PrivateCall, ringing: readonly UserId[], ringUntilMs: number): CallFact[] => {
  const same = ringing.length === call.ringing.length && ringing.every((id) => call.ringing.includes(id));
  const isSame = same && ringUntilMs === call.ringUntilMs;
  return isSame ? [] : [{ type: 'ringingChanged', call: { ...call, ringing, ringUntilMs } }];
};

function ringCall(
  owner: Callable,
  { userIds }: Input<'ringCall'>,
  by: By,
  env: Env,
): Outcome<null, CallOutcomeFact> {
  if (!owner.recipients.has(by.userId)) return refused(refusal('UNKNOWN_CHANNEL'));
  const { call } = owner;
  if (!call?.voiceStates.has(by.userId)) return refused(refusal('UNKNOWN_VOICE_STATE'));
  const rung = people(owner).filter((id) => !call.voiceStates.has(id) && (userIds?.includes(id) ?? true));
  if (rung.length === 0) return accepted(null);
  const ringing = [...new Set([...call.ringing, ...rung])];
  return accepted(null, ringingFacts(call, ringing, env.nowMs + RING_MS));
}

function stopRinging(
  owner: Callable,
  { userIds }: Input<'stopRinging'>,
  by: By,
): Outcome<null, CallOutcomeFact> {
  if (!owner.recipients.has(by.userId)) return refused(refusal('UNKNOWN_CHANNEL'));
  const { call } = owner;
  if (!call) return accepted(null);
  const silent = userIds ?? [by.userId];
  const ringing = call.ringing.filter((id) => !silent.includes(id));
  return accepted(null, ringingFacts(call, ringing, call.ringUntilMs));
}

const dispatchToAll = (owner: Callable, t: Dispatch['t'], d: object): readonly Dispatch[] => [
  { t, d, to: { kind: 'users', userIds: people(owner) } },
];

const callObject = (owner: Callable, { messageId, ringing }: Pick<PrivateCall, 'messageId' | 'ringing'>) => ({
  channel_id: owner.channel.id,
  message_id: messageId,
  region: REGION,
  ringing,
});

/** A complete voice state for the wire: outside guilds `guild_id` is null. */
const voiceStateBody = (voiceState: GatewayVoiceState): object => ({
  guild_id: null,
  self_stream: false,
  ...voiceState,
});

const showVoiceState = (owner: Callable, voiceState: GatewayVoiceState): readonly Dispatch[] =>
  dispatchToAll(owner, 'VOICE_STATE_UPDATE', voiceStateBody(voiceState));

/** The streams of a call ended, one after another. */
function streamsLost(call: PrivateCall): CallFact[] {
  let rest = call;
  return [...call.voiceStates.values()].flatMap((state): CallFact[] => {
    if (!state.self_stream) return [];
    const voiceState = { ...state, self_stream: false };
    rest = withState(rest, voiceState);
    return [{ type: 'callStreamLost', call: rest, voiceState }];
  });
}

function applyCall(owner: Callable, { call }: CallAfter): void {
  owner.call = call;
}

/** The end of a call changes the message of the call. */
export const needsCall = (_input: object, { channel, call }: Callable): Needs =>
  call ? { messages: [{ channelId: channel.id, id: call.messageId }] } : {};

/** Calls in private channels. @source https://docs.discord.food/gateway/gateway-events#calls */
export const calls: Topic<CallShape, CallCommands, keyof CallFacts> = {
  commands: {
    setCallState: {
      asks: ({ call }, input, by) => {
        const joins = 'join' in input && input.join === true;
        // Bots are refused by the rule itself.
        if (!joins || by.bot) return 'nothing';
        return call?.voiceStates.has(by.userId) ? 'staying' : 'writing';
      },
      needs: needsCall,
      decide: setCallState,
    },
    ringCall: { asks: 'ringing', decide: ringCall },
    stopRinging: { asks: 'nothing', decide: stopRinging },
    // The commands from here on are for the server only.
    ringTimedOut: {
      asks: 'nothing',
      decide: ({ call }, { ringUntilMs }, by) => {
        if (!by.system) return refused(refusal('UNKNOWN_CHANNEL'));
        if (call?.ringUntilMs !== ringUntilMs) return accepted(null);
        return accepted(null, ringingFacts(call, [], ringUntilMs));
      },
    },
    dropCaller: {
      asks: 'nothing',
      needs: needsCall,
      decide: (owner, { userId, sessionId }, by, env) => {
        if (!by.system) return refused(refusal('UNKNOWN_CHANNEL'));
        const { call } = owner;
        const state = call?.voiceStates.get(userId);
        if (!call || state?.session_id !== sessionId) return accepted(null);
        return accepted(null, leaving(owner, call, state, env));
      },
    },
    showStreaming: {
      asks: 'nothing',
      decide: ({ call }, { userId, sessionId, live }, by) => {
        if (!by.system) return refused(refusal('UNKNOWN_CHANNEL'));
        const state = call?.voiceStates.get(userId);
        if (!call || state?.session_id !== sessionId) return accepted(null);
        return accepted(null, [changed(call, { ...state, self_stream: live })]);
      },
    },
    endStreams: {
      asks: 'nothing',
      decide: ({ call }, _input, by) => {
        if (!by.system) return refused(refusal('UNKNOWN_CHANNEL'));
        return accepted(null, call ? streamsLost(call) : []);
      },
    },
  },
  facts: {
    callStarted: {
      apply: applyCall,
      dispatches: (owner, { call, voiceState }) =>
        dispatchToAll(owner, 'CALL_CREATE', {
          ...callObject(owner, call),
          voice_states: [voiceStateBody(voiceState)],
        }),
    },
    callStateChanged: {
      apply: applyCall,
      dispatches: (owner, { voiceState }) => showVoiceState(owner, voiceState),
    },
    ringingChanged: {
      apply: applyCall,
      dispatches: (owner, { call }) => dispatchToAll(owner, 'CALL_UPDATE', callObject(owner, call)),
    },
    callStreamLost: {
      apply: applyCall,
      dispatches: (owner, { call, voiceState }) => [
        streamLost({ guildId: null, channelId: owner.channel.id, ownerId: voiceState.user_id }, [
          ...call.voiceStates.keys(),
        ]),
        ...showVoiceState(owner, voiceState),
      ],
    },
    callEnded: {
      apply: (owner) => {
        owner.call = null;
      },
      dispatches: (owner) => dispatchToAll(owner, 'CALL_DELETE', { channel_id: owner.channel.id }),
    },
  },
};

/** CALL_CREATE for a session that starts during a call; null without a call. */
export function callCreate(owner: Callable): object | null {
  const { call } = owner;
  return (
    call && { ...callObject(owner, call), voice_states: [...call.voiceStates.values()].map(voiceStateBody) }
  );
}

/** The voice member of a private call's voice state; null after leaving. */
export function callVoiceMember(voiceState: GatewayVoiceState): VoiceMember | null {
  if (voiceState.channel_id === null) return null;
  const callId = voiceState.channel_id;
  return {
    callId,
    groupId: callId,
    serverId: callId,
    guildId: null,
    userId: voiceState.user_id,
    sessionId: voiceState.session_id,
    silenced: voiceState.self_mute,
    deafened: voiceState.self_deaf,
    mayStream: true,
    mayPrioritize: false,
    afkAfterMs: null,
  };
}
