import type { ForwardSource, MessageDraft, Written } from '../../../engine/channel/draft.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { type ChannelId, isChannelId, isMessageId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Message } from '../../../protocol/schemas/message.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import type { RunWithFiles } from '../../../services/channels/messagefiles.ts';
import { BODY_BYTES } from '../bodysize.ts';
import {
  type AgedBucket,
  type Answer,
  type AuthKind,
  type Bucket,
  type OperationCall,
  op,
  resource,
} from '../operation.ts';
import type { Services } from '../services.ts';
import { keptBy, newFiles, type Paired, pairFiles } from './messages.files.ts';
import { pageOf } from './messages.page.ts';
import { messagePins } from './messages.pins.ts';
import { BulkDelete, CreateMessage, EditMessage, MessagesPage } from './messages.schema.ts';
import { viewing } from './messages.viewing.ts';

// The platform publishes no limits for these routes; the values follow its observed headers.
const READ: Bucket = { per: 'channel_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 5, windowMs: 5_000 };
/** The platform says that edits of messages older than an hour are limited, not to how many. */
const OLD_EDIT: AgedBucket = {
  ...{ per: 'channel_id', limit: 20, windowMs: 60_000 },
  ...{ of: 'message_id', afterMs: 3_600_000, refusal: 'MAXIMUM_OLD_MESSAGE_EDITS' },
};
const DELETE: Bucket = { per: 'channel_id', limit: 5, windowMs: 1_000 };
const PUBLISH: Bucket = { per: 'channel_id', limit: 10, windowMs: 3_600_000 };
const BULK: Bucket = { per: 'channel_id', limit: 1, windowMs: 3_000 };

type ChannelCall = Pick<
  OperationCall<{ readonly channel_id: ChannelId }, unknown, unknown, AuthKind & 'any'>,
  'params' | 'caller' | 'authority' | 'publicUrl' | 'files'
>;

/** The message that a forward refers to, if the caller may read it. */
async function forwarded(
  { caller, authority }: ChannelCall,
  asked: NonNullable<MessageDraft['message_reference']>,
  services: Services,
): Promise<Reply<ForwardSource>> {
  if (!isChannelId(asked.channel_id)) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
  const source = await viewing(
    {
      params: { channel_id: asked.channel_id },
      caller,
      authority: { ...authority, requires: P.VIEW_CHANNEL },
    },
    services,
  );
  if (!source.ok) return source;
  const { ownerId, guildId, channelId, canReadHistory, isAgeRestricted = false } = source.value;
  if (!canReadHistory) return { ok: false, refusal: refusal('CANNOT_REFERENCE_WITHOUT_HISTORY') };
  const id = asked.message_id;
  const [message] = isMessageId(id) ? await services.read.messages.get(ownerId, [{ channelId, id }]) : [];
  if (!message) return { ok: false, refusal: refusal('UNKNOWN_MESSAGE') };
  return { ok: true, value: { message, guildId: guildId as ForwardSource['guildId'], isAgeRestricted } };
}

const FORWARD = 1;
const NO_FORWARD: Reply<null> = { ok: true, value: null };

const NO_FILES: Reply<Paired> = { ok: true, value: { files: [], rest: [] } };

/** The uploads of a request with their notes. Most messages have neither. */
const filesOf = ({ files }: ChannelCall, notes: Parameters<typeof pairFiles>[1]): Reply<Paired> =>
  files.length > 0 || notes?.length ? pairFiles(files, notes) : NO_FILES;

/** The SKUs that the author's application sells, for premium buttons. */
const skusOf = (
  components: MessageDraft['components'],
  { by }: Authority,
  { premium }: Services,
): Promise<readonly string[]> | readonly string[] =>
  components?.length ? premium.forButtons(by.applicationId, components) : [];

/** A draft that refers to stickers, emojis or SKUs by id. Most messages refer to none. */
const isNaming = ({ sticker_ids, poll, components }: MessageDraft): boolean =>
  Boolean(sticker_ids?.length || poll || components?.length);

const NONE_NAMED = { stickers: [], emojis: [], skuIds: [] };

/** The objects that a draft names by their ids; only these are looked up. */
async function namedOf(
  { sticker_ids, poll, components }: MessageDraft,
  authority: Authority,
  services: Services,
) {
  return {
    stickers: sticker_ids?.length ? await services.expressions.stickers(sticker_ids, authority) : [],
    emojis: poll ? await services.expressions.emojisOf(poll, authority) : [],
    skuIds: await skusOf(components, authority, services),
  };
}

/** Stores the files of a command, copies those of a forwarded message, and deletes files that no message uses. */
async function withFiles(
  call: ChannelCall,
  services: Services,
  { paired, forward }: { readonly paired: Paired; readonly forward: ForwardSource | null },
  run: RunWithFiles<Written>,
): Promise<Reply<Written>> {
  const sends = paired.files.length > 0;
  if (!sends && !forward?.message.files) return run([], forward, false);
  const channelId = call.params.channel_id;
  const requires = call.authority.requires | (sends ? P.ATTACH_FILES : 0n);
  const may = await services.channels.call(
    channelId,
    'authorizeHistory',
    {},
    { ...call.authority, requires },
  );
  if (!may.ok) return may;
  const { nextId, uploads, messageFiles } = services;
  const fits = (bytes: number) => uploads.fits(bytes, channelId, call.caller.userId);
  const files = newFiles({ channelId, publicUrl: call.publicUrl, nextId }, paired);
  return messageFiles.using({ channelId, fits, classifiesImages: true }, { files, forward }, run);
}

/** Answers with the message that a command wrote. */
async function written(call: ChannelCall, services: Services, reply: Reply<Written>): Promise<Answer> {
  if (!reply.ok) return reply;
  const { ownerId, guildId, message, nonce, referenced } = reply.value;
  const channelId = call.params.channel_id;
  const view = { caller: call.caller, ownerId, guildId, channelId };
  const known = referenced ? [referenced] : [];
  const [body] = await services.presentMessages(view, [message], known);
  return { ok: true, value: nonce === null ? body : { ...body, nonce } };
}

/** Operations on messages of every channel type that has them. */
export const messages = resource({
  ...messagePins,
  list_messages: op({
    method: 'GET',
    path: '/channels/:channel_id/messages',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: MessagesPage,
    status: 200,
    reply: list(Message),
    handle: async (call, services) => {
      const page = pageOf(call.query);
      const view = await viewing(call, services, page);
      if (!view.ok) return view;
      if (!view.value.canReadHistory) return { ok: true, value: [] };
      const { ownerId, channelId, messages } = view.value;
      const found = messages ?? (await services.read.messages.list(ownerId, channelId, page));
      return { ok: true, value: await services.presentMessages(view.value, found) };
    },
  }),
  get_message: op({
    method: 'GET',
    path: '/channels/:channel_id/messages/:message_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: READ,
    status: 200,
    reply: Message,
    handle: async (call, services) => {
      const view = await viewing(call, services);
      if (!view.ok) return view;
      const { ownerId, channelId, canReadHistory } = view.value;
      if (!canReadHistory) return { ok: false, refusal: refusal('MISSING_ACCESS') };
      const id = call.params.message_id;
      const found = await services.read.messages.get(ownerId, [{ channelId, id }]);
      if (found.length === 0) return { ok: false, refusal: refusal('UNKNOWN_MESSAGE') };
      const [body] = await services.presentMessages(view.value, found);
      return { ok: true, value: body };
    },
  }),
  create_message: op({
    method: 'POST',
    path: '/channels/:channel_id/messages',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.message,
    body: CreateMessage,
    multipart: 'raised',
    status: 200,
    reply: Message,
    handle: async (call, services) => {
      const { attachments: _notes, ...draft } = call.body;
      const pairs = filesOf(call, call.body.attachments);
      if (!pairs.ok) return pairs;
      if (pairs.value.rest.length > 0) return { ok: false, refusal: refusal('UPLOADED_FILE_NOT_FOUND') };
      const unlet = await services.linkRefusal(call.params.channel_id, call.authority);
      if (unlet) return { ok: false, refusal: unlet };
      const { message_reference: reference } = draft;
      const forward = reference?.type === FORWARD ? await forwarded(call, reference, services) : NO_FORWARD;
      if (!forward.ok) return forward;
      const named = isNaming(draft) ? await namedOf(draft, call.authority, services) : NONE_NAMED;
      const channelId = call.params.channel_id;
      const reply = await withFiles(
        call,
        services,
        { paired: pairs.value, forward: forward.value },
        (attachments, forward, isExplicit) => {
          const input = { draft, ...named, attachments, forward, isExplicit };
          return services.channels.call(channelId, 'createMessage', input, call.authority);
        },
      );
      return written(call, services, reply);
    },
  }),
  update_message: op({
    method: 'PATCH',
    path: '/channels/:channel_id/messages/:message_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    agedBucket: OLD_EDIT,
    bodyBytesMax: BODY_BYTES.message,
    body: EditMessage,
    multipart: 'raised',
    status: 200,
    reply: Message,
    handle: async (call, services) => {
      const { attachments: _notes, ...edit } = call.body;
      const pairs = filesOf(call, call.body.attachments);
      if (!pairs.ok) return pairs;
      const keep = keptBy(call.body, pairs.value);
      const skuIds = await skusOf(edit.components, call.authority, services);
      const { channel_id, message_id } = call.params;
      const reply = await withFiles(
        call,
        services,
        { paired: pairs.value, forward: null },
        (attachments, _forward, isExplicit) => {
          const input = { messageId: message_id, edit, skuIds, keep, attachments, isExplicit };
          return services.channels.call(channel_id, 'updateMessage', input, call.authority);
        },
      );
      return written(call, services, reply);
    },
  }),
  delete_message: op({
    method: 'DELETE',
    path: '/channels/:channel_id/messages/:message_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: DELETE,
    status: 204,
    reply: none,
    handle: async ({ params, caller, authority }, services) => {
      const { channel_id: channelId, message_id: messageId } = params;
      const reply = await services.channels.call(channelId, 'deleteMessage', { messageId }, authority);
      const isUnknown = !reply.ok && reply.refusal.code === refusal('UNKNOWN_MESSAGE').code;
      if (caller.kind !== 'user' || !isUnknown) return reply;
      // A message that only this person sees is in no channel's history.
      const owner = await services.channels.owner(channelId);
      if (!owner) return reply;
      const guildId = 'private' in owner ? null : owner.guildId;
      const place = { ownerId: guildId ?? channelId, guildId, channelId };
      return services.interactions.dismiss(place, messageId, caller.userId);
    },
  }),
  bulk_delete_messages: op({
    method: 'POST',
    path: '/channels/:channel_id/messages/bulk-delete',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_MESSAGES,
    bucket: BULK,
    body: BulkDelete,
    status: 204,
    reply: none,
    handle: ({ params, body, authority }, { channels }) => {
      const messageIds = body.messages;
      return channels.call(params.channel_id, 'bulkDeleteMessages', { messageIds }, authority);
    },
  }),
  crosspost_message: op({
    method: 'POST',
    path: '/channels/:channel_id/messages/:message_id/crosspost',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: PUBLISH,
    status: 200,
    reply: Message,
    handle: async (call, services) => {
      const { channel_id, message_id } = call.params;
      const input = { messageId: message_id };
      const reply = await services.channels.call(channel_id, 'crosspostMessage', input, call.authority);
      return written(call, services, reply);
    },
  }),
  trigger_typing_indicator: op({
    method: 'POST',
    path: '/channels/:channel_id/typing',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'startTyping', {}, authority),
  }),
});
