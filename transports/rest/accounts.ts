import type { APIUser } from 'discord-api-types/v10';
import type { Application } from '../../engine/user/facts.ts';

/** A user as others see them, with every key the wire's object always has. */
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

/** A user as they see themselves. */
export function ownUserBody(user: APIUser): object {
  return {
    ...userBody(user),
    flags: user.flags ?? user.public_flags ?? 0,
    mfa_enabled: user.mfa_enabled ?? false,
    locale: user.locale ?? 'en-US',
    premium_type: 0,
    email: null,
    verified: true,
  };
}

/** An application as its owner sees it. Keys that may be absent on the wire but not null are left out when null. */
export function applicationBody(
  application: Application,
  owner: APIUser | null,
  bot: APIUser | null,
): object {
  const {
    bot_id,
    owner_id,
    cover_image,
    custom_install_url,
    install_params,
    integration_types_config,
    oauth2: _ofOperator,
    ...rest
  } = application;
  return {
    ...rest,
    type: null,
    flags_new: String(application.flags),
    ...(cover_image === null ? {} : { cover_image }),
    ...(custom_install_url === null ? {} : { custom_install_url }),
    ...(install_params === null ? {} : { install_params }),
    ...(integration_types_config === null ? {} : { integration_types_config }),
    ...(bot === null ? {} : { bot: userBody(bot) }),
    owner: userBody(owner ?? unknownOwner(owner_id)),
    approximate_guild_count: 0,
    approximate_user_install_count: 0,
    approximate_user_authorization_count: 0,
    eligible_oauth2_scopes: [],
    team: null,
  };
}

/** The owner's account may be gone; the wire's object has an owner all the same. */
function unknownOwner(id: string): APIUser {
  return { id, username: 'deleted_user', discriminator: '0', global_name: null, avatar: null };
}
