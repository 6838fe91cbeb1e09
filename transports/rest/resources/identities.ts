import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { ExternalIdentity, Identity } from '../../../engine/provisional/identity.ts';
import {
  identityObject,
  IDENTITY_LIMITS as L,
  PROVIDER_TYPES,
  type ProviderType,
} from '../../../protocol/identities.ts';
import { type ApplicationId, isSnowflake, isUserId, type UserId } from '../../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import {
  ExternalIdentity as ExternalIdentityObject,
  Identities,
  IdentityProfile as IdentityProfileObject,
} from '../../../protocol/schemas/account.ts';
import {
  Any,
  Arr,
  Choice,
  Dict,
  Nullable,
  Num,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import type { IdentityProfile } from '../../../services/players/ports.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

const READ = { per: null, limit: 50, windowMs: 10_000 } as const;
const WRITE = { per: null, limit: 20, windowMs: 10_000 } as const;
const READ_SCOPES = ['application_identities.write', 'identify'] as const;

const ProviderId = () => Optional(Nullable(Str(0, 2048)));
const Media = () => Obj({ url: Str(1, 2048) });
const Text = () => Optional(Str(0, 1024));
const Figure = () => Optional(Num(0, Number.MAX_SAFE_INTEGER));

/** @source https://github.com/discordjs/discord-api-types/blob/main/payloads/v10/applicationIdentityProfile.ts */
const Primary = Obj({
  season: Text(),
  rank_name: Text(),
  rank_image: Optional(Media()),
  highest_rank: Text(),
  highest_rank_image: Optional(Media()),
  featured_played_character: Text(),
  featured_played_character_image: Optional(Media()),
  playtime_hours: Figure(),
  total_wins: Figure(),
  current_period_wins: Figure(),
  total_games: Figure(),
  current_period_games: Figure(),
  total_kills: Figure(),
  current_period_kills: Figure(),
  total_assists: Figure(),
  current_period_assists: Figure(),
  total_deaths: Figure(),
  current_period_deaths: Figure(),
});

const FieldName = () => Str(1, 100);
const DYNAMIC_FIELDS_MAX = 30;
const Dynamic = OneOf(
  Obj({ type: Choice(1), name: FieldName(), value: Str(0, 1024) }),
  Obj({ type: Choice(2), name: FieldName(), value: Num(-Number.MAX_VALUE, Number.MAX_VALUE) }),
  Obj({ type: Choice(3), name: FieldName(), value: Media() }),
);

const UpdateProfile = Obj({
  username: Optional(Nullable(Str(1, 1024))),
  metadata: Optional(Nullable(Dict(Any(), 100))),
  data: Optional(
    Nullable(Obj({ primary: Optional(Primary), dynamic: Optional(Arr(Dynamic, DYNAMIC_FIELDS_MAX)) })),
  ),
});

/** Players' identities at external providers, and the profiles that games publish for them. */
export const identities = resource({
  list_user_application_identities: op({
    method: 'GET',
    path: '/users/:user/application-identities/:application',
    auth: 'any',
    scope: READ_SCOPES,
    bucket: READ,
    status: 200,
    reply: Identities,
    async handle({ params, caller }, services) {
      const asked = await about(caller, params.application, params.user, services);
      if (!asked.ok) return asked;
      const { applicationId, userId } = asked.value;
      return listed(await services.provisional.identities(applicationId, [userId]));
    },
  }),

  find_application_identity: op({
    method: 'GET',
    path: '/applications/:application/application-identities/:provider_type/:external_user',
    auth: 'bot',
    bucket: READ,
    query: Obj({ provider_id: ProviderId() }),
    status: 200,
    reply: Identities,
    async handle({ params, query, caller }, services) {
      const asked = await about(caller, params.application, null, services);
      if (!asked.ok) return asked;
      const external = externalOf(params.provider_type, params.external_user, query.provider_id);
      if (!external.ok) return external;
      const found = await services.provisional.identity(asked.value.applicationId, external.value);
      return listed(found ? [found] : []);
    },
  }),

  delete_user_application_identity: op({
    method: 'POST',
    path: '/users/:user/application-identities/:application/:provider_type/:external_user/delete',
    auth: 'any',
    scope: 'application_identities.write',
    bucket: WRITE,
    body: Obj({ provider_id: ProviderId() }),
    status: 204,
    reply: none,
    async handle({ params, body, caller }, services) {
      const asked = await about(caller, params.application, params.user, services);
      if (!asked.ok) return asked;
      const { applicationId, userId } = asked.value;
      const external = externalOf(params.provider_type, params.external_user, body.provider_id);
      if (!external.ok) return external;
      return services.provisional.forgetIdentity(applicationId, userId, external.value);
    },
  }),

  get_application_identity_profile: op({
    method: 'GET',
    path: '/applications/:application/users/:user/identities/:external_user/profile',
    auth: 'any',
    scope: READ_SCOPES,
    bucket: READ,
    status: 200,
    reply: IdentityProfileObject,
    async handle({ params, caller }, services) {
      const asked = await about(caller, params.application, params.user, services);
      if (!asked.ok) return asked;
      const { applicationId, userId } = asked.value;
      const reply = await services.provisional.profile(applicationId, userId, params.external_user);
      return reply.ok ? { ok: true, value: profileBody(reply.value) } : reply;
    },
  }),

  update_application_identity_profile: op({
    method: 'PATCH',
    path: '/applications/:application/users/:user/identities/:external_user/profile',
    auth: 'any',
    scope: 'application_identities.write',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.texts,
    body: UpdateProfile,
    status: 204,
    reply: none,
    also: { 201: IdentityProfileObject },
    async handle({ params, body, caller }, services) {
      const asked = await about(caller, params.application, params.user, services);
      if (!asked.ok) return asked;
      const { applicationId, userId } = asked.value;
      const { external_user: externalUserId } = params;
      const reply = await services.provisional.updateProfile(applicationId, userId, externalUserId, body);
      if (!reply.ok) return reply;
      if (!reply.value.created) return { ok: true };
      const made = await services.provisional.profile(applicationId, userId, externalUserId);
      return made.ok ? { ok: true, status: 201, value: profileBody(made.value) } : made;
    },
  }),

  /** The external names of users in the caller's own application. */
  list_application_identities: op({
    method: 'POST',
    path: '/application-identities',
    auth: 'any',
    scope: READ_SCOPES,
    bucket: READ,
    body: Obj({ user_ids: Arr(Snowflake<UserId>(), 100, 1) }),
    status: 200,
    reply: list(ExternalIdentityObject),
    async handle({ body, caller }, { provisional }) {
      if (caller.applicationId === null)
        return { ok: false, refusal: refusal('INVALID_OAUTH2_ACCESS_TOKEN') };
      const userIds = body.user_ids;
      // The token of a person identifies that person alone to the game.
      if (caller.kind !== 'bot' && userIds.some((id) => id !== caller.userId))
        return { ok: false, refusal: refusal('MISSING_ACCESS') };
      const found = await provisional.identities(caller.applicationId, userIds);
      const rows = found.map(({ userId, providerIssuedUserId }) => ({
        user_id: userId,
        external_user_id: providerIssuedUserId,
      }));
      return { ok: true, value: rows };
    },
  }),
});

const listed = (found: readonly Identity[]) => ({
  ok: true as const,
  value: { identities: found.map((each) => ({ ...identityObject(each), user_id: each.userId })) },
});

const profileBody = ({ username, metadata, data }: IdentityProfile): object => ({ username, metadata, data });

/**
 * Resolves the identity that a path names, if the caller may read it: an application may for its players, an application
 * that acts for a user for that user, and users for themselves.
 */
async function about(
  caller: Caller,
  application: string,
  user: string | null,
  { provisional }: Services,
): Promise<Reply<{ readonly applicationId: ApplicationId; readonly userId: UserId }>> {
  const userId = user === '@me' ? caller.userId : (user ?? '0');
  if (!isSnowflake(application)) return { ok: false, refusal: notSnowflake('application', application) };
  if (!isUserId(userId)) return { ok: false, refusal: notSnowflake('user', userId) };
  const applicationId = application as ApplicationId;
  const isOwn = caller.kind === 'user' && userId === caller.userId;
  const isTheirs =
    caller.applicationId !== null && (await provisional.related(caller.applicationId, applicationId));
  const may = caller.kind === 'bot' ? isTheirs : isOwn && (caller.authorization === null || isTheirs);
  if (!may) return { ok: false, refusal: refusal('MISSING_ACCESS') };
  return { ok: true, value: { applicationId, userId } };
}

const notSnowflake = (field: string, value: string): Refusal =>
  invalidField([field], 'NUMBER_TYPE_COERCE', `Value "${value.slice(0, 100)}" is not snowflake.`);

/** The external identity that a path names. */
function externalOf(
  providerType: string,
  externalUserId: string,
  providerId: string | null | undefined,
): Reply<ExternalIdentity> {
  if (!PROVIDER_TYPES.includes(providerType as ProviderType)) {
    const message = `Value must be one of {${PROVIDER_TYPES.map((type) => `'${type}'`).join(', ')}}.`;
    return { ok: false, refusal: invalidField(['provider_type'], 'BASE_TYPE_CHOICES', message) };
  }
  if ([...externalUserId].length > L.external_user_id_characters_max) {
    const message = `Must be ${L.external_user_id_characters_max} or fewer in length.`;
    return { ok: false, refusal: invalidField(['provider_issued_user_id'], 'BASE_TYPE_MAX_LENGTH', message) };
  }
  const value = {
    providerType: providerType as ProviderType,
    providerId: providerId || null,
    providerIssuedUserId: externalUserId,
  };
  return { ok: true, value };
}
