import { AUDIT } from '../../protocol/audit.ts';
import type { GuildId, JoinRequestId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry } from './auditing.ts';
import type { GuildFact, JoinRequestFacts } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import type { FieldAnswer, FormField, JoinRequest } from './joinrequests.types.ts';
import { leaveFacts } from './members.joining.ts';
import { isAbove } from './members.update.ts';
import { asksForApproval } from './memberverification.ts';
import { decidedBy, newRequest, openRequest } from './screening.ts';
import type { GuildTopic } from './topic.ts';

/** A join request in the wire's shape. */
export interface JoinRequestObject extends Omit<JoinRequest, 'status'> {
  readonly join_request_id: JoinRequestId;
  readonly guild_id: GuildId;
  readonly user_id: UserId;
  readonly application_status: JoinRequest['status'];
  /** This server has neither interviews nor acknowledgements. */
  readonly interview_channel_id: null;
  readonly last_seen: null;
}

/** The questions with the applicant's answers, in the order of the form. */
export interface Submission {
  readonly form_fields: readonly {
    readonly field_type?: string | null;
    readonly response?: FieldAnswer | null;
  }[];
  /** The version of the form that is answered. */
  readonly version: string | null;
}

export interface Action {
  readonly userId: UserId;
  readonly requestId: JoinRequestId;
  readonly approve: boolean;
  readonly reason: string | null;
}

type JoinRequestCommands = {
  /** Permission check before the list is read from the store. */
  authorizeJoinRequestRead: { input: object; value: null };
  /** Converts stored requests to the wire's shape. */
  presentJoinRequests: {
    input: { readonly requests: readonly JoinRequest[] };
    value: readonly JoinRequestObject[];
  };
  getMyJoinRequest: { input: object; value: JoinRequestObject };
  /** Approves the caller at once where the form has only terms. @returns 409 for a caller who is not asked. */
  submitJoinRequest: { input: Submission; value: JoinRequestObject };
  /** @returns 404 for an unknown request, 409 for one that is not submitted or is decided. */
  actOnJoinRequest: { input: Action; value: JoinRequestObject };
  /** Screening ends: lets pending members in, or removes them. */
  settleJoinRequests: {
    input: { readonly userIds: readonly UserId[]; readonly approve: boolean };
    value: null;
  };
};

/** Users' requests to become full members. @source https://docs.discord.food/resources/guild#guild-join-request-object */
export const joinRequests: GuildTopic<JoinRequestCommands, keyof JoinRequestFacts> = {
  commands: {
    authorizeJoinRequestRead: { decide: () => accepted(null) },
    presentJoinRequests: {
      decide: ({ id }, { requests }) => accepted(requests.map((request) => joinRequestObject(id, request))),
    },
    getMyJoinRequest: {
      needs: (_input, _guild, by) => ({ joinRequests: [by.userId] }),
      decide: (guild, _input, by) => {
        const request = guild.joinRequests.get(by.userId);
        return request ? accepted(joinRequestObject(guild.id, request)) : refused(refusal('NOT_FOUND'));
      },
    },
    submitJoinRequest: { needs: (_input, _guild, by) => ({ joinRequests: [by.userId] }), decide: submit },
    actOnJoinRequest: {
      needs: ({ userId }) => ({ members: [userId], joinRequests: [userId] }),
      decide: act,
    },
    settleJoinRequests: {
      needs: ({ userIds }) => ({ members: userIds, joinRequests: userIds }),
      decide: (guild, { userIds, approve }, by, env) =>
        accepted(
          null,
          userIds.flatMap((userId) => {
            const member = guild.members.get(userId);
            const request = openRequest(guild, userId);
            return member?.pending ? settled(guild, member, request, approve, by, env) : [];
          }),
        ),
    },
  },
  facts: {
    joinRequestWritten: withBefore({
      before: (guild, { request }) => guild.joinRequests.get(request.user.id)?.id === request.id,
      apply: (guild, { request }) => {
        guild.joinRequests.set(request.user.id, request);
      },
      dispatches: (guild, { request }, known) => shown(guild, request, known),
    }),
    joinRequestDeleted: {
      apply: (guild, { request }) => {
        guild.joinRequests.set(request.user.id, null);
      },
      dispatches: (guild, { request: { id, user, status } }) =>
        toReaders('GUILD_JOIN_REQUEST_DELETE', { guild_id: guild.id, id, user_id: user.id }, user.id, status),
    },
  },
};

const joinRequestObject = (guildId: GuildId, { status, ...request }: JoinRequest): JoinRequestObject => ({
  ...request,
  ...{ join_request_id: request.id, guild_id: guildId, user_id: request.user.id },
  ...{ application_status: status, interview_channel_id: null, last_seen: null },
});

function shown(guild: Guild, request: JoinRequest, isKnown: boolean): Dispatch[] {
  const t = isKnown ? 'GUILD_JOIN_REQUEST_UPDATE' : 'GUILD_JOIN_REQUEST_CREATE';
  return toReaders(t, requestNews(guild, request), request.user.id, request.status);
}

const requestNews = (guild: Guild, request: JoinRequest) => ({
  ...{ guild_id: guild.id, status: request.status },
  request: joinRequestObject(guild.id, request),
});

/** The open request of a pending member, for a session of the member that has just received the guild. */
export function ownRequestDispatch(guild: Guild, userId: UserId): Pick<Dispatch, 't' | 'd'> | null {
  const request = guild.members.get(userId)?.pending ? openRequest(guild, userId) : null;
  return request && { t: 'GUILD_JOIN_REQUEST_CREATE', d: requestNews(guild, request) };
}

/** The user, and those who may decide once the request is submitted; the dispatch's row has their permission. */
function toReaders(t: Dispatch['t'], d: object, userId: UserId, status: JoinRequest['status']): Dispatch[] {
  const own: Dispatch = { t, d, to: { kind: 'users', userIds: [userId] } };
  return status === 'STARTED' ? [own] : [own, { t, d, to: { kind: 'guild' } }];
}

function submit(guild: Guild, input: Submission, by: By, env: Env): Outcome<JoinRequestObject, GuildFact> {
  const member = guild.members.get(by.userId);
  const form = guild.pages.member_verification;
  const known = guild.joinRequests.get(by.userId);
  if (!member?.pending || !form || known?.status === 'SUBMITTED') return refused(refusal('CONFLICT'));
  if (input.version !== null && Date.parse(input.version) !== Date.parse(form.version))
    return refused(invalidField(['version'], 'BASE_TYPE_CHOICES', 'The form has changed since.'));
  const answers = answersOf(form.form_fields, input.form_fields);
  if (!answers.ok) return answers;
  const open = openRequest(guild, by.userId) ?? newRequest(member, env);
  const answered: JoinRequest = { ...open, form_responses: answers.value };
  const request: JoinRequest = asksForApproval(form)
    ? { ...answered, status: 'SUBMITTED' }
    : { ...answered, status: 'APPROVED', reviewed_at: isoTimestamp(env.nowMs) };
  return accepted(joinRequestObject(guild.id, request), [
    ...(request.status === 'APPROVED' ? [admitted(member)] : []),
    { type: 'joinRequestWritten', request },
  ]);
}

const admitted = (member: Member): GuildFact => ({
  type: 'memberUpdated',
  member: { ...member, pending: false },
});

function answersOf(
  fields: readonly FormField[],
  given: Submission['form_fields'],
): Outcome<NonNullable<JoinRequest['form_responses']>, never> {
  if (given.length !== fields.length)
    return refused(
      invalidField(['form_fields'], 'BASE_TYPE_BAD_LENGTH', 'Answer the questions of the form.'),
    );
  const answers: (FormField & { readonly response?: FieldAnswer })[] = [];
  for (const [at, field] of fields.entries()) {
    const { field_type, response = null } = given[at] ?? {};
    const no =
      field_type && field_type !== field.field_type
        ? invalidField(['form_fields', at, 'field_type'], 'BASE_TYPE_CHOICES', 'The form asks otherwise.')
        : answerRefusal(field, response, ['form_fields', at, 'response']);
    if (no) return refused(no);
    answers.push(response === null ? field : { ...field, response });
  }
  return accepted(answers);
}

/** Why a response is not valid for its question; an absent response is invalid only for a required question. */
function answerRefusal(
  { field_type, required, choices = [] }: FormField,
  response: FieldAnswer | null,
  path: readonly (string | number)[],
): Refusal | null {
  const wrong = (message: string) => invalidField(path, 'BASE_TYPE_CHOICES', message);
  if (response === null || response === '')
    return required ? invalidField(path, 'BASE_TYPE_REQUIRED', 'This field is required') : null;
  switch (field_type) {
    case 'TERMS':
      return response === true || (response === false && !required)
        ? null
        : wrong('The terms must be agreed to.');
    case 'MULTIPLE_CHOICE':
      return typeof response === 'number' && response >= 0 && response < choices.length
        ? null
        : wrong('This is the number of no choice.');
    default: {
      const max = field_type === 'PARAGRAPH' ? LIMITS.form_paragraph_chars_max : LIMITS.form_text_chars_max;
      if (typeof response !== 'string') return wrong('The answer is text.');
      return response.length > max
        ? invalidField(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`)
        : null;
    }
  }
}

function act(
  guild: Guild,
  { userId, requestId, approve, reason }: Action,
  by: By,
  env: Env,
): Outcome<JoinRequestObject, GuildFact> {
  const request = guild.joinRequests.get(userId);
  if (request?.id !== requestId) return refused(refusal('NOT_FOUND'));
  const member = guild.members.get(userId);
  if (request.status !== 'SUBMITTED' || !member?.pending) return refused(refusal('CONFLICT'));
  if (!approve && !isAbove(guild, by, userId)) return refused(refusal('MISSING_PERMISSIONS'));
  const status = approve ? 'APPROVED' : 'REJECTED';
  const decided = {
    ...decidedBy(guild, request, status, by, env),
    rejection_reason: approve ? null : reason,
  };
  return accepted(
    joinRequestObject(guild.id, decided),
    settled(guild, member, request, approve, by, env, reason),
  );
}

/** Lets a pending member in, or removes the member. Either is in the audit log. */
function settled(
  guild: Guild,
  member: Member,
  request: JoinRequest | null,
  approve: boolean,
  by: By,
  env: Env,
  reason: string | null = null,
): GuildFact[] {
  const userId = member.user.id;
  const decided = request && {
    ...decidedBy(guild, request, approve ? 'APPROVED' : 'REJECTED', by, env),
    rejection_reason: approve ? null : reason,
  };
  const written: GuildFact[] = decided ? [{ type: 'joinRequestWritten', request: decided }] : [];
  if (approve) {
    const changes = [{ key: 'pending', new_value: false, old_value: true }];
    const entry = auditEntry(env, by, { actionType: AUDIT.MEMBER_UPDATE, targetId: userId, changes });
    return [admitted(member), ...written, entry];
  }
  const entry = auditEntry(env, by, { actionType: AUDIT.MEMBER_KICK, targetId: userId });
  // The decided request stays: the member no longer counts as pending, so that leaving does not withdraw it.
  return [...written, ...leaveFacts(guild, { ...member, pending: false }), entry];
}
