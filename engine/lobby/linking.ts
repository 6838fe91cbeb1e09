import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { GuildChannel } from '../guild/guild.ts';
import { accepted, type Outcome, refused } from '../kernel/aggregate.ts';
import { callingMember, isRefusal, LOBBY_MEMBER_FLAGS, type LobbyLink, type LobbyState } from './lobby.ts';
import { type LobbyObject, lobbyObject, lobbyUpdate } from './objects.ts';
import type { LobbyOutcomeFact, LobbyTopic } from './topic.ts';

type LinkCommands = {
  /** Checks whether the caller may link or unlink this lobby; the value is its current link. */
  authorizeLink: { input: { readonly linking: boolean }; value: LobbyLink | null };
  /** For the server itself, after the guild agreed. */
  linkLobby: { input: { readonly link: LobbyLink }; value: LobbyObject };
  /** For the server itself. Does nothing when the lobby is not linked to that channel. */
  unlinkLobby: { input: { readonly channelId: ChannelId }; value: LobbyObject };
  /** For the server itself, after a change of the linked channel. */
  linkedChannelChanged: { input: { readonly channel: GuildChannel }; value: null };
  /** Checks whether an invite to the linked channel may be created for a user; the value is the channel. */
  authorizeInvite: {
    input: { readonly userId: UserId };
    value: { readonly guildId: GuildId; readonly channelId: ChannelId };
  };
};

function unlinking(state: LobbyState): Outcome<LobbyObject, LobbyOutcomeFact> {
  const { lobby } = state;
  if (!lobby.linked) return accepted(lobbyObject(state, true));
  const next = { ...lobby, linked: null };
  return accepted(lobbyObject({ ...state, lobby: next }, true), [
    { type: 'lobbyUnlinked', lobby: next, link: lobby.linked },
  ]);
}

export const linking: LobbyTopic<LinkCommands, 'lobbyLinked' | 'lobbyUnlinked'> = {
  commands: {
    authorizeLink: {
      decide: (state, { linking }, by) => {
        const member = callingMember(state, by);
        if (isRefusal(member)) return refused(member);
        if ((member.flags & LOBBY_MEMBER_FLAGS.CAN_LINK_LOBBY) === 0)
          return refused(refusal('MISSING_PERMISSIONS'));
        // @source https://docs.discord.com/developers/discord-social-sdk/development-guides/linked-channels,
        // "Lobby Requirements"
        if (linking && state.lobby.by_secret) return refused(refusal('MISSING_PERMISSIONS'));
        return accepted(state.lobby.linked);
      },
    },
    linkLobby: {
      server: true,
      decide: (state, { link }, by) => {
        const lobby = { ...state.lobby, linked: link, idle_since_ms: null };
        return accepted(lobbyObject({ ...state, lobby }, by.bot), [{ type: 'lobbyLinked', lobby, link }]);
      },
    },
    unlinkLobby: {
      server: true,
      decide: (state, { channelId }, by) =>
        state.lobby.linked?.channel.id === channelId
          ? unlinking(state)
          : accepted(lobbyObject(state, by.bot)),
    },
    linkedChannelChanged: {
      server: true,
      decide: (state, { channel }, _by) => {
        const { linked } = state.lobby;
        if (linked?.channel.id !== channel.id) return accepted(null);
        const lobby = { ...state.lobby, linked: { ...linked, channel } };
        return accepted(null, [{ type: 'lobbyUpdated', lobby }]);
      },
    },
    authorizeInvite: {
      decide: (state, { userId }, by) => {
        const { linked } = state.lobby;
        if (!state.members.has(userId))
          return refused(refusal(userId === by.userId ? 'MISSING_ACCESS' : 'UNKNOWN_MEMBER'));
        if (!linked) return refused(refusal('UNKNOWN_CHANNEL'));
        return accepted({ guildId: linked.guild_id, channelId: linked.channel.id });
      },
    },
  },
  facts: {
    lobbyLinked: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: lobbyUpdate,
    },
    lobbyUnlinked: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: lobbyUpdate,
    },
  },
};
