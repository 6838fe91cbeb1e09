import type { UserId } from '../ids.ts';
import {
  choice,
  flag,
  id,
  integer,
  nothing,
  nullable,
  object,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

const userAvatarDecoration = object(
  {
    asset: text,
    sku_id: nullable(id()),
  },
  'UserAvatarDecoration',
);
export interface UserAvatarDecoration extends ValueOf<typeof userAvatarDecoration> {}
export const UserAvatarDecoration: Schema<UserAvatarDecoration> = userAvatarDecoration;

const userNameplate = object(
  {
    sku_id: nullable(id()),
    asset: text,
    label: text,
    palette: choice(
      'crimson',
      'berry',
      'sky',
      'teal',
      'forest',
      'bubble_gum',
      'violet',
      'cobalt',
      'clover',
      'lemon',
      'white',
      'black',
    ),
  },
  'UserNameplate',
);

const userCollectibles = object(
  {
    nameplate: nullable(userNameplate),
  },
  'UserCollectibles',
);
export interface UserCollectibles extends ValueOf<typeof userCollectibles> {}
export const UserCollectibles: Schema<UserCollectibles> = userCollectibles;

const userPrimaryGuild = object(
  {
    identity_guild_id: nullable(id()),
    identity_enabled: nullable(flag),
    tag: nullable(text),
    badge: nullable(text),
  },
  'UserPrimaryGuild',
);

const userFields = {
  id: id<UserId>(),
  username: text,
  avatar: nullable(text),
  discriminator: text,
  public_flags: integer,
  flags: integer,
  bot: optional(flag),
  system: optional(flag),
  banner: nullable(text),
  accent_color: nullable(integer),
  global_name: nullable(text),
  avatar_decoration_data: nullable(UserAvatarDecoration),
  collectibles: nullable(UserCollectibles),
  primary_guild: nullable(userPrimaryGuild),
};
const user = object(userFields, 'User');
export interface User extends ValueOf<typeof user> {}
export const User: Schema<User> = user;

/** The author of a webhook's messages: no user, so without what a profile has. */
export const WebhookAuthor = object(
  {
    id: id<UserId>(),
    username: text,
    global_name: nullable(text),
    discriminator: choice('0000'),
    avatar: nullable(text),
    bot: choice(true),
    public_flags: integer,
    flags: integer,
    primary_guild: nothing,
  },
  'WebhookAuthor',
);

const ownUser = object(
  {
    ...userFields,
    primary_guild: optional(nullable(userPrimaryGuild)),
    mfa_enabled: flag,
    locale: text,
    premium_type: optional(choice(0, 1, 2, 3)),
    email: optional(nullable(text)),
    verified: optional(flag),
  },
  'OwnUser',
);
export interface OwnUser extends ValueOf<typeof ownUser> {}
export const OwnUser: Schema<OwnUser> = ownUser;
