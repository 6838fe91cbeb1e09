import type { Team } from '../../engine/application/teams.ts';
import type { Application } from '../../engine/user/facts.ts';
import { teamUserIdOf, type UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { Accounts, Profile } from '../../services/accounts/ports.ts';
import type { Premium } from '../../services/premium/premium.ts';

/** A user as other users see them, with every key that the wire object always has. */
export function userBody(user: APIUser): object {
  const { flags: _own, ...shown } = user;
  return {
    banner: null,
    accent_color: null,
    avatar_decoration_data: null,
    collectibles: null,
    public_flags: 0,
    primary_guild: null,
    ...shown,
    flags: user.public_flags ?? 0,
  };
}

/** Private fields of an account, and the scopes that decide which of them are shown. */
interface AccountView {
  /** Scopes of the application that acts for the user; null for users themselves and bots. */
  readonly scopes: Scopes | null;
  /** Null for accounts without sign-in. */
  readonly profile: Pick<Profile, 'email' | 'claimedEmail' | 'hasFactor'> | null;
  readonly premiumType: number;
}

/** A user as they see themselves, or as an application that acts for them sees them. */
function ownUserBody(user: APIUser, { scopes, profile, premiumType }: AccountView): APIUser {
  const sees = (scope: Scope) => scopes === null || scopes.has(scope);
  const email = profile?.email ?? profile?.claimedEmail ?? null;
  return {
    ...userBody(user),
    flags: user.flags ?? user.public_flags ?? 0,
    mfa_enabled: profile?.hasFactor ?? false,
    locale: user.locale ?? 'en-US',
    premium_type: sees('identify.premium') ? premiumType : 0,
    // An unconfirmed address is not verified; without an address, `verified` is true.
    ...(sees('email') ? { email, verified: email === (profile?.email ?? null) } : {}),
  } as APIUser;
}

interface OwnUserPorts {
  readonly accounts: Pick<Accounts, 'profile'>;
  readonly premium: Pick<Premium, 'premiumTypeOf'>;
}

/** Loads what only the user sees, and returns the user's own view. `scopes` is null for bots and for users themselves. */
export async function ownUser(
  user: APIUser,
  scopes: Scopes | null,
  { accounts, premium }: OwnUserPorts,
): Promise<APIUser> {
  if (user.bot) return ownUserBody(user, { scopes, profile: null, premiumType: 0 });
  const [profile, premiumType] = await Promise.all([
    accounts.profile(user.id),
    premium.premiumTypeOf(user.id),
  ]);
  return ownUserBody(user, { scopes, profile, premiumType });
}

/** The public view of an application. */
export function publicApplicationBody(application: Application, bot: APIUser | null): object {
  const { id, name, icon, description, verify_key, flags, tags, cover_image, max_participants } = application;
  const { bot_public, bot_require_code_grant } = application;
  return {
    ...{ id, name, icon, description, verify_key, flags, tags, max_participants },
    ...{ bot_public, bot_require_code_grant },
    type: null,
    flags_new: String(flags),
    rpc_origins: application.oauth2?.rpcOrigins ?? [],
    ...(cover_image === null ? {} : { cover_image }),
    ...(bot === null ? {} : { bot: userBody(bot) }),
  };
}

/** The fields that the owner's view of an application adds. */
interface Around {
  readonly owner: APIUser | null;
  readonly bot: APIUser | null;
  readonly team: Team | null;
  readonly find: (id: UserId) => APIUser | null;
}

/** The owner's view of an application. Keys that may be absent on the wire but not null are omitted when null. */
export function applicationBody(application: Application, { owner, bot, team, find }: Around): object {
  const {
    bot_id,
    owner_id,
    cover_image,
    custom_install_url,
    install_params,
    integration_types_config,
    oauth2: _ofOperator,
    activity: _mappings,
    team_id: _team,
    ...rest
  } = application;
  return {
    ...rest,
    type: null,
    rpc_origins: application.oauth2?.rpcOrigins ?? [],
    flags_new: String(application.flags),
    ...(cover_image === null ? {} : { cover_image }),
    ...(custom_install_url === null ? {} : { custom_install_url }),
    ...(install_params === null ? {} : { install_params }),
    ...(integration_types_config === null ? {} : { integration_types_config }),
    ...(bot === null ? {} : { bot: userBody(bot) }),
    owner: userBody(team ? teamUser(team) : (owner ?? unknownOwner(owner_id))),
    approximate_guild_count: 0,
    approximate_user_install_count: 0,
    approximate_user_authorization_count: 0,
    eligible_oauth2_scopes: [],
    team: team && teamBody(team, find),
  };
}

/** Flag of the user that stands for a team. @source https://docs.discord.com/developers/resources/user#user-object-user-flags */
const TEAM_PSEUDO_USER = 1 << 10;

/** The user that stands for a team as the owner of its applications. */
const teamUser = ({ id }: Team): APIUser => ({
  ...{ id: teamUserIdOf(id), username: `team${id}`, discriminator: '0000', global_name: null, avatar: null },
  public_flags: TEAM_PSEUDO_USER,
});

/** A team with its members. The owner is an admin among them, as the published list of roles has no other. */
export function teamBody({ id, icon, name, ownerId, members }: Team, find: Around['find']): object {
  const owner = { userId: ownerId, role: 'admin', state: 2 };
  return {
    ...{ id, icon, name, owner_user_id: ownerId },
    members: [owner, ...members].map(({ userId, role, state }) => ({
      user: userBody(find(userId) ?? unknownOwner(userId)),
      ...{ team_id: id, membership_state: state, role, permissions: ['*'] },
    })),
  };
}

/** The owner's account may be gone; the wire's object has an owner all the same. */
function unknownOwner(id: UserId): APIUser {
  return { id, username: 'deleted_user', discriminator: '0', global_name: null, avatar: null };
}
