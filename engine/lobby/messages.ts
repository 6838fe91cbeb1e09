import { MessageFlags } from 'discord-api-types/v10';
import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { type WebhookEventType, webhookEvent } from '../application/webhookevents.ts';
import { cleanText, isBlank, textLength } from '../channel/text.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Application } from '../user/facts.ts';
import type { ChannelMessageNews } from './facts.ts';
import { callingMember, isRefusal, type LobbyMessage, type LobbyState } from './lobby.ts';
import { cleanMetadata, METADATA, type Metadata, MODERATION_METADATA, metadataRefusal } from './metadata.ts';
import { everyone, type LobbyMessageObject, messageObject, toldMessage, updatedMessage } from './objects.ts';
import type { LobbyOutcomeFact, LobbyTopic } from './topic.ts';

export interface LobbyMessageDraft {
  readonly content: string;
  readonly metadata: Metadata | null;
  readonly flags: number;
}

/** The lobby's application for its webhook events; null when it was deleted. */
type Wanting = { readonly application: Application | null };

type MessageCommands = {
  createMessage: {
    input: { readonly draft: LobbyMessageDraft } & Wanting;
    value: LobbyMessageObject;
  };
  /** Checks whether the caller may read the messages. */
  authorizeHistory: { input: object; value: null };
  /** The verdict of the application's own moderation on a message; replaces the previous one. */
  setModeration: {
    input: { readonly messageId: MessageId; readonly metadata: Metadata };
    value: null;
  };
  /** A message changed in the linked channel. The value is false when the lobby is not linked to that channel. */
  showChannelMessage: {
    input: {
      readonly guildId: GuildId;
      readonly channelId: ChannelId;
      readonly news: ChannelMessageNews;
    } & Wanting;
    value: boolean;
  };
};

/** Flags that a sender may set; other flags are set by the server only and ignored here. */
const SETTABLE = MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications;

/** Events go to the lobby's own URL if it has one, so even an application without a URL may receive them. */
function events(
  { lobby }: LobbyState,
  application: Application | null,
  type: WebhookEventType,
  data: object,
  env: Env,
): LobbyOutcomeFact[] {
  if (!application) return [];
  return webhookEvent(application, type, data, env, lobby.override_event_webhooks_url);
}

function createMessage(
  state: LobbyState,
  { draft, application }: MessageCommands['createMessage']['input'],
  by: By,
  env: Env,
): Outcome<LobbyMessageObject, LobbyOutcomeFact> {
  const member = callingMember(state, by);
  if (isRefusal(member)) return refused(member);
  const content = cleanText(draft.content).trim();
  const max = LIMITS.content_chars_max;
  if (textLength(content, max) > max)
    return refused(invalidField(['content'], 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`));
  if (isBlank(content)) return refused(refusal('CANNOT_SEND_EMPTY_MESSAGE'));
  const no = metadataRefusal(draft.metadata, METADATA, ['metadata']);
  if (no) return refused(no);
  const { id: channel_id, application_id } = state.lobby;
  const { additional_name, user: author } = member;
  const message: LobbyMessage = {
    id: env.nextId(),
    channel_id,
    type: 0,
    content,
    author,
    flags: draft.flags & SETTABLE,
    application_id,
    timestamp: isoTimestamp(env.nowMs),
    edited_timestamp: null,
    ...(additional_name === null ? {} : { lobby_member: { additional_name } }),
  };
  const metadata = cleanMetadata(draft.metadata);
  const shown = messageObject(message, metadata);
  return accepted(shown, [
    { type: 'lobbyMessageCreated', message, metadata },
    ...events(state, application, 'LOBBY_MESSAGE_CREATE', shown, env),
  ]);
}

/** The webhook events of messages in the linked channel. A forwarded message already had its event in the lobby. */
function channelEvents(
  state: LobbyState,
  news: ChannelMessageNews,
  application: Application | null,
  env: Env,
): LobbyOutcomeFact[] {
  const of = { lobby_id: state.lobby.id };
  if (news.kind === 'deleted') {
    const data = { id: news.messageId, ...of };
    return events(state, application, 'LOBBY_MESSAGE_DELETE', data, env);
  }
  const type = news.kind === 'created' ? 'LOBBY_MESSAGE_CREATE' : 'LOBBY_MESSAGE_UPDATE';
  return events(state, application, type, { ...news.message, ...of }, env);
}

export const messages: LobbyTopic<
  MessageCommands,
  'lobbyMessageCreated' | 'lobbyMessageUpdated' | 'lobbyChannelMessage'
> = {
  commands: {
    createMessage: { decide: createMessage },
    authorizeHistory: {
      decide: (state, _input, by) => {
        const member = by.bot ? null : callingMember(state, by);
        return member && 'status' in member ? refused(member) : accepted(null);
      },
    },
    setModeration: {
      needs: ({ messageId: id }, { lobby }) => ({ messages: [{ channelId: lobby.id, id }] }),
      decide: (state, { messageId, metadata }, _by) => {
        const no = metadataRefusal(metadata, MODERATION_METADATA, []);
        if (no) return refused(no);
        const message = state.messages.get(messageId);
        if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
        const said = { moderation_metadata: cleanMetadata(metadata) ?? {} };
        return accepted(null, [{ type: 'lobbyMessageUpdated', message: { ...message, ...said } }]);
      },
    },
    showChannelMessage: {
      server: true,
      decide: (state, { guildId, channelId, news, application }, _by, env) => {
        if (state.lobby.linked?.channel.id !== channelId) return accepted(false);
        return accepted(true, [
          { type: 'lobbyChannelMessage', guildId, news },
          ...channelEvents(state, news, application, env),
        ]);
      },
    },
  },
  facts: {
    lobbyMessageCreated: {
      apply: (state, { message }) => {
        state.messages.set(message.id, message);
      },
      dispatches: (state, { message, metadata }) => [
        { t: 'LOBBY_MESSAGE_CREATE', d: toldMessage(message, metadata), to: everyone(state) },
      ],
    },
    lobbyMessageUpdated: {
      apply: (state, { message }) => {
        state.messages.set(message.id, message);
      },
      dispatches: (state, { message }) => [
        { t: 'LOBBY_MESSAGE_UPDATE', d: updatedMessage(message), to: everyone(state) },
      ],
    },
    lobbyChannelMessage: {
      // The message is a row of its guild. The next owner of the lobby must not show it again when the command is repeated.
      durable: 'record',
      apply: () => {},
      dispatches: (state, { news }) => {
        const of = { lobby_id: state.lobby.id };
        const to = everyone(state);
        if (news.kind === 'deleted')
          return [{ t: 'LOBBY_MESSAGE_DELETE', d: { id: news.messageId, ...of }, to }];
        const t = news.kind === 'created' ? 'LOBBY_MESSAGE_CREATE' : 'LOBBY_MESSAGE_UPDATE';
        return [{ t, d: { ...news.message, ...of }, to }];
      },
    },
  },
};
