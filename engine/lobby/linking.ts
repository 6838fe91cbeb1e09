import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { GuildChannel } from '../guild/guild.ts';
import { accepted, type Outcome, refused } from '../outcome.ts';
import { LOBBY_MEMBER_FLAGS, type LobbyLink, type LobbyState } from './lobby.ts';
import { type LobbyObject, lobbyObject } from './objects.ts';
import { callingMember, type Decisions, foreign, isRefusal, systemOnly, type Told } from './topic.ts';

export type LinkCommands = {
  /** Whether the caller may link this lobby, or unlink it; answers what it is linked to. */
  authorizeLink: { input: { readonly linking: boolean }; value: LobbyLink | null };
  /** The guild has agreed. For the server itself. */
  linkLobby: { input: { readonly link: LobbyLink }; value: LobbyObject };
  /** For the server itself. Does nothing when it is not linked to that channel. */
  unlinkLobby: { input: { readonly channelId: ChannelId }; value: LobbyObject };
  /** The linked channel has changed. For the server itself. */
  linkedChannelChanged: { input: { readonly channel: GuildChannel }; value: null };
  /** Whether an invite to the linked channel may be made, for whom; answers where. */
  authorizeInvite: {
    input: { readonly userId: UserId };
    value: { readonly guildId: GuildId; readonly channelId: ChannelId };
  };
};

function unlinking(state: LobbyState): Outcome<LobbyObject, Told> {
  const { lobby } = state;
  if (!lobby.linked) return accepted(lobbyObject(state, true));
  const next = { ...lobby, linked: null };
  return accepted(lobbyObject({ ...state, lobby: next }, true), [
    { type: 'lobbyUnlinked', lobby: next, link: lobby.linked },
  ]);
}

export const linkDecisions: Decisions<LinkCommands> = {
  authorizeLink: (state, { linking }, by) => {
    const member = callingMember(state, by);
    if (isRefusal(member)) return refused(member);
    if ((member.flags & LOBBY_MEMBER_FLAGS.CAN_LINK_LOBBY) === 0)
      return refused(refusal('MISSING_PERMISSIONS'));
    // @source the platform's guide: lobbies that clients made with a secret are not eligible
    if (linking && state.lobby.by_secret) return refused(refusal('MISSING_PERMISSIONS'));
    return accepted(state.lobby.linked);
  },
  linkLobby: (state, { link }, by) => {
    const no = systemOnly(by);
    if (no) return refused(no);
    const lobby = { ...state.lobby, linked: link, idle_since_ms: null };
    return accepted(lobbyObject({ ...state, lobby }, by.bot), [{ type: 'lobbyLinked', lobby, link }]);
  },
  unlinkLobby: (state, { channelId }, by) => {
    const no = systemOnly(by);
    if (no) return refused(no);
    return state.lobby.linked?.channel.id === channelId
      ? unlinking(state)
      : accepted(lobbyObject(state, by.bot));
  },
  linkedChannelChanged: (state, { channel }, by) => {
    const no = systemOnly(by);
    if (no) return refused(no);
    const { linked } = state.lobby;
    if (linked?.channel.id !== channel.id) return accepted(null);
    const lobby = { ...state.lobby, linked: { ...linked, channel } };
    return accepted(null, [{ type: 'lobbyUpdated', lobby }]);
  },
  authorizeInvite: (state, { userId }, by) => {
    const no = foreign(state, by);
    if (no) return refused(no);
    const { linked } = state.lobby;
    if (!state.members.has(userId))
      return refused(refusal(userId === by.userId ? 'MISSING_ACCESS' : 'UNKNOWN_MEMBER'));
    if (!linked) return refused(refusal('UNKNOWN_CHANNEL'));
    return accepted({ guildId: linked.guild_id, channelId: linked.channel.id });
  },
};
