import type { MessageId, UserId } from '../../protocol/ids.ts';
import type { Subscriber } from '../fanout/body.ts';
import { type BeyondCommands, beyondDecisions } from './beyond.ts';
import type { LobbyFacts } from './facts.ts';
import { type LinkCommands, linkDecisions } from './linking.ts';
import type { LobbyMember, LobbyState } from './lobby.ts';
import { type MemberCommands, memberDecisions } from './members.ts';
import { type MessageCommands, messageDecisions } from './messages.ts';
import { gatewayLobby, gatewayMember, toldMessage, updatedMessage } from './objects.ts';
import { readyObject } from './ready.ts';
import { type SessionCommands, sessionDecisions } from './sessions.ts';
import type { Decisions, LobbyDispatch } from './topic.ts';
import { type VoiceCommands, voiceDecisions } from './voice.ts';

export type LobbyCommands = MemberCommands &
  MessageCommands &
  LinkCommands &
  VoiceCommands &
  SessionCommands &
  BeyondCommands;

type ToldFacts = LobbyFacts & { webhookEventQueued: object };

/** The rules of a lobby, as tables that are total: what is forgotten does not compile. */
export interface LobbyRules {
  readonly decide: Decisions<LobbyCommands>;
  readonly apply: { readonly [K in keyof ToldFacts]: (state: LobbyState, fact: ToldFacts[K]) => void };
  /** Called right after `apply`. */
  readonly dispatches: {
    readonly [K in keyof ToldFacts]: (state: LobbyState, fact: ToldFacts[K]) => readonly LobbyDispatch[];
  };
}

/** The one message that a command must find in the window. */
export const messageNeeded = (type: keyof LobbyCommands, input: object): MessageId | null =>
  type === 'setModeration' ? (input as MessageCommands['setModeration']['input']).messageId : null;

/** Facts that are never stored. */
export const EPHEMERAL: ReadonlySet<string> = new Set<keyof LobbyFacts>([
  'lobbySessionsAttached',
  'lobbySessionDetached',
  'lobbyHostAway',
  'lobbyReadyChanged',
  'lobbyUserChanged',
  'lobbyVoiceChanged',
  'lobbyVoiceRepeated',
  'lobbyChannelMessage',
]);

const none = (): readonly LobbyDispatch[] => [];
const everyone = ({ sessions }: LobbyState): readonly Subscriber[] => [...sessions.values()];

const others = ({ sessions }: LobbyState, userId: string): readonly Subscriber[] =>
  [...sessions.values()].filter((session) => session.userId !== userId);

const attach = (state: LobbyState, sessions: readonly Subscriber[]): void => {
  for (const session of sessions) state.sessions.set(session.sessionId, session);
};

/** Replaces a member; a new one comes last. */
const enter = (state: LobbyState, member: LobbyMember): void => {
  state.members.set(member.user.id as UserId, member);
};

const apply: LobbyRules['apply'] = {
  lobbyCreated: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbySecretKept: () => {},
  lobbyUpdated: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbySettled: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbyDeleted: (state) => {
    state.gone = true;
  },
  lobbyMemberAdded: (state, { member, sessions }) => {
    enter(state, member);
    attach(state, sessions);
  },
  lobbyMemberUpdated: (state, { member }) => enter(state, member),
  lobbyMemberRemoved: (state, { member, sessions }) => {
    state.members.delete(member.user.id as UserId);
    for (const { sessionId } of sessions) state.sessions.delete(sessionId);
  },
  lobbyLinked: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbyUnlinked: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbyMessageCreated: (state, { message }) => {
    state.messages.set(message.id, message);
  },
  lobbyMessageUpdated: (state, { message }) => {
    state.messages.set(message.id, message);
  },
  lobbyHostChanged: (state, { lobby }) => {
    state.lobby = lobby;
  },
  lobbyListed: () => {},
  lobbyUnlisted: () => {},
  lobbyHostAway: (state, { sinceMs }) => {
    state.hostAwayMs = sinceMs;
  },
  lobbyReadyChanged: (state, { check }) => {
    state.ready = check;
  },
  lobbySessionsAttached: (state, { sessions }) => attach(state, sessions),
  lobbyUserChanged: (state, { user }) => {
    const member = state.members.get(user.id as UserId);
    if (member) enter(state, { ...member, user });
  },
  lobbySessionDetached: (state, { sessionId }) => {
    state.sessions.delete(sessionId);
  },
  lobbyVoiceChanged: (state, { userId, voiceState }) => {
    if (voiceState.channel_id === null) state.voiceStates.delete(userId);
    else state.voiceStates.set(userId, voiceState);
  },
  lobbyVoiceRepeated: () => {},
  lobbyChannelMessage: () => {},
  webhookEventQueued: () => {},
};

const lobbyUpdate = (state: LobbyState): LobbyDispatch => ({
  t: 'LOBBY_UPDATE',
  d: gatewayLobby(state),
  to: everyone(state),
});

/** Of a member as it is now, with where it belongs. */
const aboutMember = (state: LobbyState, member: LobbyMember) => ({
  member: gatewayMember(state, member),
  lobby_id: state.lobby.id,
  application_id: state.lobby.application_id,
});

/** Tells the others whether a member is connected, when these sessions were the first or the last ones. */
function connectionTold(
  state: LobbyState,
  userId: UserId,
  but: readonly Subscriber[],
): readonly LobbyDispatch[] {
  const member = state.members.get(userId);
  const more = [...state.sessions.values()].some(
    (session) => session.userId === userId && !but.includes(session),
  );
  if (!member || more) return [];
  return [{ t: 'LOBBY_MEMBER_UPDATE', d: aboutMember(state, member), to: others(state, userId) }];
}

/** @source the user documentation's lobby events */
const dispatches: LobbyRules['dispatches'] = {
  lobbyCreated: none,
  lobbySecretKept: none,
  lobbyUpdated: (state) => [lobbyUpdate(state)],
  lobbySettled: none,
  lobbyDeleted: (state) => [
    { t: 'LOBBY_DELETE', d: { id: state.lobby.id, reason: 'deleted' }, to: everyone(state) },
  ],
  lobbyMemberAdded: (state, { member, sessions }) => [
    // Also without a session, for the program that embeds the server.
    { t: 'LOBBY_CREATE', d: gatewayLobby(state), to: sessions },
    { t: 'LOBBY_MEMBER_ADD', d: aboutMember(state, member), to: others(state, member.user.id) },
  ],
  lobbyMemberUpdated: (state, { member }) => [
    { t: 'LOBBY_MEMBER_UPDATE', d: aboutMember(state, member), to: everyone(state) },
  ],
  lobbyMemberRemoved: (state, { member, sessions }) => [
    { t: 'LOBBY_MEMBER_REMOVE', d: aboutMember(state, member), to: everyone(state) },
    { t: 'LOBBY_DELETE', d: { id: state.lobby.id, reason: 'removed' }, to: sessions },
  ],
  lobbyLinked: (state) => [lobbyUpdate(state)],
  lobbyUnlinked: (state) => [lobbyUpdate(state)],
  lobbyMessageCreated: (state, { message, metadata }) => [
    { t: 'LOBBY_MESSAGE_CREATE', d: toldMessage(message, metadata), to: everyone(state) },
  ],
  lobbyMessageUpdated: (state, { message }) => [
    { t: 'LOBBY_MESSAGE_UPDATE', d: updatedMessage(message), to: everyone(state) },
  ],
  lobbyHostChanged: (state, { lobby, previousId }) => {
    const d = { lobby_id: lobby.id, host_id: lobby.host_id ?? null, previous_host_id: previousId };
    return [{ t: 'GUILDHALL_LOBBY_HOST', d, to: everyone(state) }];
  },
  lobbyListed: none,
  lobbyUnlisted: none,
  lobbyHostAway: none,
  lobbyReadyChanged: (state, { check }) => [
    { t: 'GUILDHALL_LOBBY_READY', d: readyObject(state.lobby.id, check), to: everyone(state) },
  ],
  lobbySessionsAttached: (state, { userId, sessions, announce }) => [
    ...(announce ? [{ t: 'LOBBY_CREATE', d: gatewayLobby(state), to: sessions } as const] : []),
    ...connectionTold(state, userId, sessions),
  ],
  lobbyUserChanged: (state, { user }) => {
    const member = state.members.get(user.id as UserId);
    const d = member && aboutMember(state, member);
    return d ? [{ t: 'LOBBY_MEMBER_UPDATE', d, to: everyone(state) }] : [];
  },
  lobbySessionDetached: (state, { userId }) => connectionTold(state, userId, []),
  lobbyVoiceChanged: (state, { userId, voiceState, turn }) => {
    const to = everyone(state);
    const told: LobbyDispatch = { t: 'LOBBY_VOICE_STATE_UPDATE', d: voiceState, to };
    const member = state.members.get(userId);
    if (turn === null || !member) return [told];
    const t = turn === 'joined' ? 'LOBBY_MEMBER_CONNECT' : 'LOBBY_MEMBER_DISCONNECT';
    return [told, { t, d: { member: gatewayMember(state, member), lobby_id: state.lobby.id }, to }];
  },
  lobbyVoiceRepeated: none,
  lobbyChannelMessage: (state, { news }) => {
    const of = { lobby_id: state.lobby.id };
    const to = everyone(state);
    if (news.kind === 'deleted') return [{ t: 'LOBBY_MESSAGE_DELETE', d: { id: news.messageId, ...of }, to }];
    const t = news.kind === 'created' ? 'LOBBY_MESSAGE_CREATE' : 'LOBBY_MESSAGE_UPDATE';
    return [{ t, d: { ...news.message, ...of }, to }];
  },
  webhookEventQueued: none,
};

export const lobbyRules: LobbyRules = {
  decide: {
    ...memberDecisions,
    ...messageDecisions,
    ...linkDecisions,
    ...voiceDecisions,
    ...sessionDecisions,
    ...beyondDecisions,
  },
  apply,
  dispatches,
};
