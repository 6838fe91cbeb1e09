import type { Reply } from '../../engine/outcome.ts';
import { issuerProblem } from '../../engine/provisional/issuer.ts';
import type { ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { ApplicationStore, Storage, StoredFact } from '../../storage/ports.ts';
import type { Identity as Credentials } from '../identity/identity.ts';
import type { OAuth } from '../oauth/ports.ts';
import { inTurns } from '../runtime/turns.ts';
import { botIssued, createEntry } from './entry.ts';
import { createKeySets } from './keysets.ts';
import { createLinking } from './linking.ts';
import { createMoves } from './moves.ts';
import { createPlayers, type IdentityDispatch } from './players.ts';
import type { ClientProof, Mergeable, Outgoing, Provisional } from './ports.ts';
import { createPublishers, isProvisionalUser } from './publishers.ts';
import { createVerifiers } from './verifiers.ts';

export interface ProvisionalPorts {
  readonly storage: Pick<Storage, 'identities' | 'users'> & {
    readonly applications: Pick<ApplicationStore, 'get'>;
  };
  readonly outgoing: Outgoing;
  readonly credentials: Pick<Credentials, 'revokeAll'>;
  oauth(): OAuth;
  /** The parts of the house that have something of an account. */
  parts(): readonly Mergeable[];
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  /** Tells the sessions of a user: those that are the user's own, and those of applications of `among` when given. */
  tell(
    userId: UserId,
    t: IdentityDispatch | 'USER_MERGE_OPERATION_COMPLETED',
    d: object,
    among?: (applicationId: ApplicationId) => boolean,
  ): void;
  later(run: () => void, delayMs: number): void;
  onFault(error: unknown): void;
  nextId(): string;
  /** Unix milliseconds. */
  nowMs(): number;
  monotonic(): number;
  randomBytes(size: number): Uint8Array;
}

/** Provisional accounts over their ports. Call `resume` once, when the house stands. */
export function createProvisional(
  ports: ProvisionalPorts,
): Omit<Provisional, 'close'> & { resume(): Promise<void> } {
  const { storage } = ports;
  const { identities, users } = storage;
  const inTurn = inTurns<string>();
  const keySets = createKeySets(ports);
  const verifiers = createVerifiers({
    keySets,
    outgoing: ports.outgoing,
    settings: (applicationId, type) => identities.provider(applicationId, type),
    nowMs: ports.nowMs,
  });
  const moves = createMoves({
    ...ports,
    identities,
    users,
    familyOf: (applicationId) => publishers.familyOf(applicationId),
  });
  const publishers = createPublishers({
    ...ports,
    identities,
    applications: storage.applications,
    run: moves.run,
  });
  const entry = createEntry({ ...ports, identities, users, publishers, verifiers, inTurn });
  const shared = { ...ports, identities, entry, publishers, inTurn };
  const tell = (userId: UserId, t: IdentityDispatch, d: object): void => {
    const { application_id: of } = d as { application_id: ApplicationId };
    // Children are few and rarely change: whoever is told too much is told of itself.
    void publishers
      .familyOf(of)
      .then((family) => ports.tell(userId, t, d, (applicationId) => family.includes(applicationId)))
      .catch(ports.onFault);
  };
  const players = createPlayers({ ...shared, tell });
  const linking = createLinking({ ...shared, moves, moved: players.moved });

  async function asClient<Value>(
    { applicationId, clientSecret }: ClientProof,
    then: () => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> {
    const client = await ports.oauth().client(applicationId, clientSecret);
    return client ? then() : { ok: false, refusal: refusal('INVALID_CLIENT_SECRET') };
  }

  return {
    resume: moves.resume,
    isProvisional: async (userId) => {
      const [user] = await users.get([userId]);
      return user !== undefined && isProvisionalUser(user);
    },
    signIn: (client, proof) => asClient(client, () => entry.signIn(client.applicationId, proof)),
    signInByBot: entry.signInByBot,
    exchangeChild: publishers.exchangeChild,
    merge: linking.merge,
    unmerge: (client, proof) => asClient(client, () => linking.unmerge(client.applicationId, proof)),
    unmergeByBot: async (applicationId, externalUserId) => {
      const external = botIssued(externalUserId);
      return external.ok ? linking.unmergeByBot(applicationId, external.value) : external;
    },
    deauthorized: linking.deauthorized,
    banned: linking.ban,
    unbanned: (userId) => ports.commit(userId, [{ type: 'serverUnbanned', userId }]),
    isBanned: async (userId) => (await identities.bannedUntil(userId, ports.nowMs())) !== undefined,
    identities: players.identities,
    identity: players.identity,
    forgetIdentity: players.forget,
    profiles: players.profiles,
    profile: players.profile,
    updateProfile: players.updateProfile,
    parentOf: publishers.parentOf,
    related: publishers.related,
    linkChild: publishers.linkChild,
    async configure(applicationId, settings) {
      if (!(await storage.applications.get(applicationId)))
        return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const checked = await checkIssuer(settings);
      if (!checked.ok) return checked;
      await ports.commit(applicationId, [{ type: 'providerConfigured', applicationId, settings }]);
      return checked;
    },
    unconfigure: (applicationId, provider) =>
      ports.commit(applicationId, [{ type: 'providerUnconfigured', applicationId, provider }]),
  };

  async function checkIssuer(settings: ProviderSettings): Promise<Reply<null>> {
    if (!('issuer' in settings)) return { ok: true, value: null };
    const { issuer } = settings;
    const wrong = issuerProblem(issuer, ports.outgoing.allowsPrivate(issuer));
    if (wrong === null) return keySets.probe(issuer);
    return { ok: false, refusal: invalidField(['issuer'], 'ISSUER_INVALID', wrong) };
  }
}
