import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import { MemberVerification } from '../../../protocol/schemas/extension.ts';
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
import { JoinRequest, JoinRequestList } from '../../../protocol/schemas/screening.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const PAGE_MAX = 100;

const Status = () => Choice('STARTED', 'SUBMITTED', 'REJECTED', 'APPROVED');
const Decision = () => Optional(Choice('APPROVED', 'REJECTED'));
const Kind = () => Choice('TERMS', 'TEXT_INPUT', 'PARAGRAPH', 'MULTIPLE_CHOICE');
const Texts = (chars: number, max: number) => Optional(Nullable(Arr(Str(1, chars), max)));
/** Other statuses are shown only when they are asked for; a request that is not submitted never is. */
const SHOWN = ['SUBMITTED', 'REJECTED', 'APPROVED'] as const;

const FormField = Obj({
  field_type: Kind(),
  label: Str(1, LIMITS.form_label_chars_max),
  required: Optional(Nullable(Bool())),
  description: Optional(Nullable(Str(0, LIMITS.form_label_chars_max))),
  placeholder: Optional(Nullable(Str(0, LIMITS.form_label_chars_max))),
  values: Texts(LIMITS.form_term_chars_max, LIMITS.form_terms_max),
  choices: Texts(LIMITS.form_choice_chars_max, LIMITS.form_choices_max),
});

const Answer = Obj({
  field_type: Optional(Nullable(Kind())),
  response: Optional(
    Nullable(OneOf(Bool(), Int(0, LIMITS.form_choices_max), Str(0, LIMITS.form_paragraph_chars_max))),
  ),
});

export const joinRequests = resource({
  get_guild_join_requests: op({
    method: 'GET',
    path: '/guilds/:guild_id/requests',
    auth: 'any',
    permission: P.KICK_MEMBERS,
    bucket: READS,
    query: Obj({
      status: Optional(Status()),
      limit: Optional(Int(1, PAGE_MAX)),
      before: Optional(Snowflake()),
      after: Optional(Snowflake()),
    }),
    status: 200,
    reply: JoinRequestList,
    handle: async ({ params, query, authority }, { guilds, read }) => {
      const guildId = params.guild_id;
      const may = await guilds.call(guildId, 'authorizeJoinRequestRead', {}, authority);
      if (!may.ok) return may;
      const { status, limit = PAGE_MAX, before, after } = query;
      const found = await read.guilds.joinRequests(guildId, {
        statuses: SHOWN.filter((each) => status === undefined || each === status),
        limit,
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
      });
      const input = { requests: found.requests };
      const shown = await guilds.call(guildId, 'presentJoinRequests', input, authority);
      if (!shown.ok) return shown;
      return { ok: true, value: { total: found.total, guild_join_requests: shown.value } };
    },
  }),

  action_guild_join_request: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/requests/:request_id',
    auth: 'any',
    permission: P.KICK_MEMBERS,
    bucket: WRITES,
    body: Obj({
      action: Optional(Status()),
      rejection_reason: Optional(Nullable(Str(0, LIMITS.rejection_reason_chars_max))),
    }),
    status: 200,
    reply: JoinRequest,
    handle: async ({ params, body, authority }, { guilds, read }) => {
      const { action, rejection_reason: reason } = body;
      if (action !== 'APPROVED' && action !== 'REJECTED')
        return { ok: false, refusal: invalidField(['action'], 'BASE_TYPE_CHOICES', 'Approve or reject it.') };
      const userId = await read.guilds.joinRequestUser(params.guild_id, params.request_id);
      // A caller who may not decide is refused for that, and learns nothing of the request.
      const may = await guilds.call(params.guild_id, 'authorizeJoinRequestRead', {}, authority);
      if (!may.ok) return may;
      if (userId === null) return { ok: false, refusal: refusal('NOT_FOUND') };
      const approve = action === 'APPROVED';
      const input = { userId, requestId: params.request_id, approve, reason: reason || null };
      return await guilds.call(params.guild_id, 'actOnJoinRequest', input, authority);
    },
  }),
});

/** Operations of screening that the platform's OpenAPI does not list. */
export const screeningUnlisted = resource({
  get_guild_member_verification: op({
    method: 'GET',
    path: '/guilds/:guild_id/member-verification',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: MemberVerification,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getMemberVerification', {}, authority),
  }),

  update_guild_member_verification: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/member-verification',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({
      enabled: Optional(Bool()),
      form_fields: Optional(Arr(FormField, LIMITS.form_fields_max)),
      description: Optional(Nullable(Str(0, LIMITS.form_description_chars_max))),
      bulk_action: Decision(),
    }),
    status: 200,
    reply: MemberVerification,
    handle: async ({ params, body: { bulk_action: action, ...draft }, authority }, { guilds }) => {
      return await guilds.updateScreening(params.guild_id, { draft }, action !== 'REJECTED', authority);
    },
  }),

  get_my_guild_join_request: op({
    method: 'GET',
    path: '/guilds/:guild_id/requests/@me',
    auth: 'user',
    bucket: READS,
    status: 200,
    reply: JoinRequest,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getMyJoinRequest', {}, authority),
  }),

  submit_guild_join_request: op({
    method: 'PUT',
    path: '/guilds/:guild_id/requests/@me',
    auth: 'user',
    bucket: WRITES,
    body: Obj({
      form_fields: Arr(Answer, LIMITS.form_fields_max),
      version: Optional(Nullable(Str(0, LIMITS.form_label_chars_max))),
    }),
    status: 200,
    reply: JoinRequest,
    handle: async ({ params, body: { form_fields, version }, authority }, { guilds }) => {
      const input = { form_fields, version: version ?? null };
      return await guilds.call(params.guild_id, 'submitJoinRequest', input, authority);
    },
  }),
});
