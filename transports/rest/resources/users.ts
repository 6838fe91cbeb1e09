import type { APIGuildMember, APIUser } from 'discord-api-types/v10';
import type { PrivateChannel } from '../../../engine/user/facts.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { compareIds } from '../../../protocol/ids.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import { ownUserBody, userBody } from '../accounts.ts';
import { saveImage } from '../image.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';
import { Bool, ImageData, Int, Nullable, Obj, Optional, Snowflake, Str } from '../schema.ts';
import type { Services } from '../services.ts';

const READ = { per: null, limit: 30, windowMs: 10_000 } as const;
const GUILDS_PER_PAGE_MAX = 200;

const UpdateUser = Obj({
  username: Optional(Str(2, 32)),
  avatar: Optional(Nullable(ImageData())),
  banner: Optional(Nullable(ImageData())),
});

const GuildsPage = Obj({
  before: Optional(Snowflake()),
  after: Optional(Snowflake()),
  limit: Optional(Int(1, GUILDS_PER_PAGE_MAX)),
  with_counts: Optional(Bool()),
});

export const users = resource({
  get_my_user: op({
    method: 'GET',
    path: '/users/@me',
    auth: 'any',
    scope: 'identify',
    bucket: READ,
    status: 200,
    async handle({ caller }, services) {
      const [user] = await services.read.users.get([caller.userId]);
      return user ? { ok: true, body: await ownBody(user, caller, services) } : unknownUser();
    },
  }),

  get_user: op({
    method: 'GET',
    path: '/users/:user_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    async handle({ params }, { read }) {
      const [user] = await read.users.get([params.user_id as UserId]);
      return user ? { ok: true, body: userBody(user) } : unknownUser();
    },
  }),

  update_my_user: op({
    method: 'PATCH',
    path: '/users/@me',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    body: UpdateUser,
    status: 200,
    async handle({ body, caller }, services) {
      const { users, blobs } = services;
      const change: { username?: string; avatar?: string | null; banner?: string | null } = {};
      if (body.username !== undefined) change.username = body.username;
      for (const field of ['avatar', 'banner'] as const) {
        const image = body[field];
        if (image === undefined) continue;
        const saved =
          image === null ? null : await saveImage(blobs, `${field}s`, caller.userId, image, field);
        if (saved && !saved.ok) return saved;
        change[field] = saved?.value ?? null;
      }
      const reply = await users.updateUser(caller.userId, change);
      return reply.ok ? { ok: true, body: await ownBody(reply.value, caller, services) } : reply;
    },
  }),

  list_my_guilds: op({
    method: 'GET',
    path: '/users/@me/guilds',
    auth: 'any',
    scope: 'guilds',
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    query: GuildsPage,
    status: 200,
    async handle({ query, caller, authority }, services) {
      const { before, after, limit = GUILDS_PER_PAGE_MAX, with_counts: withCounts = false } = query;
      const ids = (await services.read.users.guildIds(caller.userId))
        .filter((id) => before === undefined || compareIds(id, before) < 0)
        .filter((id) => after === undefined || compareIds(id, after) > 0);
      // Towards `before` the page is the one that ends there; otherwise it begins after `after`.
      const page = before !== undefined && after === undefined ? ids.slice(-limit) : ids.slice(0, limit);
      const replies = await Promise.all(
        page.map((id) => services.guilds.call(id, 'myGuild', { withCounts }, authority)),
      );
      // A guild that was left or went away meanwhile is simply not in the list.
      return { ok: true, body: replies.flatMap((reply) => (reply.ok ? [reply.value] : [])) };
    },
  }),

  leave_guild: op({
    method: 'DELETE',
    path: '/users/@me/guilds/:guild_id',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    status: 204,
    handle: ({ params, authority }, { guilds }) =>
      guilds.call(params.guild_id as GuildId, 'leaveGuild', {}, authority),
  }),

  get_my_guild_member: op({
    method: 'GET',
    path: '/users/@me/guilds/:guild_id/member',
    auth: 'any',
    scope: 'guilds.members.read',
    bucket: { per: 'guild_id', limit: 10, windowMs: 10_000 },
    status: 200,
    async handle({ params, caller, authority }, { guilds }) {
      const input = { userId: caller.userId };
      const reply = await guilds.call(params.guild_id as GuildId, 'getMember', input, authority);
      return reply.ok ? { ok: true, body: memberBody(reply.value) } : reply;
    },
  }),

  create_dm: op({
    method: 'POST',
    path: '/users/@me/channels',
    auth: 'any',
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    body: Obj({ recipient_id: Optional(Nullable(Snowflake())) }),
    status: 200,
    handle: ({ body, caller }, services) => openChannel(caller.userId, body.recipient_id, services),
  }),
});

/** The caller's own account, as far as the caller may see it. */
async function ownBody(user: APIUser, { kind, authorization }: Caller, services: Services): Promise<object> {
  const scopes = authorization?.scopes ?? null;
  const hasContact = kind === 'user' && (scopes === null || scopes.has('email'));
  const contact = hasContact ? await services.accounts.contact(user.id as UserId) : null;
  return ownUserBody(user, { scopes, contact });
}

const unknownUser = (): Answer => ({ ok: false, refusal: refusal('UNKNOWN_USER') });

async function openChannel(
  userId: UserId,
  recipientId: string | null | undefined,
  { read, users }: Services,
): Promise<Answer> {
  if (recipientId == null)
    return {
      ok: false,
      refusal: invalidField(['recipient_id'], 'BASE_TYPE_REQUIRED', 'This field is required'),
    };
  if (recipientId === userId) return { ok: false, refusal: refusal('INVALID_RECIPIENTS') };
  const [recipient] = await read.users.get([recipientId as UserId]);
  if (!recipient) return { ok: false, refusal: refusal('INVALID_RECIPIENTS') };
  const reply = await users.openPrivateChannel(userId, recipientId as UserId);
  if (!reply.ok) return reply;
  return { ok: true, body: privateChannelBody(reply.value, recipient) };
}

function privateChannelBody(channel: PrivateChannel, recipient: APIUser): object {
  const { id, type, last_message_id, last_pin_ms: pinnedMs } = channel;
  return {
    id,
    type,
    last_message_id,
    flags: 0,
    ...(pinnedMs === null ? {} : { last_pin_timestamp: new Date(pinnedMs).toISOString() }),
    recipients: [userBody(recipient)],
  };
}

/** A member of one's own, with every key the wire's object always has. */
function memberBody(member: APIGuildMember): object {
  return {
    avatar: null,
    banner: null,
    communication_disabled_until: null,
    nick: null,
    pending: false,
    premium_since: null,
    ...member,
    user: userBody(member.user),
  };
}
