import type { Reply } from '../../../engine/kernel/outcome.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { type Bucket, type Call, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { ReactionsPage } from './messages.schema.ts';

// The platform publishes no limits per route; these are ours.
const READ: Bucket = { per: 'channel_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 5, windowMs: 2_000, group: 'reaction' };

type Params = { readonly channel_id: ChannelId; readonly message_id: MessageId; readonly emoji_name: string };
type EmojiCall = Pick<Call<Params, unknown, unknown, 'any'>, 'params' | 'authority'>;

/** The emoji of a path as the rules take it, and whether the store has that user's reaction with it. */
async function reactionOf({ params, authority }: EmojiCall, userId: UserId, services: Services) {
  const channelId = params.channel_id;
  const input = { messageId: params.message_id, emoji: params.emoji_name };
  const target = await services.channels.call(channelId, 'authorizeReactions', input, authority);
  if (!target.ok) return target;
  const { ownerId, key } = target.value;
  const mine = await services.read.messages.reactionsOf(ownerId, userId, [input.messageId]);
  const stored = mine.get(input.messageId)?.has(key) ?? false;
  return { ok: true, value: { ...input, stored } } as const;
}

async function removeReaction(call: EmojiCall, userId: UserId, services: Services): Promise<Reply<null>> {
  const reaction = await reactionOf(call, userId, services);
  if (!reaction.ok) return reaction;
  const channelId = call.params.channel_id;
  const input = { ...reaction.value, userId };
  return services.channels.call(channelId, 'removeReaction', input, call.authority);
}

/** Reactions to messages. */
export const reactions = resource({
  add_my_message_reaction: op({
    method: 'PUT',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: WRITE,
    status: 204,
    handle: async (call, services) => {
      const reaction = await reactionOf(call, call.caller.userId, services);
      if (!reaction.ok) return reaction;
      const channelId = call.params.channel_id;
      return services.channels.call(channelId, 'addReaction', reaction.value, call.authority);
    },
  }),
  delete_my_message_reaction: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    status: 204,
    handle: (call, services) => removeReaction(call, call.caller.userId, services),
  }),
  // The permission is asked for by the rule: one's own reaction may also be named by one's own id.
  delete_user_message_reaction: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions/:emoji_name/:user_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    status: 204,
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
    handle: async ({ params, query, authority }, services) => {
      const messageId = params.message_id;
      const input = { messageId, emoji: params.emoji_name };
      const channelId = params.channel_id;
      const target = await services.channels.call(channelId, 'authorizeReactions', input, authority);
      if (!target.ok) return target;
      // Burst reactions (type 1) do not exist here.
      if (query.type === 1) return { ok: true, body: [] };
      const { ownerId, key } = target.value;
      const page = {
        limit: query.limit ?? LIMITS.reactions_page_default,
        ...(query.after === undefined ? {} : { after: query.after as UserId }),
      };
      return { ok: true, body: await services.read.messages.reactors(ownerId, messageId, key, page) };
    },
  }),
  delete_all_message_reactions: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id/reactions',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_MESSAGES,
    bucket: WRITE,
    status: 204,
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
    handle: ({ params, authority }, { channels }) => {
      const input = { messageId: params.message_id, emoji: params.emoji_name };
      return channels.call(params.channel_id, 'clearReactionsOfEmoji', input, authority);
    },
  }),
});
