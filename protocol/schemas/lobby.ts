import type { ApplicationId, ChannelId, MessageId, UserId } from '../ids.ts';
import { GuildChannel } from './channel.ts';
import { repliesOf } from './fields.ts';
import { LOBBY_FIELDS } from './lobbyfields.ts';
import { MessageLobbyMember } from './message.ts';
import {
  dict,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const lobbyMember = object(
  {
    id: id<UserId>(),
    metadata: nullable(dict(text)),
    flags: integer,
    additional_name: optional(text),
  },
  'LobbyMember',
);
export interface LobbyMember extends ValueOf<typeof lobbyMember> {}
export const LobbyMember: Schema<LobbyMember> = lobbyMember;

export const lobbyFields = {
  id: id<ChannelId>(),
  application_id: id<ApplicationId>(),
  ...repliesOf(LOBBY_FIELDS),
  members: list(LobbyMember),
  linked_channel: optional(GuildChannel),
};
const lobby = object(lobbyFields, 'Lobby');
export interface Lobby extends ValueOf<typeof lobby> {}
export const Lobby: Schema<Lobby> = lobby;

const lobbyGuildInvite = object(
  {
    code: text,
  },
  'LobbyGuildInvite',
);
export interface LobbyGuildInvite extends ValueOf<typeof lobbyGuildInvite> {}
export const LobbyGuildInvite: Schema<LobbyGuildInvite> = lobbyGuildInvite;

const lobbyMessage = object(
  {
    id: id<MessageId>(),
    type: integer,
    content: text,
    lobby_id: id<ChannelId>(),
    channel_id: id<ChannelId>(),
    author: User,
    lobby_member: optional(MessageLobbyMember),
    metadata: optional(dict(text)),
    moderation_metadata: optional(dict(text)),
    flags: integer,
    application_id: optional(id<ApplicationId>()),
  },
  'LobbyMessage',
);
export interface LobbyMessage extends ValueOf<typeof lobbyMessage> {}
export const LobbyMessage: Schema<LobbyMessage> = lobbyMessage;
