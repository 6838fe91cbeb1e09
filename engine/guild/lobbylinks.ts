import { MessageType } from 'discord-api-types/v10';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ApplicationId, ChannelId, GuildId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { newMessage } from '../channel/messages.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { ChannelMessage, ChannelMessageNews } from '../lobby/facts.ts';
import { timedOutUntilMs } from '../permissions/permissions.ts';
import { judgedMessage } from './automod.messages.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, LinkedLobby, StoredMessage } from './guild.ts';
import type { GuildTopic } from './topic.ts';

type LobbyLinkCommands = {
  /** Called for the user who links; the authority requires the bits. */
  linkChannel: {
    input: {
      readonly channelId: ChannelId;
      readonly link: LinkedLobby;
      /** A lobby that this channel names although the lobby is not linked to it; its link is replaced. */
      readonly stale: ChannelId | null;
    };
    value: GuildChannel;
  };
  /** `lobbyId` restricts the command to a link to that lobby; null unlinks any. */
  unlinkChannel: {
    input: { readonly channelId: ChannelId; readonly lobbyId: ChannelId | null };
    value: GuildChannel;
  };
  /** A message that a member of the linked lobby wrote there. For the server itself. */
  writeFromLobby: {
    input: {
      readonly channelId: ChannelId;
      readonly lobbyId: ChannelId;
      readonly author: APIUser;
      readonly content: string;
      readonly flags: number;
      readonly additionalName: string | null;
    };
    value: null;
  };
};

function withLink(channel: GuildChannel, link: LinkedLobby | null): GuildChannel {
  const { linked_lobby: _, ...rest } = channel;
  return link ? { ...rest, linked_lobby: link } : rest;
}

function linkChannel(
  guild: Guild,
  { channelId, link, stale }: LobbyLinkCommands['linkChannel']['input'],
): Outcome<GuildChannel, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (channel.type !== CHANNEL.GUILD_TEXT) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const bad = (code: string, message: string) => refused(invalidField(['channel_id'], code, message));
  if ('nsfw' in channel && channel.nsfw)
    return bad('CHANNEL_IS_NSFW', 'Age-restricted channels cannot be linked to a lobby');
  const before = channel.linked_lobby;
  if (before && before.lobby_id !== link.lobby_id && before.lobby_id !== stale)
    return bad('CHANNEL_ALREADY_LINKED', 'This channel is linked to another lobby');
  const next = withLink(channel, link);
  return accepted(next, [{ type: 'channelUpdated', channel: next }]);
}

function unlinkChannel(
  guild: Guild,
  { channelId, lobbyId }: LobbyLinkCommands['unlinkChannel']['input'],
): Outcome<GuildChannel, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const link = channel.linked_lobby;
  if (!link || (lobbyId !== null && link.lobby_id !== lobbyId)) return accepted(channel);
  const next = withLink(channel, null);
  return accepted(next, [{ type: 'channelUpdated', channel: next }]);
}

/**
 * Lobby members need not be members of the guild: linking a channel opens it to the lobby. Bans and time-outs still
 * apply, and so do rules of auto moderation. Messages from the lobby notify no user.
 */
function writeFromLobby(
  guild: Guild,
  input: LobbyLinkCommands['writeFromLobby']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const { channelId, lobbyId, author, content, flags, additionalName } = input;
  const channel = guild.channels.get(channelId);
  const link = channel?.linked_lobby;
  if (!by.system || link?.lobby_id !== lobbyId) return refused(refusal('UNKNOWN_CHANNEL'));
  const member = guild.members.get(author.id);
  const silenced = member ? timedOutUntilMs(member) > env.nowMs : false;
  if (silenced || guild.bans.get(author.id)) return refused(refusal('MISSING_ACCESS'));
  const message: StoredMessage = {
    ...newMessage(env, { channel_id: channelId, type: MessageType.Default, author, content, flags }),
    application_id: link.application_id,
    ...(additionalName === null ? {} : { lobby_member: { additional_name: additionalName } }),
  };
  const judged = channel && judgedMessage({ guild, env, channel, message, isNew: true });
  if (judged?.no) return { ok: false, refusal: judged.no, facts: judged.facts };
  return accepted(null, [
    { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false },
    ...(judged?.facts ?? []),
  ]);
}

/** Links between channels and lobbies. */
export const lobbyLinks: GuildTopic<LobbyLinkCommands, never> = {
  commands: {
    linkChannel: { decide: linkChannel },
    unlinkChannel: { decide: unlinkChannel },
    writeFromLobby: {
      needs: ({ author }) => ({ members: [author.id], bans: [author.id] }),
      decide: writeFromLobby,
    },
  },
  facts: {},
};

/** Changes of a linked channel that its lobby must receive. */
export interface LinkUpdate {
  readonly lobbyId: ChannelId;
  readonly applicationId: ApplicationId;
  readonly guildId: GuildId;
  readonly channelId: ChannelId;
  readonly news:
    | ChannelMessageNews
    | { readonly kind: 'changed'; readonly channel: GuildChannel }
    /** The channel was deleted. */
    | { readonly kind: 'gone' };
}

/** Changes that a dispatch to a linked channel means for its lobby. */
export function linkUpdates(
  guild: Guild,
  channelId: ChannelId,
  link: LinkedLobby,
  { t, d }: Dispatch,
): LinkUpdate[] {
  return newsOf(t, d, link).map((news) => newsFor(guild, channelId, link, news));
}

const newsFor = (
  guild: Guild,
  channelId: ChannelId,
  link: LinkedLobby,
  news: LinkUpdate['news'],
): LinkUpdate => ({
  lobbyId: link.lobby_id,
  applicationId: link.application_id,
  guildId: guild.id,
  channelId,
  news,
});

function newsOf(t: string, d: object, link: LinkedLobby): LinkUpdate['news'][] {
  const { id, ids = [] } = d as { readonly id: string; readonly ids?: readonly string[] };
  switch (t) {
    case 'CHANNEL_UPDATE':
      return [{ kind: 'changed', channel: d as GuildChannel }];
    case 'MESSAGE_DELETE':
      return [{ kind: 'deleted', messageId: id }];
    case 'MESSAGE_DELETE_BULK':
      return ids.map((messageId) => ({ kind: 'deleted', messageId }));
    case 'MESSAGE_CREATE':
    case 'MESSAGE_UPDATE': {
      const message = d as ChannelMessage;
      // Messages from the lobby are not sent back to it.
      if (message.application_id === link.application_id) return [];
      return [{ kind: t === 'MESSAGE_CREATE' ? 'created' : 'updated', message }];
    }
    default:
      return [];
  }
}

/** The end of the link of a deleted channel. */
export const linkEnded = (guild: Guild, { id, linked_lobby: link }: GuildChannel): LinkUpdate[] =>
  link ? [newsFor(guild, id, link, { kind: 'gone' })] : [];

/** The end of each of the deleted guild's links. */
export const linksEnded = (guild: Guild): LinkUpdate[] =>
  [...guild.channels.values()].flatMap((channel) => linkEnded(guild, channel));
