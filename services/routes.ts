import type { Routes } from '../actors/placement/routing.ts';
import { loginOf } from '../engine/account/logins.ts';
import type { Authority } from '../engine/kernel/authority.ts';
import { isApplicationId, isUserId, type UserId } from '../protocol/ids.ts';
import type { AccountStore } from '../storage/account/port.ts';
import type { ApplicationStore } from '../storage/application/port.ts';
import type { Accounts } from './accounts/ports.ts';
import { claimedUser } from './identity/identity.ts';
import type { Lobbies } from './lobbies/ports.ts';
import type { Matchmaking } from './matchmaking/ports.ts';
import type { OAuth, TokenRequest } from './oauth/ports.ts';
import type { Provisional } from './players/ports.ts';
import type { Person, Social } from './social/ports.ts';

const self = (by: Person): UserId => by.userId;

/** Relationships route pairs of users themselves; activities run on the owner shard of the user who shares them. */
export const SOCIAL_ROUTES: Routes<Social> = {
  ...{ opened: 'local', ended: 'local', visibleActivities: 'local', presented: 'local' },
  ...{ blocks: 'local', friends: 'local' },
  relationships: {
    ...{ list: 'local', listOfGame: 'local', request: 'local', requestNamed: 'local' },
    ...{ block: 'local', remove: 'local', rename: 'local' },
  },
  messages: {
    ...{ list: 'local', edit: 'local', remove: 'local', channel: 'local', moderate: 'local' },
    // Unstored messages stay with the owner of the sender, as do the activities of invites.
    send: { method: 'directMessages.send', key: self },
  },
  activities: {
    accept: { method: 'activities.accept', key: (_by, { userId }) => userId },
    metadata: { method: 'activities.metadata', key: (_by, { userId }) => userId },
    startHeadless: { method: 'activities.startHeadless', key: self },
    endHeadless: { method: 'activities.endHeadless', key: self },
    takeBack: 'local',
  },
  roleConnections: {
    ...{ get: 'local', set: 'local', remove: 'local' },
    ...{ metadata: 'local', setMetadata: 'local' },
  },
  settings: { get: 'local', set: 'local' },
  ...{ merge: 'local', unmerge: 'local', forgetGame: 'local' },
};

/**
 * The user whose owner shard issues the tokens: named in the code or refresh token, else the owner of the application.
 * Devices are routed by the device flow.
 */
async function holderOf(
  { grantType, clientId, code, refreshToken }: TokenRequest,
  applications: Pick<ApplicationStore, 'get'>,
): Promise<UserId | null> {
  if (grantType === 'authorization_code') return code === null ? null : claimedUser(code);
  if (grantType === 'refresh_token') return refreshToken === null ? null : claimedUser(refreshToken);
  if (grantType !== 'client_credentials' || !isApplicationId(clientId)) return null;
  return (await applications.get(clientId))?.owner_id ?? null;
}

/** Grants are changed on the owner shard of their user, in order. */
export const oauthRoutes = (applications: Pick<ApplicationStore, 'get'>): Routes<OAuth> => ({
  // Every shard caches the tokens that it has seen; changes invalidate all caches.
  ...{ cached: 'local', forgetAll: 'local', authenticate: 'local' },
  issue: { method: 'oauth.issue', key: ({ userId }) => userId },
  granted: { method: 'oauth.granted', key: (userId) => userId },
  deauthorize: { method: 'oauth.deauthorize', key: (userId) => userId },
  grants: { method: 'oauth.grants', key: (userId) => userId },
  ...{ grantors: 'local', client: 'local', publicKeys: 'local', endRevoked: 'local' },
  token: { method: 'oauth.token', key: (request) => holderOf(request, applications) },
  revoke: { method: 'oauth.revoke', key: (_client, token) => claimedUser(token) },
  consents: {
    describe: { method: 'oauth.describeConsent', key: (userId) => userId },
    decide: { method: 'oauth.decideConsent', key: (userId) => userId },
  },
  devices: { begin: 'local', beginSignIn: 'local', signedIn: 'local', look: 'local', finish: 'local' },
});

/** Players are routed by their publisher's application once their identity is verified. */
export const PROVISIONAL_ROUTES: Routes<Provisional> = {
  ...{ isProvisional: 'local', signIn: 'local', signInByBot: 'local', exchangeChild: 'local' },
  ...{ merge: 'local', unmerge: 'local', unmergeByBot: 'local', deauthorized: 'local' },
  banned: { method: 'players.banned', key: (userId) => userId },
  ...{ unbanned: 'local', isBanned: 'local' },
  ...{ identities: 'local', identity: 'local', forgetIdentity: 'local' },
  ...{ profiles: 'local', profile: 'local', updateProfile: 'local' },
  ...{ parentOf: 'local', related: 'local' },
  linkChild: { method: 'players.linkChild', key: (childId) => childId },
  ...{ configure: 'local', unconfigure: 'local', close: 'local' },
};

/** The user id at the start of a ticket or e-mailed link. It is not authenticated; it only selects the owner shard. */
function ticketHolder(ticket: string): UserId | null {
  const [id = ''] = ticket.slice(0, 80).split('.', 1);
  return isUserId(id) ? id : null;
}

/** Longest login; longer text matches no account. */
const LOGIN_CHARACTERS_MAX = 320;

/**
 * An account changes on the owner shard of its user. The database assigns names, and attempts are routed to their
 * counters.
 */
export const accountRoutes = (accounts: Pick<AccountStore, 'byLogin'>): Routes<Accounts> => ({
  ...{ registrationOpen: 'local', register: 'local', create: 'local' },
  signIn: {
    method: 'accounts.signIn',
    key: ({ login }) => accounts.byLogin(loginOf(login.slice(0, LOGIN_CHARACTERS_MAX))),
  },
  secondFactor: { method: 'accounts.secondFactor', key: ticketHolder },
  issueToken: { method: 'accounts.issueToken', key: (userId) => userId },
  revokeToken: { method: 'accounts.revokeToken', key: (userId) => userId },
  open: { method: 'accounts.open', key: (userId) => userId },
  ...{ browserSession: 'local', browserSessions: 'local' },
  close: { method: 'accounts.close', key: (userId) => userId },
  closeAll: { method: 'accounts.closeAll', key: (userId) => userId },
  ...{ profile: 'local', contact: 'local' },
  rename: { method: 'accounts.rename', key: (userId) => userId },
  confirm: { method: 'accounts.confirm', key: (userId) => userId },
  changePassword: { method: 'accounts.changePassword', key: (userId) => userId },
  setPassword: { method: 'accounts.setPassword', key: (userId) => userId },
  changeEmail: { method: 'accounts.changeEmail', key: (userId) => userId },
  askToConfirm: { method: 'accounts.askToConfirm', key: (userId) => userId },
  confirmEmail: { method: 'accounts.confirmEmail', key: ticketHolder },
  forgot: 'local',
  reset: { method: 'accounts.reset', key: ticketHolder },
  offerFactor: { method: 'accounts.offerFactor', key: (userId) => userId },
  enableFactor: { method: 'accounts.enableFactor', key: (userId) => userId },
  disableFactor: { method: 'accounts.disableFactor', key: (userId) => userId },
  ...{ digest: 'local', idle: 'local' },
});

const caller = (_: unknown, { by }: Authority): UserId => by.userId;

/**
 * Commands are routed by lobby, secret or link. Joining runs on the owner shard of the user, which knows the user's
 * sessions and number of lobbies.
 */
export const LOBBY_ROUTES: Routes<Lobbies> = {
  ...{ call: 'local', create: 'local' },
  createOrJoin: { method: 'lobbies.createOrJoin', key: caller },
  ...{ update: 'local', setMember: 'local', setMembers: 'local', send: 'local', history: 'local' },
  ...{ moderate: 'local', link: 'local', unlinkChannel: 'local', invite: 'local' },
  extensions: {
    create: { method: 'lobbies.createOpen', key: caller },
    enter: { method: 'lobbies.enter', key: (_lobbyId, _input, { by }) => by.userId },
    ...{ configure: 'local', search: 'local', speak: 'local', createWith: 'local' },
  },
  ...{ opened: 'local', ended: 'local', voiceStates: 'local', voiceServerPing: 'local' },
  ...{ owns: 'local', invited: 'local', drop: 'local', userChanged: 'local', channelNews: 'local' },
  applicationChanged: 'local',
  ...{ merge: 'local', unmerge: 'local', forgetGame: 'local' },
};

/** All tickets of an application are on one shard, so that no player is in two queues of it. */
export const MATCHMAKING_ROUTES: Routes<Matchmaking> = {
  define: 'local',
  enter: { method: 'matchmaking.enter', key: (_draft, { by }) => by.applicationId },
  get: { method: 'matchmaking.get', key: (_id, { by }) => by.applicationId },
  cancel: { method: 'matchmaking.cancel', key: (_id, { by }) => by.applicationId },
  queues: 'local',
};
