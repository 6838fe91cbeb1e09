import type { APIAttachment } from 'discord-api-types/v10';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId } from '../../../protocol/ids.ts';
import { INTERACTION } from '../../../protocol/interactions.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { InteractionCallback as InteractionCallbackObject } from '../../../protocol/schemas/interaction.ts';
import {
  Any,
  Bool,
  Choice,
  Dict,
  Flags,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import type { FileDestination } from '../../../services/channels/messagefiles.ts';
import type { CallbackResult, Invocation } from '../../../services/interactions/ports.ts';
import { localesOf } from '../appcommands.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type BodyBucket, type Bucket, type OperationCall, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { answerWithFiles, InteractionCallback, readCallbackData } from './interactions.callback.ts';
import { type AttachmentNote, newFiles, pairFiles, type UrlParts } from './messages.files.ts';

// The platform publishes no limits for these routes.
const INVOKE: Bucket = { per: null, limit: 40, windowMs: 5_000 };
const INVOKE_ONE: BodyBucket = { of: 'application_id', limit: 20, windowMs: 5_000 };
const ANSWER: Bucket = { per: null, limit: 5, windowMs: 2_000 };

const SESSION_ID_CHARS_MAX = 64;
const DATA_KEYS_MAX = 32;
const EPHEMERAL = 1 << 6;

/** The invocation that user clients send; docs/interactions.md lists its fields. */
const Invoke = Obj({
  type: Choice(2, 3, 4, 5),
  application_id: Snowflake<ApplicationId>(),
  guild_id: Optional(Nullable(Snowflake<GuildId>())),
  channel_id: Snowflake<ChannelId>(),
  session_id: Optional(Nullable(Str(1, SESSION_ID_CHARS_MAX))),
  nonce: Optional(Nullable(Str(0, LIMITS.nonce_chars_max))),
  message_id: Optional(Nullable(Snowflake<MessageId>())),
  message_flags: Optional(Nullable(Flags())),
  data: Dict(Any(), DATA_KEYS_MAX),
});

/** The guild or private channel that owns the channel. @returns 10003 for an unknown channel, or one of another guild. */
async function ownerIdOf(
  { channel_id: channelId, guild_id: guildId = null }: Static<typeof Invoke>,
  { channels }: Services,
): Promise<Reply<string>> {
  const owner = await channels.owner(channelId);
  const isThere = owner && ('private' in owner ? guildId === null : owner.guildId === guildId);
  return isThere
    ? { ok: true, value: guildId ?? channelId }
    : { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
}

type InvokeCall = Pick<
  OperationCall<object, unknown, Static<typeof Invoke>, 'user'>,
  'body' | 'files' | 'publicUrl'
>;

/** Other types name no files; what an autocomplete brings would stay for good, because it is not stored. */
const WITH_FILES: readonly number[] = [INTERACTION.COMMAND, INTERACTION.MODAL_SUBMIT];

/** Stores the files of an invocation's options, by their ids in the request. */
async function storedUploads(
  { body, files }: InvokeCall,
  place: FileDestination & UrlParts,
  { messageFiles }: Services,
): Promise<Reply<Readonly<Record<string, APIAttachment>>>> {
  const { attachments: notes } = body.data;
  if (files.length === 0 || !WITH_FILES.includes(body.type)) return { ok: true, value: {} };
  const paired = pairFiles(files, notesOf(notes));
  if (!paired.ok) return paired;
  const stored = await messageFiles.store(place, newFiles(place, paired.value));
  if (!stored.ok) return stored;
  const entries = paired.value.files.flatMap(({ note }, index) => {
    const file = stored.value[index];
    return note && file ? [[note.id, file] as const] : [];
  });
  return { ok: true, value: Object.fromEntries(entries) };
}

const isNote = (note: unknown): note is AttachmentNote =>
  typeof note === 'object' &&
  note !== null &&
  'id' in note &&
  (typeof note.id === 'string' || typeof note.id === 'number') &&
  /^\d{1,19}$/.test(String(note.id));

function notesOf(notes: unknown): readonly AttachmentNote[] {
  const all: readonly unknown[] = Array.isArray(notes)
    ? notes.slice(0, LIMITS.attachments_per_message_max)
    : [];
  return all.filter(isNote).map((note) => ({ id: String(note.id) }));
}

/** The object that reports to the application how its callback was answered. */
async function callbackBody(
  id: string,
  { type, written, isLoading, isEphemeral, activityInstanceId }: CallbackResult,
  callbackType: number,
  { presentMessages }: Services,
): Promise<object> {
  const named = { id, type };
  if (activityInstanceId !== null) {
    const activity = { id: activityInstanceId };
    return {
      interaction: { ...named, activity_instance_id: activityInstanceId },
      resource: { type: callbackType, activity_instance: activity },
    };
  }
  if (!written) return { interaction: named };
  const { message, ownerId, guildId } = written;
  const caller = {
    kind: 'bot',
    ...{ userId: message.author.id, applicationId: null, applicationFlags: 0, authorization: null },
  } as const;
  const view = { caller, ownerId, guildId, channelId: message.channel_id };
  const [body] = await presentMessages(view, [message]);
  return {
    interaction: {
      ...named,
      response_message_id: message.id,
      response_message_loading: isLoading,
      response_message_ephemeral: isEphemeral,
    },
    resource: { type: callbackType, message: body },
  };
}

/** Operations by which applications answer. */
export const interactions = resource({
  create_interaction_response: op({
    method: 'POST',
    path: '/interactions/:interaction_id/:interaction_token/callback',
    auth: 'none',
    bucket: ANSWER,
    bodyBytesMax: BODY_BYTES.message,
    query: Obj({ with_response: Optional(Bool()) }),
    body: InteractionCallback,
    multipart: 'raised',
    status: 204,
    reply: none,
    also: { 200: InteractionCallbackObject },
    handle: async (call, services): Promise<Answer> => {
      const { interaction_id: id, interaction_token: token } = call.params;
      const read = readCallbackData(call.body, call.files);
      if (!read.ok) return read;
      const place = await services.interactions.placeOf(token);
      if (!place) return { ok: false, refusal: refusal('UNKNOWN_INTERACTION') };
      const { nextId, uploads, messageFiles } = services;
      const { channelId, userId } = place;
      const fits = (bytes: number) => uploads.fits(bytes, channelId, userId);
      const filePlace = { nextId, channelId, publicUrl: call.publicUrl, fits };
      const answered = await answerWithFiles(messageFiles, filePlace, read.value, (callback) =>
        services.interactions.answer(id, token, callback),
      );
      if (!answered.ok) return answered;
      if (!call.query.with_response) return { ok: true };
      return {
        ok: true,
        status: 200,
        value: await callbackBody(id, answered.value, call.body.type, services),
      };
    },
  }),
});

/** Operations of people's clients. */
export const interactionsUnlisted = resource({
  create_interaction: op({
    method: 'POST',
    path: '/interactions',
    auth: 'user',
    bucket: INVOKE,
    bodyBucket: INVOKE_ONE,
    bodyBytesMax: BODY_BYTES.message,
    body: Invoke,
    multipart: 'raised',
    status: 204,
    reply: none,
    handle: async (call, services) => {
      const { body, caller, publicUrl } = call;
      const [locale = 'en-US', ...others] = localesOf(call.locales);
      const ownerId = await ownerIdOf(body, services);
      if (!ownerId.ok) return ownerId;
      const fits = (bytes: number) => services.uploads.fits(bytes, body.channel_id, caller.userId);
      const place = { nextId: services.nextId, channelId: body.channel_id, publicUrl, fits };
      const uploads = await storedUploads(call, place, services);
      if (!uploads.ok) return uploads;
      const invocation: Invocation = {
        type: body.type,
        applicationId: body.application_id,
        ownerId: ownerId.value,
        guildId: body.guild_id ?? null,
        channelId: body.channel_id,
        userId: caller.userId,
        sessionId: body.session_id ?? '',
        nonce: body.nonce || null,
        locales: [locale, ...others],
        messageId: body.message_id ?? null,
        isEphemeral: ((body.message_flags ?? 0) & EPHEMERAL) !== 0,
        data: body.data,
        uploads: uploads.value,
      };
      const reply = await services.interactions.invoke(invocation);
      if (!reply.ok || reply.value === 'repeated')
        await services.messageFiles.discard(place, Object.values(uploads.value));
      return reply.ok ? { ok: true } : reply;
    },
  }),
});
