import type { Member } from '../../../engine/guild/guild.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { PrivateChannel } from '../../../engine/user/facts.ts';
import { compareIds, type UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import { PrivateChannel as PrivateChannelObject } from '../../../protocol/schemas/channel.ts';
import { OwnGuild } from '../../../protocol/schemas/guild.ts';
import { Member as MemberObject } from '../../../protocol/schemas/member.ts';
import {
  Arr,
  Bool,
  Dict,
  ImageData,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { OwnUser, User } from '../../../protocol/schemas/user.ts';
import { ownUser, userBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

const READ = { per: null, limit: 30, windowMs: 10_000 } as const;
const GUILDS_PER_PAGE_MAX = 200;
/** As published; tighter bounds are checked with the rules. */
const [TEXT_CHARS_MAX, LIST_MAX] = [152_133, 1_521];

const UpdateUser = Obj({
  username: Optional(NameText(2, 32)),
  password: Optional(Str(0, 1024)),
  avatar: Optional(Nullable(ImageData())),
  banner: Optional(Nullable(ImageData())),
});

const GuildsPage = Obj({
  before: Optional(Snowflake()),
  after: Optional(Snowflake()),
  limit: Optional(Int(1, GUILDS_PER_PAGE_MAX)),
  with_counts: Optional(Bool()),
});

const OpenChannel = Obj({
  recipient_id: Optional(Nullable(Snowflake<UserId>())),
  recipients: Optional(Nullable(Arr(Snowflake<UserId>(), LIMITS.group_dm_recipients_max))),
  // Only bots may: they open a group of users who let them.
  access_tokens: Optional(Nullable(Arr(Str(0, TEXT_CHARS_MAX), LIST_MAX))),
  nicks: Optional(Nullable(Dict(Nullable(Str(0, TEXT_CHARS_MAX)), LIST_MAX))),
});

export const users = resource({
  get_my_user: op({
    method: 'GET',
    path: '/users/@me',
    auth: 'any',
    scope: 'identify',
    bucket: READ,
    status: 200,
    reply: OwnUser,
    async handle({ caller }, services) {
      const user = await services.users.account(caller.userId);
      return user ? { ok: true, value: await ownBody(user, caller, services) } : unknownUser();
    },
  }),

  get_user: op({
    method: 'GET',
    path: '/users/:user_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: User,
    async handle({ params }, { read }) {
      const [user] = await read.users.get([params.user_id]);
      return user ? { ok: true, value: userBody(user) } : unknownUser();
    },
  }),

  update_my_user: op({
    method: 'PATCH',
    path: '/users/@me',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateUser,
    status: 200,
    reply: OwnUser,
    async handle({ body, caller, address }, services) {
      const { users, blobs } = services;
      const change: { username?: string; avatar?: string | null; banner?: string | null } = {};
      for (const field of ['avatar', 'banner'] as const) {
        const image = body[field];
        if (image === undefined) continue;
        const saved =
          image === null ? null : await saveImage(blobs, `${field}s`, caller.userId, image, field);
        if (saved && !saved.ok) return saved;
        change[field] = saved?.value ?? null;
      }
      const { username, password } = body;
      if (username !== undefined) {
        const renamed = await signInBy(username, { caller, password, address }, services);
        if (!renamed.ok) return renamed;
        if (!renamed.value) change.username = username;
      }
      const reply = await users.updateUser(caller.userId, change);
      return reply.ok ? { ok: true, value: await ownBody(reply.value, caller, services) } : reply;
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
    reply: list(OwnGuild),
    async handle({ query, caller, authority }, services) {
      const { before, after, limit = GUILDS_PER_PAGE_MAX, with_counts: withCounts = false } = query;
      const ids = (await services.read.users.guildIds(caller.userId))
        .filter((id) => before === undefined || compareIds(id, before) < 0)
        .filter((id) => after === undefined || compareIds(id, after) > 0);
      // With `before` the page ends at that id; otherwise it begins after `after`.
      const page = before !== undefined && after === undefined ? ids.slice(-limit) : ids.slice(0, limit);
      const replies = await Promise.all(
        page.map((id) => services.guilds.call(id, 'myGuild', { withCounts }, authority)),
      );
      // A guild that was left or deleted meanwhile is omitted.
      return { ok: true, value: replies.flatMap((reply) => (reply.ok ? [reply.value] : [])) };
    },
  }),

  leave_guild: op({
    method: 'DELETE',
    path: '/users/@me/guilds/:guild_id',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) => guilds.call(params.guild_id, 'leaveGuild', {}, authority),
  }),

  get_my_guild_member: op({
    method: 'GET',
    path: '/users/@me/guilds/:guild_id/member',
    auth: 'any',
    scope: 'guilds.members.read',
    bucket: { per: 'guild_id', limit: 10, windowMs: 10_000 },
    status: 200,
    reply: MemberObject,
    async handle({ params, caller, authority }, { guilds }) {
      const input = { userId: caller.userId };
      const reply = await guilds.call(params.guild_id, 'getMember', input, authority);
      return reply.ok ? { ok: true, value: memberBody(reply.value) } : reply;
    },
  }),

  create_dm: op({
    method: 'POST',
    path: '/users/@me/channels',
    auth: 'any',
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    // Nine access tokens of the maximum length.
    bodyBytesMax: BODY_BYTES.texts,
    body: OpenChannel,
    status: 200,
    reply: PrivateChannelObject,
    async handle({ body, caller }, services) {
      const { userId, applicationId } = caller;
      if (caller.kind === 'bot' && applicationId !== null && body.access_tokens?.length) {
        const nicks = Object.fromEntries(
          Object.entries(body.nicks ?? {}).flatMap(([id, nick]) => (nick ? [[id, nick]] : [])),
        );
        return await services.groups.openManaged({ userId, applicationId }, body.access_tokens, nicks);
      }
      const named = recipientsOf(body, userId);
      if (!named.ok) return named;
      const [recipientId, ...more] = named.value;
      if (more.length === 0) return openChannel(userId, recipientId, services);
      if (caller.kind === 'bot') return { ok: false, refusal: TOKENS_REQUIRED };
      return await services.groups.open(userId, named.value);
    },
  }),
});

/** The caller's own account, with the fields that the caller's scopes allow. */
const ownBody = (user: APIUser, { authorization }: Caller, services: Services): Promise<object> =>
  ownUser(user, authorization?.scopes ?? null, services);

const PASSWORD_REQUIRED = {
  ok: false,
  refusal: invalidField(['password'], 'BASE_TYPE_REQUIRED', 'This field is required'),
} as const;

/**
 * Changes a user name. Users sign in with it, so they must confirm the password, as on the platform. @returns true when the
 * name was changed here; false for bots and accounts without sign-in, whose names are plain profile fields.
 */
async function signInBy(
  username: string,
  { caller, password, address }: { caller: Caller; password: string | undefined; address: string | null },
  { accounts }: Services,
): Promise<Reply<boolean>> {
  const profile = caller.kind === 'user' ? await accounts.profile(caller.userId) : null;
  if (!profile) return { ok: true, value: false };
  if (username.trim().toLowerCase() !== profile.loginName) {
    if (password === undefined) return PASSWORD_REQUIRED;
    const known = await accounts.confirm(caller.userId, password, { address, agent: 'API' });
    if (!known.ok) return known;
  }
  const reply = await accounts.rename(caller.userId, { username });
  return reply.ok ? { ok: true, value: true } : reply;
}

const unknownUser = (): Answer => ({ ok: false, refusal: refusal('UNKNOWN_USER') });

const TOKENS_REQUIRED = invalidField(['access_tokens'], 'BASE_TYPE_REQUIRED', 'This field is required');

/** The other users of a private channel; clients use either field. */
function recipientsOf(
  { recipient_id, recipients }: Static<typeof OpenChannel>,
  userId: UserId,
): Reply<readonly [UserId, ...UserId[]]> {
  if (recipient_id != null) return { ok: true, value: [recipient_id] };
  if (!recipients)
    return {
      ok: false,
      refusal: invalidField(['recipient_id'], 'BASE_TYPE_REQUIRED', 'This field is required'),
    };
  const [one = recipients[0], ...more] = [...new Set(recipients)].filter((id) => id !== userId);
  if (one !== undefined) return { ok: true, value: [one, ...more] };
  const wants = 'Must be 1 or more in length.';
  return { ok: false, refusal: invalidField(['recipients'], 'BASE_TYPE_BAD_LENGTH', wants) };
}

async function openChannel(userId: UserId, recipientId: UserId, { read, users }: Services): Promise<Answer> {
  if (recipientId === userId) return { ok: false, refusal: refusal('INVALID_RECIPIENTS') };
  const [recipient] = await read.users.get([recipientId]);
  if (!recipient) return { ok: false, refusal: refusal('INVALID_RECIPIENTS') };
  const reply = await users.openPrivateChannel(userId, recipientId);
  if (!reply.ok) return reply;
  return { ok: true, value: privateChannelBody(reply.value, recipient) };
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
function memberBody(member: Member): object {
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
