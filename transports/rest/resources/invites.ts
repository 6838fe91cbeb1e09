import type { NewInvite } from '../../../engine/guild/invites.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { ApplicationId, RoleId, ScheduledEventId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import { AcceptedInvite } from '../../../protocol/schemas/extension.ts';
import { Invite } from '../../../protocol/schemas/invite.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Nullable,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list } from '../../../protocol/schemas/schema.ts';
import { publicApplicationBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { targetUsersOf } from '../targetusers.ts';

const ROLE_LIST_CHARS_MAX = 5_500;

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: null, limit: 20, windowMs: 10_000 } as const;
const WRITES = { per: 'channel_id', limit: 5, windowMs: 15_000 } as const;

const CreateInvite = Obj({
  max_age: Optional(Nullable(Int(0, LIMITS.invite_age_sec_max))),
  max_uses: Optional(Nullable(Int(0, LIMITS.invite_uses_max))),
  temporary: Optional(Nullable(Bool())),
  unique: Optional(Nullable(Bool())),
  target_type: Optional(Nullable(Choice(1, 2))),
  target_user_id: Optional(Nullable(Snowflake<UserId>())),
  target_application_id: Optional(Nullable(Snowflake<ApplicationId>())),
  // A list, or comma-separated text as in a form field.
  role_ids: Optional(
    Nullable(OneOf(Arr(Snowflake(), LIMITS.roles_per_guild_max), Str(0, ROLE_LIST_CHARS_MAX))),
  ),
});

const unknownInvite = (): { ok: false; refusal: Refusal } => ({
  ok: false,
  refusal: refusal('UNKNOWN_INVITE'),
});

export const invites = resource({
  create_channel_invite: op({
    method: 'POST',
    path: '/channels/:channel_id/invites',
    auth: 'any',
    permission: P.CREATE_INSTANT_INVITE,
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.texts,
    body: CreateInvite,
    multipart: true,
    status: 200,
    reply: Invite,
    handle: async ({ params, body, files, authority }, services) => {
      const { channels, read } = services;
      const channelId = params.channel_id;
      const may = await channels.call(channelId, 'authorizeChannelInvites', {}, authority);
      if (!may.ok) return may;
      const targets = await targetUsersOf(files, read.users);
      if (!targets.ok) return targets;
      const leadsTo = await leadsToOf(body, read);
      if (!leadsTo.ok) return leadsTo;
      const wanted = {
        maxAgeSec: body.max_age ?? LIMITS.invite_age_sec_default,
        maxUses: body.max_uses ?? 0,
        temporary: body.temporary ?? false,
        unique: body.unique ?? false,
        roleIds: roleIdsOf(body.role_ids),
        ...(leadsTo.value && { leadsTo: leadsTo.value }),
        ...(targets.value && { targetUserIds: targets.value, targetsUploaded: true as const }),
      };
      const { guildId } = may.value;
      const reply = await services.invites.create({ guildId, channelId }, wanted, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  list_channel_invites: op({
    method: 'GET',
    path: '/channels/:channel_id/invites',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: READS,
    status: 200,
    reply: list(Invite),
    handle: async ({ params, authority }, { guilds, channels, read, nowMs }) => {
      const channelId = params.channel_id;
      const may = await channels.call(channelId, 'authorizeChannelInvites', {}, authority);
      if (!may.ok) return may;
      const { guildId } = may.value;
      const found = await read.guilds.invites(guildId, channelId, nowMs());
      const reply = await guilds.call(
        guildId,
        'presentInvites',
        { invites: found },
        // The permission was checked in the channel and is not needed in the whole guild.
        { by: authority.by, requires: 0n },
      );
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  list_guild_invites: op({
    method: 'GET',
    path: '/guilds/:guild_id/invites',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: list(Invite),
    handle: async ({ params, authority }, { guilds, read, nowMs }) => {
      const guildId = params.guild_id;
      const may = await guilds.call(guildId, 'authorizeGuildInvites', {}, authority);
      if (!may.ok) return may;
      const found = await read.guilds.invites(guildId, null, nowMs());
      const reply = await guilds.call(guildId, 'presentInvites', { invites: found }, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  invite_resolve: op({
    method: 'GET',
    path: '/invites/:code',
    auth: 'none',
    bucket: READS,
    query: Obj({
      with_counts: Optional(Bool()),
      guild_scheduled_event_id: Optional(Snowflake<ScheduledEventId>()),
    }),
    status: 200,
    reply: Invite,
    handle: async ({ params: { code }, query, caller }, { guilds, invites: { guildOf }, system }) => {
      const guildId = await guildOf(code);
      if (guildId === null) return unknownInvite();
      const { with_counts: withCounts = false, guild_scheduled_event_id: eventId = null } = query;
      const input = { code, readerId: caller?.userId ?? null, withCounts, eventId };
      const reply = await guilds.call(guildId, 'resolveInvite', input, system);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  invite_revoke: op({
    method: 'DELETE',
    path: '/invites/:code',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: Invite,
    handle: async ({ params: { code }, authority }, { guilds, invites: { guildOf } }) => {
      const guildId = await guildOf(code);
      if (guildId === null) return unknownInvite();
      const reply = await guilds.call(guildId, 'revokeInvite', { code }, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),
});

/** Operations on invites that user clients use and the platform's OpenAPI does not list. */
export const invitesUnlisted = resource({
  accept_invite: op({
    method: 'POST',
    path: '/invites/:code',
    auth: 'user',
    bucket: { per: null, limit: 10, windowMs: 60_000 },
    // Clients send their session id; it is ignored, because every session of the user receives the guild.
    body: Obj({ session_id: Optional(Nullable(Str(0, 100))) }),
    status: 200,
    reply: AcceptedInvite,
    handle: async ({ params: { code }, caller: { userId } }, services) => {
      const reply = await services.invites.accept(code, userId);
      if (!reply.ok) return reply;
      return { ok: true, value: { ...reply.value.invite, new_member: reply.value.added } };
    },
  }),
});

interface TargetDraft {
  readonly target_type?: 1 | 2 | null;
  readonly target_user_id?: UserId | null;
  readonly target_application_id?: ApplicationId | null;
}

/** The target of an invite in a request: a user's stream, or the activity of an application. */
async function leadsToOf(
  { target_type: type, target_user_id: userId, target_application_id: applicationId }: TargetDraft,
  { applications }: Pick<Services['read'], 'applications'>,
): Promise<Reply<NewInvite['leadsTo'] | null>> {
  if (type == null) return { ok: true, value: null };
  if (type === 1 && userId) return { ok: true, value: { userId } };
  const application = type === 2 && applicationId ? await applications.get(applicationId) : null;
  if (application) {
    const { activity } = application;
    const shown = publicApplicationBody(application, null);
    return { ok: true, value: { application: shown, ...(activity && { activity }) } };
  }
  const field = type === 1 ? 'target_user_id' : 'target_application_id';
  return { ok: false, refusal: invalidField([field], 'BASE_TYPE_REQUIRED', 'This field is required') };
}

function roleIdsOf(given: readonly string[] | string | null | undefined): RoleId[] {
  const ids = typeof given === 'string' ? given.split(',').map((id) => id.trim()) : (given ?? []);
  return ids.filter((id) => id !== '').map((id) => id as RoleId);
}
