import { LIMITS } from '../../../protocol/limits.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { ApplicationEmojis, Emoji } from '../../../protocol/schemas/expression.ts';
import { Obj, Optional } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { readEmojiImage } from '../expressionfile.ts';
import { type Bucket, op, resource } from '../operation.ts';
import { EmojiName, FileData, wrongEmojiName } from './emojis.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: null, limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: null, limit: 50, windowMs: 60_000 };

/** Operations on an application's own emoji. */
export const applicationEmojis = resource({
  list_application_emojis: op({
    method: 'GET',
    path: '/applications/:application_id/emojis',
    auth: 'bot',
    bucket: READ,
    status: 200,
    reply: ApplicationEmojis,
    handle: async ({ params, caller }, { applicationAccess, read }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      return { ok: true, value: { items: await read.expressions.ofApplication(params.application_id) } };
    },
  }),
  get_application_emoji: op({
    method: 'GET',
    path: '/applications/:application_id/emojis/:emoji_id',
    auth: 'bot',
    bucket: READ,
    status: 200,
    reply: Emoji,
    handle: async ({ params, caller }, { applicationAccess, read }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const emojis = await read.expressions.ofApplication(params.application_id);
      const emoji = emojis.find(({ id }) => id === params.emoji_id);
      return emoji ? { ok: true, value: emoji } : { ok: false, refusal: refusal('UNKNOWN_EMOJI') };
    },
  }),
  create_application_emoji: op({
    method: 'POST',
    path: '/applications/:application_id/emojis',
    auth: 'bot',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.expression,
    body: Obj({ name: EmojiName(), image: FileData() }),
    status: 201,
    reply: Emoji,
    handle: async ({ params, body, caller }, services) => {
      const { applicationAccess, read, expressionFiles, nextId, applicationEmojis: emojis } = services;
      const applicationId = params.application_id;
      const no = applicationAccess.applicationRefusal(caller, applicationId);
      if (no) return { ok: false, refusal: no };
      const wrong = wrongEmojiName(body.name);
      if (wrong) return wrong;
      const image = readEmojiImage(body.image, 'image', LIMITS.emoji_bytes_max);
      if (!image.ok) return image;
      const [user] = await read.users.get([caller.userId]);
      if (!user) return { ok: false, refusal: refusal('UNKNOWN_USER') };
      const id = nextId();
      const draft = { id, name: body.name, animated: image.value.animated, user };
      return await expressionFiles.using('emojis', id, image.value, () =>
        emojis.create(applicationId, draft),
      );
    },
  }),
  update_application_emoji: op({
    method: 'PATCH',
    path: '/applications/:application_id/emojis/:emoji_id',
    auth: 'bot',
    bucket: WRITE,
    body: Obj({ name: Optional(EmojiName()) }),
    status: 200,
    reply: Emoji,
    handle: async ({ params, body, caller }, { applicationAccess, applicationEmojis: emojis }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const wrong = wrongEmojiName(body.name);
      if (wrong) return wrong;
      return await emojis.rename(params.application_id, params.emoji_id, body.name);
    },
  }),
  delete_application_emoji: op({
    method: 'DELETE',
    path: '/applications/:application_id/emojis/:emoji_id',
    auth: 'bot',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, caller }, { applicationAccess, expressionFiles, applicationEmojis: emojis }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const reply = await emojis.delete(params.application_id, params.emoji_id);
      if (reply.ok) await expressionFiles.delete('emojis', params.emoji_id);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});
