import type { DispatchName } from '../../protocol/dispatches.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { nameProblem } from '../../protocol/names.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { keysOf } from '../../protocol/present.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import {
  accepted,
  aggregate,
  type Env,
  type FactOf,
  type Outcome,
  refused,
  type Topic,
} from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import type { UserFacts } from './facts.ts';
import { USERNAME_CHARACTERS_MAX, usernameObjection, usernameOf } from './usernames.ts';

/** Changes that the owner of an account may make. Absent keys stay. */
export interface UserChange {
  readonly username?: string;
  readonly global_name?: string | null;
  readonly avatar?: string | null;
  readonly banner?: string | null;
  /** The tag of a guild that the user shows. */
  readonly primary_guild?: Exclude<APIUser['primary_guild'], undefined>;
  /** The change is for a user who shows the tag of this guild, and changes nothing of others. */
  readonly shows?: GuildId;
}

/** A new account in the wire's shape. */
export function newUser(input: {
  id: UserId;
  username: string;
  globalName: string | null;
  bot: boolean;
}): APIUser {
  const user = {
    id: input.id,
    username: input.username,
    discriminator: '0',
    global_name: input.globalName,
    avatar: null,
    banner: null,
    accent_color: null,
    avatar_decoration_data: null,
    collectibles: null,
    primary_guild: null,
    public_flags: 0,
    flags: 0,
  };
  return input.bot ? { ...user, bot: true } : user;
}

const NAME_RUN = /\s+/g;
/**
 * Refused in names of bots: characters that break mentions or imitate code blocks, and U+FFFD, which replaces broken
 * text.
 */
const FORBIDDEN = ['@', '#', ':', '```', '\ufffd'];

const GLOBAL_NAME_CHARACTERS_MAX = 32;

/**
 * Why a name cannot be stored as it was given; null when it can. An absent name is valid. `field` is the key of the
 * request.
 */
export function nameObjection(name: string | null | undefined, field: string): Refusal | null {
  const problem = name == null ? null : nameProblem(name);
  return problem && invalidField([field], problem.code, problem.message);
}

function globalNameObjection(name: string | null | undefined): Refusal | null {
  if (name != null && [...name].length > GLOBAL_NAME_CHARACTERS_MAX)
    return invalidField(['global_name'], 'BASE_TYPE_MAX_LENGTH', 'Must be 32 or fewer in length.');
  return nameObjection(name, 'global_name');
}

/**
 * The username that a person gets after asking for `given`. An account older than the rule keeps its name when it asks
 * for the same name again.
 */
function personName(user: APIUser, given: string): Refusal | string {
  const username = usernameOf(given);
  const objection = usernameObjection(username);
  if (!objection) return username;
  return username === usernameOf(user.username) ? user.username : objection;
}

/** The username that a bot gets after asking for `given`: any script, capitals and single spaces. */
function botName(given: string): Refusal | string {
  const username = given.replace(NAME_RUN, ' ').trim();
  const length = [...username].length;
  if (length < 2 || length > USERNAME_CHARACTERS_MAX)
    return invalidField(['username'], 'BASE_TYPE_BAD_LENGTH', 'Must be between 2 and 32 in length.');
  const wrong = FORBIDDEN.find((text) => username.includes(text));
  if (wrong === undefined) return username;
  return invalidField(['username'], 'USERNAME_INVALID_CONTAINS', `Username cannot contain "${wrong}".`);
}

type ShownTag = APIUser['primary_guild'];
const sameTag = (a: ShownTag, b: ShownTag): boolean =>
  a?.identity_guild_id === b?.identity_guild_id &&
  a?.identity_enabled === b?.identity_enabled &&
  a?.tag === b?.tag &&
  a?.badge === b?.badge;

/** Decides a change of an account by its owner. */
function updateUser({ user }: UserAccount, change: UserChange): Outcome<APIUser, UserUpdated> {
  if (change.shows !== undefined && user.primary_guild?.identity_guild_id !== change.shows)
    return accepted(user);
  const objection = nameObjection(change.username, 'username') ?? globalNameObjection(change.global_name);
  if (objection) return refused(objection);
  const { username: given } = change;
  const username = given === undefined ? given : user.bot ? botName(given) : personName(user, given);
  if (typeof username === 'object') return refused(username);
  const next = {
    ...user,
    ...(username !== undefined && { username }),
    ...(change.global_name !== undefined && { global_name: change.global_name }),
    ...(change.avatar !== undefined && { avatar: change.avatar }),
    ...(change.banner !== undefined && { banner: change.banner }),
    ...(change.primary_guild !== undefined &&
      !sameTag(change.primary_guild, user.primary_guild) && { primary_guild: change.primary_guild }),
  };
  const same = keysOf(next).every((key) => next[key] === user[key]);
  return accepted(next, same ? [] : [{ type: 'userUpdated', user: next }]);
}

/** The user's account, all that the rules know of a user. Guilds, sessions and presences belong to the actor. */
export interface UserAccount {
  user: APIUser;
}

interface UserShape {
  readonly state: UserAccount;
  readonly facts: Pick<UserFacts, 'userUpdated'>;
  readonly needs: Needs;
  /** For the user's own sessions. */
  readonly dispatch: { readonly t: DispatchName; readonly d: object };
  readonly env: Env;
  readonly row: object;
}

export type UserUpdated = FactOf<UserShape['facts']>;
export type UserDispatch = UserShape['dispatch'];
type Commands = { updateUser: { input: UserChange; value: APIUser } };

const account: Topic<UserShape, Commands, 'userUpdated'> = {
  commands: { updateUser: { decide: updateUser } },
  facts: {
    userUpdated: {
      apply: (state, { user }) => {
        state.user = user;
      },
      dispatches: (_state, { user }) => [{ t: 'USER_UPDATE', d: user }],
    },
  },
};

/** The user: one account. */
export const userRules = aggregate<UserShape>()({
  name: 'user',
  missing: refusal('UNKNOWN_USER'),
  topics: [account],
});
