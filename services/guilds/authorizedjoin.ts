import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { ApplicationId, GuildId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { membershipRefusal } from './membershiplimit.ts';

/** The owner of a token, a bot or a user; null for an unknown token. */
export type Authenticate = (
  token: string,
) => Promise<Pick<Principal, 'userId' | 'bot' | 'authorization'> | null>;

type NewMember = GuildCommands['addMember']['input'];

interface JoinPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly users: Pick<UserStore, 'guildIds'>;
  readonly authenticate: Authenticate;
}

/** Adds a user to a guild for an application that the user's token authorizes. */
export type AddAuthorized = (
  guildId: GuildId,
  token: string,
  member: NewMember,
  authority: Authority,
) => Promise<Reply<GuildCommands['addMember']['value']>>;

export const createAuthorizedJoin =
  ({ guilds, users, authenticate }: JoinPorts): AddAuthorized =>
  async (guildId, token, member, authority) => {
    const { userId } = member;
    const no =
      tokenRefusal(await authenticate(token), member, authority.by.applicationId) ??
      (await membershipRefusal(users, { userId }));
    return no ? { ok: false, refusal: no } : guilds.call(guildId, 'addMember', member, authority);
  };

/** Why the token does not allow the application to add the user, or null if it does. */
function tokenRefusal(
  owner: Awaited<ReturnType<Authenticate>>,
  { userId }: Pick<NewMember, 'userId'>,
  applicationId: ApplicationId | null,
): Refusal | null {
  if (!owner || owner.bot || owner.userId !== userId) return refusal('INVALID_OAUTH2_ACCESS_TOKEN');
  // A user's own token allows everything, here as elsewhere.
  const { authorization } = owner;
  if (!authorization) return null;
  if (authorization.applicationId !== applicationId) return refusal('INVALID_OAUTH2_ACCESS_TOKEN');
  if (authorization.scopes.has('guilds.join')) return null;
  const no = refusal('MISSING_OAUTH2_SCOPE');
  return { ...no, message: `${no.message}: guilds.join` };
}
