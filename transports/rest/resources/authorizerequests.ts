import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import { AuthorizeRequest } from '../../../protocol/schemas/account.ts';
import { Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import type { Answer, Caller } from '../operation.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

const bucket = { per: null, limit: 20, windowMs: 10_000, group: 'authorize requests' } as const;

/** Sets whether one of the caller's own sessions wants authorization requests; another user's session is unknown to it. */
async function want(
  caller: Caller,
  sessionId: string,
  wanted: boolean,
  { authorizeRequests }: Services,
): Promise<Answer> {
  // Only sessions of OAuth2 tokens belong to a game.
  const known = caller.authorization && (await authorizeRequests.want(caller, sessionId, wanted));
  return known ? { ok: true } : { ok: false, refusal: refusal('UNKNOWN_SESSION') };
}

/** The user that a request concerns: users ask for themselves, a bot for a user of its application. */
function subjectOf(
  caller: Caller,
  applicationId: ApplicationId,
  userId: string | undefined,
  { applicationAccess }: Services,
): UserId | Refusal {
  if (caller.kind === 'user')
    return userId === undefined || userId === caller.userId ? caller.userId : refusal('MISSING_ACCESS');
  if (applicationAccess.applicationRefusal(caller, applicationId)) return refusal('MISSING_ACCESS');
  if (userId === undefined) return invalidField(['user_id'], 'BASE_TYPE_REQUIRED', 'This field is required');
  return userId as UserId;
}

/**
 * Requests to link an account with a game that is already running, made outside the game: the game's sessions that have
 * asked for them receive AUTHORIZE_REQUEST and start the authorization themselves. The platform's own routes are not
 * public; these are this server's own.
 */
export const authorizeRequests = resource({
  want_authorize_requests: op({
    method: 'PUT',
    path: '/guildhall/v1/sessions/:session/authorize-requests',
    auth: 'user',
    scope: 'any',
    bucket,
    status: 204,
    reply: none,
    handle: ({ params, caller }, services) => want(caller, params.session, true, services),
  }),

  ignore_authorize_requests: op({
    method: 'DELETE',
    path: '/guildhall/v1/sessions/:session/authorize-requests',
    auth: 'user',
    scope: 'any',
    bucket,
    status: 204,
    reply: none,
    handle: ({ params, caller }, services) => want(caller, params.session, false, services),
  }),

  create_authorize_request: op({
    method: 'POST',
    path: '/guildhall/v1/applications/:application_id/authorize-requests',
    auth: 'any',
    bucket,
    body: Obj({ user_id: Optional(Snowflake()) }),
    status: 200,
    reply: AuthorizeRequest,
    handle: async ({ params, body, caller }, services) => {
      const userId = subjectOf(caller, params.application_id, body.user_id, services);
      if (typeof userId !== 'string') return { ok: false, refusal: userId };
      const requestId = services.nextId();
      const applicationId = params.application_id;
      const notified = await services.authorizeRequests.ask(userId, applicationId, requestId);
      if (notified === 0) return { ok: false, refusal: refusal('UNKNOWN_SESSION') };
      return { ok: true, value: { request_id: requestId } };
    },
  }),
});
