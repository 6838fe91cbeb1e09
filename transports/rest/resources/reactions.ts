import type { CustomEmoji } from '../../../engine/channel/emoji.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { User } from '../../../protocol/schemas/user.ts';
import { type Bucket, type OperationCall, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { ReactionsPage } from './messages.schema.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 5, windowMs: 2_000, group: 'reaction' };

type Params = { readonly channel_id: ChannelId; readonly message_id: MessageId; readonly emoji_name: string };
type EmojiCall = Pick<OperationCall<Params, unknown, unknown, 'any'>, 'params' | 'authority'>;

/** The message and emoji in a path, as the command takes them. */
const targetOf = ({ message_id, emoji_name }: Params) => ({ messageId: message_id, emoji: emoji_name });

const CUSTOM = /:(\d{1,20})$/;

/** The custom emoji of a path; null for none. */
async function customIn({ params, authority }: EmojiCall, services: Services): Promise<CustomEmoji | null> {
  const emojiId = CUSTOM.exec(params.emoji_name)?.[1];
  return emojiId === undefined ? null : services.expressions.emoji(emojiId, authority);
}

const removeReaction = ({ params, authority }: EmojiCall, userId: UserId, { channels }: Services) =>
  channels.call(params.channel_id, 'removeReaction', { ...targetOf(params), userId }, authority);

/** Operations on reactions to messages. */
export const reactions = resource({
  add_my_message_reaction: op({
    method: 'PUT',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async (call, services) => {
      const { params, authority } = call;
      const custom = await customIn(call, services);
      const input = { ...targetOf(params), ...(custom ? { custom } : {}) };
      return services.channels.call(params.channel_id, 'addReaction', input, authority);
    },
  }),
  delete_my_message_reaction: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: (call, services) => removeReaction(call, call.caller.userId, services),
  }),
  // The command checks the permission: the path may also contain the caller's own id.
  delete_user_message_reaction: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/:user_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: (call, services) => removeReaction(call, call.params.user_id, services),
  }),
  list_message_reactions_by_emoji: op({
    method: 'GET',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: READ,
    query: ReactionsPage,
    status: 200,
    reply: list(User),
    handle: async ({ params, query, authority }, services) => {
      const input = targetOf(params);
      const channelId = params.channel_id;
      const target = await services.channels.call(channelId, 'authorizeReactions', input, authority);
      if (!target.ok) return target;
      // Burst reactions (type 1) are not supported.
      if (query.type === 1) return { ok: true, value: [] };
      const { ownerId, key } = target.value;
      const page = {
        limit: query.limit ?? LIMITS.reactions_page_default,
        ...(query.after === undefined ? {} : { after: query.after }),
      };
      return { ok: true, value: await services.read.messages.reactors(ownerId, input.messageId, key, page) };
    },
  }),
  delete_all_message_reactions: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_MESSAGES,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) => {
      const messageId = params.message_id;
      return channels.call(params.channel_id, 'clearReactions', { messageId }, authority);
    },
  }),
  delete_all_message_reactions_by_emoji: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_MESSAGES,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'clearReactionsOfEmoji', targetOf(params), authority),
  }),
});
