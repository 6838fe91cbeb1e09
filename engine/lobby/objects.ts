import { GAME_CHANNEL } from '../../protocol/channeltypes.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { type FieldsOf, namesShown, type Rows, type ShownFields } from '../../protocol/schemas/fields.ts';
import { LOBBY_FIELDS } from '../../protocol/schemas/lobbyfields.ts';
import type { SessionRef } from '../fanout/direct.ts';
import { isConnected, type LobbyMember, type LobbyMessage, type LobbyState } from './lobby.ts';
import type { Metadata } from './metadata.ts';
import type { LobbyDispatch } from './topic.ts';

/** A lobby member of the REST interface. */
export type LobbyMemberObject = {
  readonly id: UserId;
  readonly metadata: Metadata | null;
  readonly flags: number;
  readonly additional_name?: string;
};

/** A lobby of the REST interface. */
export type LobbyObject = ShownFields<typeof LOBBY_FIELDS> & {
  readonly id: ChannelId;
  readonly application_id: ApplicationId;
  readonly members: readonly LobbyMemberObject[];
  readonly linked_channel?: object;
};

export type LobbyMessageObject = Readonly<Record<string, unknown>> & { readonly id: string };

/** Picks the fields that an object shows; `toServer`: to the application's server. Cost: O(fields). */
export function shownOf<R extends Rows>(rows: R): (fields: FieldsOf<R>, toServer: boolean) => ShownFields<R>;
export function shownOf(
  rows: Rows,
): (fields: Readonly<Record<string, unknown>>, toServer: boolean) => object {
  const forServer = namesShown(rows, true);
  const forEveryone = namesShown(rows, false);
  return (fields, toServer) => {
    const shown: Record<string, unknown> = {};
    for (const name of toServer ? forServer : forEveryone) shown[name] = fields[name];
    return shown;
  };
}

const shownFields = shownOf(LOBBY_FIELDS);

/** The only region, as in the lists of regions. */
const REGION = 'local';

const named = ({ additional_name }: LobbyMember) => (additional_name === null ? {} : { additional_name });

export const memberObject = (member: LobbyMember): LobbyMemberObject => ({
  id: member.user.id,
  metadata: member.metadata,
  flags: member.flags,
  ...named(member),
});

/** A member as the gateway shows it: the whole user, and whether a session of the application is open. */
export const gatewayMember = (state: LobbyState, member: LobbyMember) => ({
  user: member.user,
  metadata: member.metadata,
  flags: member.flags,
  connected: isConnected(state, member.user.id),
  ...named(member),
});

/** `bot`: for the application itself, the only reader of its events' URL. */
export function lobbyObject({ lobby, members }: LobbyState, bot: boolean): LobbyObject {
  const { id, application_id, linked } = lobby;
  return {
    id,
    application_id,
    ...shownFields(lobby, bot),
    members: [...members.values()].map(memberObject),
    ...(linked ? { linked_channel: linked.channel } : {}),
  };
}

/** A lobby without its members and their voice states. Cost: O(fields). */
const lobbyAlone = ({ lobby }: LobbyState): object => ({
  id: lobby.id,
  application_id: lobby.application_id,
  ...shownFields(lobby, false),
  region: REGION,
  // Beyond the platform, where the settings ask for a host.
  ...(lobby.host_id == null ? {} : { host_id: lobby.host_id }),
  ...(lobby.linked ? { linked_channel: lobby.linked.channel } : {}),
});

/** A lobby as LOBBY_CREATE, LOBBY_UPDATE and READY show it. Cost: O(members + sessions). */
export function gatewayLobby(state: LobbyState): object {
  const connected = new Set([...state.sessions.values()].map(({ userId }) => userId));
  return {
    ...lobbyAlone(state),
    members: [...state.members.values()].map((member) => ({
      user: member.user,
      metadata: member.metadata,
      flags: member.flags,
      connected: connected.has(member.user.id),
      ...named(member),
    })),
    voice_states: [...state.voiceStates.values()],
  };
}

/** A message of the REST interface. `metadata` is the sender's. */
export function messageObject(message: LobbyMessage, metadata: Metadata | null = null): LobbyMessageObject {
  const { timestamp: _timestamp, edited_timestamp: _edited, ...shown } = message;
  return { ...shown, lobby_id: message.channel_id, ...(metadata ? { metadata } : {}) };
}

/** A message as LOBBY_MESSAGE_CREATE sends it: with the type of its channel. */
export const toldMessage = (message: LobbyMessage, metadata: Metadata | null = null): LobbyMessageObject => ({
  ...messageObject(message, metadata),
  channel_type: GAME_CHANNEL.LOBBY,
});

/** An update also contains its time. */
export const updatedMessage = (message: LobbyMessage): LobbyMessageObject => ({
  ...toldMessage(message),
  timestamp: message.timestamp,
  edited_timestamp: message.edited_timestamp,
});

export const everyone = ({ sessions }: LobbyState): readonly SessionRef[] => [...sessions.values()];

export const others = ({ sessions }: LobbyState, userId: string): readonly SessionRef[] =>
  [...sessions.values()].filter((session) => session.userId !== userId);

export const attach = (state: LobbyState, sessions: readonly SessionRef[]): void => {
  for (const session of sessions) state.sessions.set(session.sessionId, session);
};

/** Replaces a member; a new member is added last. */
export const enter = (state: LobbyState, member: LobbyMember): void => {
  state.members.set(member.user.id, member);
};

/** The dispatches of a changed lobby. Clients with the capability LOBBY_CHANGES receive it without its members. */
export const lobbyUpdate = (state: LobbyState): readonly LobbyDispatch[] => [
  { t: 'LOBBY_UPDATE', d: gatewayLobby(state), to: everyone(state) },
  { t: 'GUILDHALL_LOBBY_UPDATE', d: lobbyAlone(state), to: everyone(state) },
];

/** The payload of a dispatch about one member. */
export const aboutMember = (state: LobbyState, member: LobbyMember) => ({
  member: gatewayMember(state, member),
  lobby_id: state.lobby.id,
  application_id: state.lobby.application_id,
});

/**
 * The dispatches of a changed member. Clients with the capability LOBBY_CHANGES receive the user only when the user
 * changed.
 */
export function memberUpdate(
  state: LobbyState,
  member: LobbyMember,
  changes: 'user' | 'member',
  to: readonly SessionRef[] = everyone(state),
): readonly LobbyDispatch[] {
  const whole = aboutMember(state, member);
  const { user, ...alone } = whole.member;
  const shown = changes === 'user' ? whole : { ...whole, member: { id: user.id, ...alone } };
  return [
    { t: 'LOBBY_MEMBER_UPDATE', d: whole, to },
    { t: 'GUILDHALL_LOBBY_MEMBER_UPDATE', d: shown, to },
  ];
}

/** Notifies the other members when the member's first session connected or the last one ended. */
export function connectionDispatches(
  state: LobbyState,
  userId: UserId,
  but: readonly SessionRef[],
): readonly LobbyDispatch[] {
  const member = state.members.get(userId);
  const more = [...state.sessions.values()].some(
    (session) => session.userId === userId && !but.includes(session),
  );
  if (!member || more) return [];
  return memberUpdate(state, member, 'member', others(state, userId));
}
