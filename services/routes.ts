import type { Routes } from '../actors/cluster/routing/routed.ts';
import { loginOf } from '../engine/account/logins.ts';
import type { Authority } from '../engine/kernel/authority.ts';
import { type ApplicationId, isSnowflake, type UserId } from '../protocol/ids.ts';
import type { AccountStore } from '../storage/account/port.ts';
import type { ApplicationStore } from '../storage/application/port.ts';
import type { Accounts } from './accounts/ports.ts';
import { claimedUser } from './identity/tokens.ts';
import type { Lobbies } from './lobbies/ports.ts';
import type { Matchmaking } from './matchmaking/ports.ts';
import type { OAuth, TokenRequest } from './oauth/ports.ts';
import type { Provisional } from './players/ports.ts';
import type { Person, Social } from './social/ports.ts';

const self = (by: Person): UserId => by.userId;

/** Relationships find the owners of pairs themselves; what people do is known to the owner of who does it. */
export const SOCIAL_ROUTES: Routes<Social> = {
  ...{ opened: 'local', ended: 'local', acting: 'local', presented: 'local' },
  ...{ blocks: 'local', friends: 'local' },
  relationships: {
    ...{ list: 'local', listOfGame: 'local', request: 'local', requestNamed: 'local' },
    ...{ block: 'local', remove: 'local', rename: 'local' },
  },
  messages: {
    ...{ list: 'local', edit: 'local', remove: 'local', channel: 'local', moderate: 'local' },
    // What passes and is never kept stays with the sender, as does what an invite is an invite to.
    send: { by: self },
  },
  activities: {
    accept: { by: (_by, { userId }) => userId, again: true },
    metadata: { by: (_by, { userId }) => userId, again: true },
    startHeadless: { by: self },
    endHeadless: { by: self },
    takeBack: 'local',
  },
  roleConnections: { get: 'local', set: 'local', metadata: 'local', setMetadata: 'local' },
  settings: { get: 'local', set: 'local' },
  ...{ merge: 'local', unmerge: 'local', forgetGame: 'local' },
};

/** What is shown for tokens says whose it is; who shows nothing is the application's owner. Devices find their owners themselves. */
async function holderOf(
  { grantType, clientId, code, refreshToken }: TokenRequest,
  applications: Pick<ApplicationStore, 'get'>,
): Promise<UserId | null> {
  if (grantType === 'authorization_code') return code === null ? null : claimedUser(code);
  if (grantType === 'refresh_token') return refreshToken === null ? null : claimedUser(refreshToken);
  if (grantType !== 'client_credentials' || !isSnowflake(clientId)) return null;
  return (await applications.get(clientId as ApplicationId))?.owner_id ?? null;
}

/** What a person has granted is decided by the owner of the person, one thing after another. */
export const oauthRoutes = (applications: Pick<ApplicationStore, 'get'>): Routes<OAuth> => ({
  // Every shard keeps the tokens that it sees at hand; what changes is dropped everywhere.
  ...{ cached: 'local', forgetAll: 'local', authenticate: 'local' },
  issue: { by: ({ userId }) => userId },
  granted: { by: (userId) => userId, again: true },
  deauthorize: { by: (userId) => userId, again: true },
  grants: { by: (userId) => userId, again: true },
  ...{ grantors: 'local', client: 'local', publicKeys: 'local' },
  token: { by: (request) => holderOf(request, applications) },
  revoke: { by: (_client, token) => claimedUser(token), again: true },
  consents: {
    describe: { by: (userId) => userId, again: true },
    decide: { by: (userId) => userId },
  },
  devices: { begin: 'local', look: 'local', finish: 'local' },
});

/** Players find the owner of their publisher's application themselves, once it is known who they are. */
export const PROVISIONAL_ROUTES: Routes<Provisional> = {
  ...{ isProvisional: 'local', signIn: 'local', signInByBot: 'local', exchangeChild: 'local' },
  ...{ merge: 'local', unmerge: 'local', unmergeByBot: 'local', deauthorized: 'local' },
  banned: { by: (userId) => userId },
  ...{ unbanned: 'local', isBanned: 'local' },
  ...{ identities: 'local', identity: 'local', forgetIdentity: 'local' },
  ...{ profiles: 'local', profile: 'local', updateProfile: 'local' },
  ...{ parentOf: 'local', related: 'local' },
  linkChild: { by: (childId) => childId },
  ...{ configure: 'local', unconfigure: 'local', close: 'local' },
};

/** Tickets and links in letters begin with whose they are; that proves nothing, but says who must look. */
function ticketHolder(ticket: string): UserId | null {
  const [id = ''] = ticket.slice(0, 80).split('.', 1);
  return isSnowflake(id) ? (id as UserId) : null;
}

/** What is typed as login at most; more is nobody's. */
const LOGIN_CHARACTERS_MAX = 320;

/** An account is changed by the owner of its user. Names are given by the database, and attempts find their counts. */
export const accountRoutes = (accounts: Pick<AccountStore, 'byLogin'>): Routes<Accounts> => ({
  ...{ registrationOpen: 'local', register: 'local', create: 'local' },
  signIn: { by: ({ login }) => accounts.byLogin(loginOf(login.slice(0, LOGIN_CHARACTERS_MAX))) },
  secondFactor: { by: ticketHolder },
  issueToken: { by: (userId) => userId },
  revokeToken: { by: (userId) => userId, again: true },
  open: { by: (userId) => userId },
  ...{ browserSession: 'local', browserSessions: 'local' },
  close: { by: (userId) => userId, again: true },
  closeAll: { by: (userId) => userId, again: true },
  ...{ profile: 'local', contact: 'local' },
  rename: { by: (userId) => userId },
  confirm: { by: (userId) => userId },
  changePassword: { by: (userId) => userId },
  setPassword: { by: (userId) => userId },
  changeEmail: { by: (userId) => userId },
  askToConfirm: { by: (userId) => userId },
  confirmEmail: { by: ticketHolder },
  forgot: 'local',
  reset: { by: ticketHolder },
  offerFactor: { by: (userId) => userId },
  enableFactor: { by: (userId) => userId },
  disableFactor: { by: (userId) => userId },
  ...{ digest: 'local', idle: 'local' },
});

const caller = (_: unknown, { by }: Authority): UserId => by.userId;

/**
 * Commands find the lobby's owner themselves, secrets and links theirs. Who comes into a lobby is brought by the owner
 * of the user: it knows the sessions, and in how many lobbies one is.
 */
export const LOBBY_ROUTES: Routes<Lobbies> = {
  ...{ call: 'local', create: 'local' },
  createOrJoin: { by: caller, again: true },
  ...{ update: 'local', setMember: 'local', setMembers: 'local', send: 'local', history: 'local' },
  ...{ moderate: 'local', link: 'local', unlinkChannel: 'local', invite: 'local' },
  beyond: {
    create: { by: caller },
    enter: { by: (_lobbyId, _input, { by }) => by.userId, again: true },
    ...{ configure: 'local', search: 'local', speak: 'local', gather: 'local' },
  },
  ...{ opened: 'local', ended: 'local', voiceStates: 'local', voiceServerPing: 'local' },
  ...{ owns: 'local', invited: 'local', drop: 'local', userChanged: 'local', channelNews: 'local' },
  ...{ merge: 'local', unmerge: 'local', forgetGame: 'local', close: 'local' },
};

/** All tickets of an application are in one place: nobody is in two queues of it. */
export const MATCHMAKING_ROUTES: Routes<Matchmaking> = {
  define: 'local',
  enter: { by: (_draft, { by }) => by.applicationId },
  get: { by: (_id, { by }) => by.applicationId, again: true },
  cancel: { by: (_id, { by }) => by.applicationId, again: true },
  close: 'local',
};
