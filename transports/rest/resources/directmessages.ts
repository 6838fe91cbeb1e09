import { type ApplicationId, isUserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import { DirectMessageChannel } from '../../../protocol/schemas/channel.ts';
import { DirectMessage } from '../../../protocol/schemas/extension.ts';
import {
  Choice,
  Dict,
  Flags,
  Int,
  Nullable,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import type { DirectDraft } from '../../../services/social/ports.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Bucket, op, resource } from '../operation.ts';
import { activities } from './activities.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000, group: 'user messages' } as const;
const WRITE = { per: null, limit: 10, windowMs: 10_000, group: 'user message changes' } as const;

/**
 * Limits of unapproved applications.
 *
 * @source
 * https://docs.discord.com/developers/discord-social-sdk/core-concepts/communication-features#development-rate-limits
 */
const DEVELOPMENT = { limit: 100, windowMs: 7_200_000 } as const;
const SEND: Bucket = { ...WRITE, group: 'user messages sent', development: DEVELOPMENT };

const PAGE = { most: 200, usual: 50 } as const;
const CONTENT_CHARS_MAX = 2_000;
const METADATA = { keys: 25, chars: 1_024 } as const;
const MODERATION = { keys: 5, keyChars: 1_024, chars: 2_000 } as const;

const Activity = Obj({
  type: Choice(1, 5),
  session_id: Optional(Nullable(Str(1, 128))),
  party_id: Optional(Nullable(Str(1, 128))),
});

const SendMessage = Obj({
  content: Optional(Nullable(Str(0, CONTENT_CHARS_MAX))),
  metadata: Optional(Nullable(Dict(Str(0, METADATA.chars), METADATA.keys))),
  flags: Optional(Nullable(Flags())),
  nonce: Optional(Nullable(OneOf(Int(0, Number.MAX_SAFE_INTEGER), Str(0, LIMITS.nonce_chars_max)))),
  activity: Optional(Nullable(Activity)),
  application_id: Optional(Nullable(Snowflake<ApplicationId>())),
});

const EditMessage = Obj({ content: Optional(Nullable(Str(0, CONTENT_CHARS_MAX))) });

/** Checks the length of a map's keys; the schema bounds only its values. */
function longKey(map: Readonly<Record<string, unknown>>, at: string | null, max: number): Refusal | null {
  const key = Object.keys(map).find((name) => [...name].length > max);
  if (key === undefined) return null;
  const message = `Must be ${max} or fewer in length.`;
  return invalidField(at === null ? [] : [at], 'BASE_TYPE_MAX_LENGTH', message);
}

function draftOf({ activity, application_id: _own, ...said }: Static<typeof SendMessage>): DirectDraft {
  if (!activity) return said;
  const { type, session_id: sessionId = null, party_id: partyId = null } = activity;
  return { ...said, activity: { type, sessionId, partyId } };
}

/** The direct-message operations of the platform's OpenAPI. */
export const directMessages = resource({
  update_user_message_external_moderation_metadata: op({
    method: 'PUT',
    path: '/partner-sdk/dms/:user_id_1/:user_id_2/messages/:message_id/moderation-metadata',
    auth: 'bot',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.texts,
    body: Dict(Str(0, MODERATION.chars), MODERATION.keys),
    status: 204,
    reply: none,
    handle: async ({ caller, params, body }, { social }) => {
      const { user_id_1: a, user_id_2: b, message_id } = params;
      // Their names do not end like an id's, so the pipeline has not validated them.
      if (!isUserId(a) || !isUserId(b)) return { ok: false, refusal: refusal('UNKNOWN_USER') };
      if (caller.applicationId === null) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const long = longKey(body, null, MODERATION.keyChars);
      if (long) return { ok: false, refusal: long };
      const between = [a, b] as const;
      return social.messages.moderate(caller.applicationId, between, message_id, body);
    },
  }),
});

/**
 * Direct messages addressed by user id, and moderation metadata. The platform's OpenAPI does not list these
 * routes.
 *
 * @source https://docs.discord.food/resources/message#create-dm-message and
 * https://docs.discord.com/developers/discord-social-sdk/development-guides/sending-direct-messages
 */
export const directMessagesUnlisted = resource({
  list_user_messages: op({
    method: 'GET',
    path: '/users/:user_id/messages',
    auth: 'user',
    scope: 'dm_channels.messages.read',
    bucket: READ,
    query: Obj({ limit: Optional(Int(1, PAGE.most)) }),
    status: 200,
    reply: list(DirectMessage),
    handle: async ({ caller, params, query }, { social }) =>
      await social.messages.list(caller, params.user_id, query.limit ?? PAGE.usual),
  }),

  send_user_message: op({
    method: 'POST',
    path: '/users/:user_id/messages',
    auth: 'user',
    scope: ['dm_channels.messages.write', 'activities.invites.write'],
    bucket: SEND,
    body: SendMessage,
    status: 200,
    reply: DirectMessage,
    handle: async ({ caller, params, body }, { social }) => {
      const long = longKey(body.metadata ?? {}, 'metadata', METADATA.chars);
      if (long) return { ok: false, refusal: long };
      const otherId = params.user_id;
      return await social.messages.send(caller, otherId, draftOf(body));
    },
  }),

  update_user_message: op({
    method: 'PATCH',
    path: '/users/:user_id/messages/:message_id',
    auth: 'user',
    scope: 'dm_channels.messages.write',
    bucket: WRITE,
    body: EditMessage,
    status: 200,
    reply: DirectMessage,
    handle: async ({ caller, params, body }, { social }) => {
      const { user_id, message_id } = params;
      const content = body.content ?? null;
      return await social.messages.edit(caller, user_id, message_id, content);
    },
  }),

  delete_user_message: op({
    method: 'DELETE',
    path: '/users/:user_id/messages/:message_id',
    auth: 'user',
    scope: 'dm_channels.messages.write',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ caller, params }, { social }) =>
      social.messages.remove(caller, params.user_id, params.message_id),
  }),

  get_user_dm_channel: op({
    method: 'GET',
    path: '/users/@me/dms/:user_id',
    auth: 'user',
    scope: 'dm_channels.read',
    bucket: READ,
    status: 200,
    reply: DirectMessageChannel,
    handle: async ({ caller, params }, { social }) => await social.messages.channel(caller, params.user_id),
  }),

  ...activities,
});
