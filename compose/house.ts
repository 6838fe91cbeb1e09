import type { Seats } from '../actors/call/ports.ts';
import { createMembership } from '../actors/cluster/delivery/membership.ts';
import type { Signing } from '../actors/runtime/signing.ts';
import { createSupervisor } from '../actors/runtime/supervisor.ts';
import type { RequestHandlers } from '../actors/session/backend.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { Figure } from '../protocol/metrics.ts';
import { createFounding } from '../services/guilds/founding.ts';
import { createIdentity, type Identity } from '../services/identity/identity.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import type { Storage } from '../storage/ports.ts';
import { createAccounts, createOAuth, createProvisional } from './accounts.ts';
import { alone, type Cluster } from './cluster.ts';
import type { Foundation } from './foundation.ts';
import { createLobbies } from './lobbies.ts';
import { createOwners } from './owners.ts';
import { createSessionSide } from './sessionside.ts';
import type { Parts, Site } from './site.ts';
import { createSocial } from './social.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The token was revoked.' };

/** For a house without calls. */
export const NO_CALLS: Seats = { seated: () => {}, unseated: () => {}, ended: () => {} };

interface HousePorts {
  /** Asked for when a session opens. */
  readonly gatewayUrl: () => string;
  /** Base URL of this server as clients should use it, without a slash. */
  readonly publicUrl: () => string;
  /** Asked for when somebody is somewhere else in voice. */
  readonly seats?: () => Seats;
  /** Called when a session asks for a stream. */
  readonly stream?: RequestHandlers['stream'];
  /** Signs the attachment URLs of what is sent to gateway sessions. */
  readonly sign?: Signing['sign'];
  /** Of which this process is a shard; none when absent. */
  readonly cluster?: Cluster;
}

/** The actors of this shard and what ties them together. */
export function createHouse(
  foundation: Foundation,
  storage: Storage,
  {
    gatewayUrl,
    publicUrl,
    seats = () => NO_CALLS,
    stream = () => {},
    cluster = alone(),
    ...signing
  }: HousePorts,
) {
  const { clock, wheel, nextId, randomBytes, onFault } = foundation;
  const supervisor = createSupervisor();
  const membership = createMembership(cluster, foundation, () => ({
    ...{ ...owners, ...side, wheel, clock },
    seats: seats(),
    lobbies: parts.lobbies,
    onFault: (error) => onFault(error, 'membership'),
  }));
  const owners = createOwners(foundation, { storage, cluster, supervisor, membership, seats, ...signing });
  const { users, applications } = storage;
  const identity = createIdentity({
    ...{ users, applications, routing: owners.routing, commit: owners.commit, nextId, randomBytes },
    security: foundation.security,
    revoked: (userId, tokenId) => side.sessions.closeSessionsOf(userId, REVOKED, tokenId),
    nowMs: () => clock.now(),
  });
  const authenticate = async (token: string) =>
    (await identity.authenticate(token)) ?? parts.oauth.authenticate(token);
  const side = createSessionSide(foundation, {
    ...{ storage, cluster, owners, supervisor, membership, authenticate, gatewayUrl, stream },
    parts: () => parts,
    broken: () => {
      identity.forgetAll();
      parts.oauth.forgetAll();
    },
  });
  const { sessions, clusterSessions } = side;
  const site: Site = {
    ...{ ...foundation, ...owners, storage, supervisor, identity, seats, publicUrl, cluster },
    present: side.present,
    sessions: () => sessions,
    parts: () => parts,
  };
  const parts = createParts(site);
  const founding = createFounding({
    ...{ ...site, guildsOwnedMax: foundation.config.guilds_owned_max },
    nowMs: () => clock.now(),
    memberJoined: membership.memberJoined,
  });
  foundation.figures.push(...tokenFigures(identity, parts.oauth));
  const close = (): void => {
    sessions.close();
    clusterSessions?.close();
    parts.lobbies.close();
    parts.provisional.close();
    for (const registry of Object.values(owners.registries)) registry.close();
  };
  return { ...site, ...side, membership, founding, authenticate, parts, close };
}

const createParts = (site: Site): Parts => ({
  oauth: createOAuth(site),
  accounts: createAccounts(site),
  provisional: createProvisional(site),
  ...createLobbies(site),
  social: createSocial(site),
});

/** The bound is of both together. */
const tokenFigures = (...[identity, oauth]: readonly [Identity, OAuth]): Figure[] =>
  Object.entries({ own: identity, oauth2: oauth }).map(([kind, tokens]) => ({
    name: 'guildhall_token_holders_at_hand',
    help: 'Users whose tokens are in memory: their own, or those of applications that act for them.',
    labels: { kind },
    max: identity.cached.max + oauth.cached.max,
    read: () => tokens.cached.count,
  }));
