import type { ApplicationId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { answer } from '../answer.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { dropFile, readEmojiImage, withFile } from '../expressionfile.ts';
import { type Bucket, type Caller, op, resource } from '../operation.ts';
import { Obj, Optional } from '../schema.ts';
import { EmojiName, FileData, wrongEmojiName } from './emojis.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: null, limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: null, limit: 50, windowMs: 60_000 };

/** The refusal of a caller that is not the application; null when it is. */
const denied = (caller: Caller, id: ApplicationId) =>
  caller.applicationId === id
    ? null
    : ({ ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') } as const);

/** Operations on an application's own emoji. */
export const applicationEmojis = resource({
  list_application_emojis: op({
    method: 'GET',
    path: '/applications/:application_id/emojis',
    auth: 'bot',
    bucket: READ,
    status: 200,
    handle: async ({ params, caller }, { read }) =>
      denied(caller, params.application_id) ?? {
        ok: true,
        body: { items: await read.expressions.ofApplication(params.application_id) },
      },
  }),
  get_application_emoji: op({
    method: 'GET',
    path: '/applications/:application_id/emojis/:emoji_id',
    auth: 'bot',
    bucket: READ,
    status: 200,
    handle: async ({ params, caller }, { read }) => {
      const no = denied(caller, params.application_id);
      if (no) return no;
      const emojis = await read.expressions.ofApplication(params.application_id);
      const emoji = emojis.find(({ id }) => id === params.emoji_id);
      return emoji ? { ok: true, body: emoji } : { ok: false, refusal: refusal('UNKNOWN_EMOJI') };
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
    handle: async ({ params, body, caller }, { read, blobs, nextId, applicationEmojis: emojis }) => {
      const applicationId = params.application_id;
      const no = denied(caller, applicationId) ?? wrongEmojiName(body.name);
      if (no) return no;
      const image = readEmojiImage(body.image, 'image', LIMITS.emoji_bytes_max);
      if (!image.ok) return image;
      const [user] = await read.users.get([caller.userId]);
      if (!user) return { ok: false, refusal: refusal('UNKNOWN_USER') };
      const id = nextId();
      const draft = { id, name: body.name, animated: image.value.animated, user };
      return answer(
        await withFile(blobs, 'emojis', id, image.value, () => emojis.create(applicationId, draft)),
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
    handle: async ({ params, body, caller }, { applicationEmojis: emojis }) => {
      const no = denied(caller, params.application_id) ?? wrongEmojiName(body.name);
      if (no) return no;
      return answer(await emojis.rename(params.application_id, params.emoji_id, body.name));
    },
  }),
  delete_application_emoji: op({
    method: 'DELETE',
    path: '/applications/:application_id/emojis/:emoji_id',
    auth: 'bot',
    bucket: WRITE,
    status: 204,
    handle: async ({ params, caller }, { blobs, applicationEmojis: emojis }) => {
      const no = denied(caller, params.application_id);
      if (no) return no;
      const reply = await emojis.delete(params.application_id, params.emoji_id);
      if (reply.ok) await dropFile(blobs, 'emojis', params.emoji_id);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});
