import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { Webhook } from '../../../engine/webhook/webhook.ts';
import type { ChannelId, WebhookId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { ChannelFollower } from '../../../protocol/schemas/channel.ts';
import {
  ImageData,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { GuildIncomingWebhook, Webhook as WebhookObject } from '../../../protocol/schemas/webhook.ts';
import type { Webhooks } from '../../../services/webhooks/ports.ts';
import { userBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Answer, type Bucket, type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { webhookMessages } from './webhooks.messages.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 10, windowMs: 5_000 };
const CREATE: Bucket = { per: 'channel_id', limit: 5, windowMs: 10_000 };
const GUILD_READ: Bucket = { per: 'guild_id', limit: 10, windowMs: 5_000 };
const ONE_READ: Bucket = { per: 'webhook_id', limit: 10, windowMs: 5_000 };
const ONE_WRITE: Bucket = { per: 'webhook_id', limit: 5, windowMs: 5_000 };

const Name = NameText(1, LIMITS.webhook_name_chars_max);
const CreateWebhook = Obj({ name: Name, avatar: Optional(Nullable(ImageData())) });
const ByToken = Obj({ name: Optional(Name), avatar: Optional(Nullable(ImageData())) });
const UpdateWebhook = Obj({
  name: Optional(Name),
  avatar: Optional(Nullable(ImageData())),
  channel_id: Optional(Nullable(Snowflake<ChannelId>())),
});

interface Shows {
  /** Null when the caller presented the token. */
  readonly caller: Caller | null;
  readonly publicUrl: string;
}

/** A webhook as the caller sees it. A caller with the token does not see who created it. */
function bodyOf(
  webhook: Webhook,
  { caller, publicUrl }: Shows,
  webhooks: Pick<Webhooks, 'tokenFor'>,
): object {
  const { user, ...rest } = webhook;
  const created = user && caller !== null ? { user: userBody(user) } : {};
  const token = webhooks.tokenFor(webhook, caller);
  if (token === null) return { ...rest, ...created };
  return { ...rest, ...created, token, url: `${publicUrl}/api/webhooks/${webhook.id}/${token}` };
}

/** The hash of a new avatar, stored; absent when the request has none. */
async function stored(
  avatar: string | null | undefined,
  id: WebhookId,
  { blobs }: Pick<Services, 'blobs'>,
): Promise<Reply<{ readonly avatar?: string | null }>> {
  if (avatar === undefined || avatar === null) return { ok: true, value: avatar === null ? { avatar } : {} };
  const hash = await saveImage(blobs, 'avatars', id, avatar, 'avatar');
  return hash.ok ? { ok: true, value: { avatar: hash.value } } : hash;
}

/** Changes a webhook that the caller may change; the check comes before the image is stored. */
async function updated(
  id: WebhookId,
  { name, avatar, channel_id }: Partial<Static<typeof UpdateWebhook>>,
  authority: Authority | null,
  services: Services,
): Promise<Reply<Webhook>> {
  if (avatar && authority) {
    const may = await services.webhooks.get(id, authority);
    if (!may.ok) return may;
  }
  const image = await stored(avatar, id, services);
  if (!image.ok) return image;
  const change = { ...(name === undefined ? {} : { name }), ...image.value };
  const moved = channel_id ? { channelId: channel_id } : {};
  return services.webhooks.update(id, { ...change, ...moved }, authority);
}

const shown = (reply: Reply<Webhook>, shows: Shows, { webhooks }: Pick<Services, 'webhooks'>): Answer =>
  reply.ok ? { ok: true, value: bodyOf(reply.value, shows, webhooks) } : reply;

const listed = (
  reply: Reply<readonly Webhook[]>,
  shows: Shows,
  { webhooks }: Pick<Services, 'webhooks'>,
): Answer =>
  reply.ok ? { ok: true, value: reply.value.map((each) => bodyOf(each, shows, webhooks)) } : reply;

/** Operations on webhooks, and on messages under their tokens. */
export const webhooks = resource({
  ...webhookMessages,
  list_channel_webhooks: op({
    method: 'GET',
    path: '/channels/:channel_id/webhooks',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    bucket: READ,
    status: 200,
    reply: list(WebhookObject),
    handle: async ({ params, authority, ...shows }, services) => {
      const { channels } = services;
      return listed(
        await channels.call(params.channel_id, 'listChannelWebhooks', {}, authority),
        shows,
        services,
      );
    },
  }),
  create_webhook: op({
    method: 'POST',
    path: '/channels/:channel_id/webhooks',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    bucket: CREATE,
    bodyBytesMax: BODY_BYTES.image,
    body: CreateWebhook,
    status: 200,
    reply: GuildIncomingWebhook,
    handle: async ({ params, body, authority, ...shows }, services) => {
      const { channels, nextId } = services;
      const id: WebhookId = nextId();
      if (body.avatar) {
        const may = await channels.call(params.channel_id, 'listChannelWebhooks', {}, authority);
        if (!may.ok) return may;
      }
      const image = await stored(body.avatar, id, services);
      if (!image.ok) return image;
      const input = { id, name: body.name, avatar: image.value.avatar ?? null };
      return shown(
        await channels.call(params.channel_id, 'createWebhook', input, authority),
        shows,
        services,
      );
    },
  }),
  follow_channel: op({
    method: 'POST',
    path: '/channels/:channel_id/followers',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: CREATE,
    body: Obj({ webhook_channel_id: Snowflake<ChannelId>() }),
    status: 200,
    reply: ChannelFollower,
    handle: async ({ params, body, authority }, { channels, nextId }) => {
      const described = await channels.call(params.channel_id, 'describeFollowed', {}, authority);
      if (!described.ok) return described;
      const there = { ...authority, requires: P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS };
      const input = { id: nextId(), followed: described.value };
      const made = await channels.call(body.webhook_channel_id, 'followChannel', input, there);
      if (!made.ok) return made;
      return { ok: true, value: { channel_id: params.channel_id, webhook_id: made.value.id } };
    },
  }),
  get_guild_webhooks: op({
    method: 'GET',
    path: '/guilds/:guild_id/webhooks',
    auth: 'any',
    permission: P.MANAGE_WEBHOOKS,
    bucket: GUILD_READ,
    status: 200,
    reply: list(WebhookObject),
    handle: async ({ params, authority, ...shows }, services) =>
      listed(
        await services.guilds.call(params.guild_id, 'listGuildWebhooks', {}, authority),
        shows,
        services,
      ),
  }),
  get_webhook: op({
    method: 'GET',
    path: '/webhooks/:webhook_id',
    auth: 'any',
    bucket: ONE_READ,
    status: 200,
    reply: WebhookObject,
    handle: async ({ params, authority, ...shows }, services) =>
      shown(await services.webhooks.get(params.webhook_id, authority), shows, services),
  }),
  update_webhook: op({
    method: 'PATCH',
    path: '/webhooks/:webhook_id',
    auth: 'any',
    bucket: ONE_WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateWebhook,
    status: 200,
    reply: WebhookObject,
    handle: async ({ params, body, authority, ...shows }, services) =>
      shown(await updated(params.webhook_id, body, authority, services), shows, services),
  }),
  delete_webhook: op({
    method: 'DELETE',
    path: '/webhooks/:webhook_id',
    auth: 'any',
    bucket: ONE_WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { webhooks }) => webhooks.remove(params.webhook_id, authority),
  }),
  get_webhook_by_token: op({
    method: 'GET',
    path: '/webhooks/:webhook_id/:webhook_token',
    auth: 'none',
    bucket: ONE_READ,
    status: 200,
    reply: WebhookObject,
    handle: async ({ params, publicUrl }, services) => {
      const { webhook_id: id, webhook_token: token } = params;
      return shown(await services.webhooks.authenticate(id, token), { caller: null, publicUrl }, services);
    },
  }),
  update_webhook_by_token: op({
    method: 'PATCH',
    path: '/webhooks/:webhook_id/:webhook_token',
    auth: 'none',
    bucket: ONE_WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: ByToken,
    status: 200,
    reply: WebhookObject,
    handle: async ({ params, body, publicUrl }, services) => {
      const { webhook_id: id, webhook_token: token } = params;
      const may = await services.webhooks.authenticate(id, token);
      if (!may.ok) return may;
      return shown(await updated(id, body, null, services), { caller: null, publicUrl }, services);
    },
  }),
  delete_webhook_by_token: op({
    method: 'DELETE',
    path: '/webhooks/:webhook_id/:webhook_token',
    auth: 'none',
    bucket: ONE_WRITE,
    status: 204,
    reply: none,
    handle: async ({ params }, { webhooks }) => {
      const { webhook_id: id, webhook_token: token } = params;
      const may = await webhooks.authenticate(id, token);
      return may.ok ? webhooks.remove(id, null) : may;
    },
  }),
});
