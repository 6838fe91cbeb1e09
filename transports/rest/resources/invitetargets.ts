import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import { TargetUsersJobStatus } from '../../../protocol/schemas/guildpages.ts';
import { none, text } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';
import { targetUsersFile, targetUsersOf } from '../targetusers.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: null, limit: 20, windowMs: 10_000 } as const;
const WRITES = { per: null, limit: 5, windowMs: 10_000 } as const;

/** @source https://docs.discord.com/developers/resources/invite#get-target-users-job-status */
const COMPLETED = 2;

const unknownInvite = (): { ok: false; refusal: Refusal } => ({
  ok: false,
  refusal: refusal('UNKNOWN_INVITE'),
});

export const inviteTargets = resource({
  get_invite_target_users: op({
    method: 'GET',
    path: '/invites/:code/target-users',
    auth: 'any',
    bucket: READS,
    media: 'text/csv',
    status: 200,
    reply: text,
    handle: async ({ params: { code }, authority }, services) => {
      const guildId = await services.invites.guildOf(code);
      if (guildId === null) return unknownInvite();
      const reply = await services.guilds.call(guildId, 'getInviteTargets', { code }, authority);
      return reply.ok ? { ok: true, value: targetUsersFile(reply.value) } : reply;
    },
  }),

  update_invite_target_users: op({
    method: 'PUT',
    path: '/invites/:code/target-users',
    auth: 'any',
    bucket: WRITES,
    multipart: true,
    status: 204,
    reply: none,
    handle: async ({ params: { code }, files, authority }, services) => {
      const guildId = await services.invites.guildOf(code);
      if (guildId === null) return unknownInvite();
      const may = await services.guilds.call(guildId, 'authorizeInviteTargets', { code }, authority);
      if (!may.ok) return may;
      const users = await targetUsersOf(files, services.read.users);
      if (!users.ok) return users;
      if (users.value === null) {
        const no = invalidField(['target_users_file'], 'BASE_TYPE_REQUIRED', 'This field is required');
        return { ok: false, refusal: no };
      }
      const input = { code, userIds: users.value };
      const reply = await services.guilds.call(guildId, 'setInviteTargets', input, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  get_invite_target_users_job_status: op({
    method: 'GET',
    path: '/invites/:code/target-users/job-status',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: TargetUsersJobStatus,
    handle: async ({ params: { code }, authority }, services) => {
      const guildId = await services.invites.guildOf(code);
      if (guildId === null) return unknownInvite();
      const reply = await services.guilds.call(guildId, 'getInviteTargetsJob', { code }, authority);
      if (!reply.ok) return reply;
      const { total, doneAt } = reply.value;
      return {
        ok: true,
        value: {
          ...{ status: COMPLETED, total_users: total, processed_users: total },
          ...{ created_at: doneAt, completed_at: doneAt, error_message: null },
        },
      };
    },
  }),
});
