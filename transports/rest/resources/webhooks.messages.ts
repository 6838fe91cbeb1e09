import type { MessageDraft, Written } from '../../../engine/channel/draft.ts';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Report } from '../../../engine/webhook/report.ts';
import type { ChannelId, WebhookId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Message } from '../../../protocol/schemas/message.ts';
import {
  Arr,
  Bool,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
  Url,
} from '../../../protocol/schemas/request.ts';
import { none, text } from '../../../protocol/schemas/schema.ts';
import type { TokenMessageId, TokenTarget } from '../../../services/webhooks/ports.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Bucket, type OperationCall, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { keptBy, newFiles, type Paired, pairFiles } from './messages.files.ts';
import { EditWritten, WrittenMessage } from './messages.schema.ts';
import { GithubBody, Reports, SlackBody } from './webhooks.reports.ts';

// The platform publishes no limits for these routes; the values follow its observed headers.
const EXECUTE: Bucket = { per: 'webhook_id', limit: 5, windowMs: 2_000, group: 'execute_webhook' };
const MESSAGE: Bucket = { per: 'webhook_id', limit: 5, windowMs: 2_000 };

const AVATAR_URL_CHARS_MAX = 2_048;

/** @source https://docs.discord.com/developers/resources/webhook#execute-webhook */
const ExecuteWebhook = Obj({
  ...WrittenMessage,
  username: Optional(Nullable(NameText(1, LIMITS.webhook_name_chars_max))),
  avatar_url: Optional(Nullable(Url(AVATAR_URL_CHARS_MAX))),
  thread_name: Optional(Nullable(Str(0, LIMITS.channel_name_chars_max))),
  applied_tags: Optional(Nullable(Arr(Snowflake(), LIMITS.applied_tags_max))),
});

const InThread = Obj({ thread_id: Optional(Snowflake<ChannelId>()) });
const Edits = Obj({
  thread_id: Optional(Snowflake<ChannelId>()),
  with_components: Optional(Bool()),
});
const Executes = Obj({
  wait: Optional(Bool()),
  thread_id: Optional(Snowflake<ChannelId>()),
  with_components: Optional(Bool()),
});

type TokenCall = Pick<
  OperationCall<
    { readonly webhook_id: WebhookId; readonly webhook_token: string },
    { readonly thread_id?: ChannelId; readonly with_components?: boolean },
    unknown,
    'none'
  >,
  'params' | 'query' | 'files' | 'publicUrl'
>;

/**
 * The target of the path's token. @returns 10015 for an unknown id or an interaction without an answer, 50027 for a
 * wrong token.
 */
async function targetOf({ params }: TokenCall, { tokenMessages }: Services): Promise<Reply<TokenTarget>> {
  const { webhook_id: id, webhook_token: token } = params;
  const found = await tokenMessages.find(id, token);
  if (found) return found;
  const isKnown = await tokenMessages.knows(id);
  return { ok: false, refusal: refusal(isKnown ? 'INVALID_WEBHOOK_TOKEN' : 'UNKNOWN_WEBHOOK') };
}

/** A message as its own author reads it. */
async function presented(
  { params }: TokenCall,
  { presentMessages }: Services,
  { ownerId, guildId }: TokenTarget,
  message: StoredMessage,
  known: readonly StoredMessage[] = [],
): Promise<Answer> {
  // The author of a webhook's messages has the webhook's id.
  const caller = { kind: 'user', userId: params.webhook_id, applicationFlags: 0 } as const;
  const [body] = await presentMessages(
    { caller, ownerId, guildId, channelId: message.channel_id },
    [message],
    known,
  );
  return { ok: true, value: body };
}

const shown = (
  call: TokenCall,
  services: Services,
  target: TokenTarget,
  { message, referenced }: Written,
): Promise<Answer> => presented(call, services, target, message, referenced ? [referenced] : []);

/** Where the query's thread is, if it names one. */
const inThread = ({ query }: TokenCall) =>
  query.thread_id === undefined ? {} : { threadId: query.thread_id };

const filePlaceOf = (
  { publicUrl, query }: TokenCall,
  { nextId, uploads }: Services,
  { channelId, userId, waits }: TokenTarget,
  postId?: ChannelId,
) => ({
  ...{ nextId, publicUrl },
  fits: (bytes: number) => uploads.fits(bytes, channelId, userId),
  // A follow-up is sent where its interaction began, whatever thread the request names.
  channelId: waits ? channelId : (postId ?? query.thread_id ?? channelId),
});

/** A message to send under the path's token, before its files are stored. */
interface Sending {
  readonly draft: MessageDraft;
  readonly paired: Paired;
  readonly username?: string | null | undefined;
  readonly avatarUrl?: string | null | undefined;
  readonly threadName?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
}

async function sent(
  call: TokenCall & { readonly query: { readonly wait?: boolean } },
  { draft, paired, username, avatarUrl, threadName, tags }: Sending,
  services: Services,
): Promise<Answer> {
  const target = await targetOf(call, services);
  if (!target.ok) return target;
  const post =
    threadName == null ? null : { id: services.nextId(), name: threadName, applied_tags: tags ?? [] };
  // An answer to an interaction has the avatar of its application.
  const takesAvatar = avatarUrl != null && !target.value.waits;
  const avatar = takesAvatar ? await services.webhookAvatars.at(call.params.webhook_id, avatarUrl) : null;
  const message = {
    draft,
    withComponents: call.query.with_components ?? false,
    ...inThread(call),
    ...(username == null ? {} : { username }),
    ...(avatar !== null && { avatar }),
    ...(post && { post }),
  };
  const place = filePlaceOf(call, services, target.value, post?.id);
  const files = { files: newFiles(place, paired), forward: null };
  const reply = await services.messageFiles.using(place, files, (attachments) =>
    target.value.execute({ ...message, attachments }),
  );
  if (!reply.ok) return reply;
  if (!target.value.waits && !call.query.wait) return { ok: true, status: 204 };
  return shown(call, services, target.value, reply.value);
}

/** Sends the report of another service, which cannot name a forum's thread. */
async function reported(call: TokenCall, report: Report, services: Services): Promise<Answer> {
  const { username, avatarUrl, ...draft } = report;
  const paired: Paired = { files: [], rest: [] };
  const answer = await sent(call, { draft, username, avatarUrl, paired }, services);
  const needsThread = !answer.ok && answer.refusal.code === refusal('WEBHOOK_NEEDS_THREAD').code;
  return needsThread ? { ok: false, refusal: refusal('WEBHOOK_SERVICES_NOT_IN_FORUMS') } : answer;
}

async function got(call: TokenCall, id: TokenMessageId, services: Services): Promise<Answer> {
  const target = await targetOf(call, services);
  if (!target.ok) return target;
  const message = await target.value.get(id, call.query.thread_id);
  return message.ok ? presented(call, services, target.value, message.value) : message;
}

async function edited(
  call: TokenCall,
  id: TokenMessageId,
  body: Static<typeof EditWritten>,
  services: Services,
): Promise<Answer> {
  const { attachments: notes, ...edit } = body;
  const paired = pairFiles(call.files, notes);
  if (!paired.ok) return paired;
  const target = await targetOf(call, services);
  if (!target.ok) return target;
  const change = {
    edit,
    keep: keptBy(body, paired.value),
    withComponents: call.query.with_components ?? false,
    ...inThread(call),
  };
  const place = filePlaceOf(call, services, target.value);
  const files = { files: newFiles(place, paired.value), forward: null };
  const reply = await services.messageFiles.using(place, files, (attachments) =>
    target.value.edit(id, { ...change, attachments }),
  );
  return reply.ok ? shown(call, services, target.value, reply.value) : reply;
}

async function removed(call: TokenCall, id: TokenMessageId, services: Services): Promise<Answer> {
  const target = await targetOf(call, services);
  return target.ok ? target.value.delete(id, call.query.thread_id) : target;
}

/** Messages of webhooks, and answers to interactions, under the token in the path. */
export const webhookMessages = resource({
  execute_webhook: op({
    method: 'POST',
    path: '/webhooks/:webhook_id/:webhook_token',
    auth: 'none',
    bucket: EXECUTE,
    bodyBytesMax: BODY_BYTES.message,
    query: Executes,
    body: ExecuteWebhook,
    multipart: 'raised',
    form: true,
    status: 200,
    reply: Message,
    also: { 204: none },
    handle: async (call, services) => {
      const {
        attachments,
        username,
        avatar_url: avatarUrl,
        thread_name,
        applied_tags: tags,
        ...draft
      } = call.body;
      const paired = pairFiles(call.files, attachments);
      if (!paired.ok) return paired;
      if (paired.value.rest.length > 0) return { ok: false, refusal: refusal('UPLOADED_FILE_NOT_FOUND') };
      const sending = { draft, paired: paired.value, username, avatarUrl, threadName: thread_name, tags };
      return sent(call, sending, services);
    },
  }),
  execute_slack_compatible_webhook: op({
    method: 'POST',
    path: '/webhooks/:webhook_id/:webhook_token/slack',
    auth: 'none',
    bucket: EXECUTE,
    bodyBytesMax: BODY_BYTES.report,
    query: Reports,
    body: SlackBody,
    multipart: 'raised',
    form: true,
    text: true,
    status: 200,
    reply: text,
    handle: async (call, services) => {
      const answer = await reported(call, services.webhooks.slack(call.body), services);
      return answer.ok ? { ok: true, status: 200, value: 'ok' } : answer;
    },
  }),
  execute_github_compatible_webhook: op({
    method: 'POST',
    path: '/webhooks/:webhook_id/:webhook_token/github',
    auth: 'none',
    bucket: EXECUTE,
    bodyBytesMax: BODY_BYTES.report,
    query: Reports,
    body: GithubBody,
    form: true,
    status: 204,
    reply: none,
    handle: async (call, services) => {
      const report = services.webhooks.github(call.body);
      const answer = report ? await reported(call, report, services) : await targetOf(call, services);
      return answer.ok ? { ok: true } : answer;
    },
  }),
  get_original_webhook_message: op({
    method: 'GET',
    path: '/webhooks/:webhook_id/:webhook_token/messages/@original',
    auth: 'none',
    bucket: MESSAGE,
    query: InThread,
    status: 200,
    reply: Message,
    handle: (call, services) => got(call, '@original', services),
  }),
  update_original_webhook_message: op({
    method: 'PATCH',
    path: '/webhooks/:webhook_id/:webhook_token/messages/@original',
    auth: 'none',
    bucket: MESSAGE,
    bodyBytesMax: BODY_BYTES.message,
    query: Edits,
    body: EditWritten,
    multipart: 'raised',
    status: 200,
    reply: Message,
    handle: (call, services) => edited(call, '@original', call.body, services),
  }),
  delete_original_webhook_message: op({
    method: 'DELETE',
    path: '/webhooks/:webhook_id/:webhook_token/messages/@original',
    auth: 'none',
    bucket: MESSAGE,
    query: InThread,
    status: 204,
    reply: none,
    handle: (call, services) => removed(call, '@original', services),
  }),
  get_webhook_message: op({
    method: 'GET',
    path: '/webhooks/:webhook_id/:webhook_token/messages/:message_id',
    auth: 'none',
    bucket: MESSAGE,
    query: InThread,
    status: 200,
    reply: Message,
    handle: (call, services) => got(call, call.params.message_id, services),
  }),
  update_webhook_message: op({
    method: 'PATCH',
    path: '/webhooks/:webhook_id/:webhook_token/messages/:message_id',
    auth: 'none',
    bucket: MESSAGE,
    bodyBytesMax: BODY_BYTES.message,
    query: Edits,
    body: EditWritten,
    multipart: 'raised',
    status: 200,
    reply: Message,
    handle: (call, services) => edited(call, call.params.message_id, call.body, services),
  }),
  delete_webhook_message: op({
    method: 'DELETE',
    path: '/webhooks/:webhook_id/:webhook_token/messages/:message_id',
    auth: 'none',
    bucket: MESSAGE,
    query: InThread,
    status: 204,
    reply: none,
    handle: (call, services) => removed(call, call.params.message_id, services),
  }),
});
