import type { Routing } from '../../actors/placement/routing.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { CommitAndNotify } from '../../actors/user/notifier.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Identity } from '../../engine/provisional/identity.ts';
import { issuerProblem } from '../../engine/provisional/issuer.ts';
import type { ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId, FreshId, UserId } from '../../protocol/ids.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { Storage, StoredFact } from '../../storage/ports.ts';
import type { OAuth } from '../oauth/ports.ts';
import { AccountMerges } from './accountmerges.ts';
import { KeySets } from './keysets.ts';
import { Linking } from './linking.ts';
import type { ScopeOwners } from './owners.ts';
import { type IdentityDispatch, type IdentityPayload, Players } from './players.ts';
import type { ClientProof, Mergeable, OutgoingHttp, Provisional } from './ports.ts';
import { isProvisionalUser, Publishers } from './publishers.ts';
import { botIdentity, PlayerSignIn } from './signin.ts';
import { createVerifiers } from './verifiers.ts';

export interface ProvisionalPorts {
  readonly storage: Pick<Storage, 'identities' | 'users'> & {
    readonly applications: Pick<ApplicationStore, 'get'>;
  };
  readonly outgoing: OutgoingHttp;
  /** Revokes every token and browser session of a user. */
  signOut(userId: UserId): Promise<void>;
  oauth(): OAuth;
  /** The services that store data of accounts. */
  mergeables(): readonly Mergeable[];
  /** Resolves when the facts, which any shard may decide, are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  /** Only for facts that the owner of the id decides. */
  commitAsOwner(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  readonly commitAndNotify: CommitAndNotify;
  readonly tap: Pick<Tap, 'see'>;
  readonly routing: Routing;
  /** Dispatches to the user's own sessions and to those of the applications `among`; of all applications when absent. */
  notify(userId: UserId, t: IdentityDispatch, d: object, among?: readonly ApplicationId[]): void;
  schedule(run: () => void, delayMs: number): void;
  onFault(error: unknown): void;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
  monotonic(): number;
  randomBytes(size: number): Uint8Array;
}

/** Creates the parts in the order of their dependencies. */
function assemble(all: ProvisionalPorts) {
  const ports = { ...all, commit: all.commitAsOwner };
  const { identities, users, applications } = ports.storage;
  const stores = { identities, users, applications };
  const mutex = keyedMutex<string>();
  const keySets = new KeySets(ports);
  const verifiers = createVerifiers({
    keySets,
    outgoing: ports.outgoing,
    settings: (applicationId, type) => identities.provider(applicationId, type),
    nowMs: ports.nowMs,
  });
  const accountMerges: AccountMerges = new AccountMerges({
    ...ports,
    ...stores,
    familyOf: (applicationId) => publishers.familyOf(applicationId),
    applyBan: (userId) => linking.applyBan(userId),
  });
  const publishers = new Publishers({ ...ports, ...stores, moves: accountMerges });
  const { ask } = ports.routing;
  const owners: ScopeOwners = {
    enter: ask('players.enter', (...asked: Parameters<ScopeOwners['enter']>) => playerSignIn.enter(...asked)),
    join: ask('players.join', (...asked: Parameters<ScopeOwners['join']>) => linking.join(...asked)),
    part: ask('players.part', (...asked: Parameters<ScopeOwners['part']>) => linking.part(...asked)),
    partAgain: ask('players.partAgain', (...asked: Parameters<ScopeOwners['partAgain']>) =>
      linking.partAgain(...asked),
    ),
    updateProfile: ask('players.updateProfile', (...asked: Parameters<ScopeOwners['updateProfile']>) =>
      players.changeProfile(...asked),
    ),
    forget: ask('players.forget', (...asked: Parameters<ScopeOwners['forget']>) => players.remove(...asked)),
  };
  const playerSignIn: PlayerSignIn = new PlayerSignIn({
    ...ports,
    ...stores,
    owners,
    publishers,
    verifiers,
    mutex,
  });
  const common = { ...ports, ...stores, owners, playerSignIn, publishers, mutex };
  const notify = (userId: UserId, t: IdentityDispatch, d: IdentityPayload): void => {
    publishers
      .familyOf(d.application_id)
      .then((family) => ports.notify(userId, t, d, family))
      .catch(ports.onFault);
  };
  const players: Players = new Players({ ...common, notify });
  const identityMoved = (identity: Identity, formerUserId: UserId | null) =>
    players.identityMoved(identity, formerUserId);
  const linking: Linking = new Linking({ ...common, accountMerges, identityMoved });
  return { keySets, accountMerges, publishers, playerSignIn, players, linking };
}

/** Provisional accounts over their ports. Call `resume` once, after the server has started. */
export function createProvisional(ports: ProvisionalPorts): Provisional & { resume(): Promise<void> } {
  const { identities, users } = ports.storage;
  const { keySets, accountMerges, publishers, playerSignIn, players, linking } = assemble(ports);

  async function authenticated<Value>(
    { applicationId, clientSecret }: ClientProof,
    then: () => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> {
    const client = await ports.oauth().client(applicationId, clientSecret);
    return client ? then() : { ok: false, refusal: refusal('INVALID_CLIENT_SECRET') };
  }

  return {
    resume: () => accountMerges.resume(),
    isProvisional: async (userId) => (await users.get([userId])).some(isProvisionalUser),
    signIn: (client, proof) => authenticated(client, () => playerSignIn.signIn(client.applicationId, proof)),
    signInByBot: (...input) => playerSignIn.signInByBot(...input),
    exchangeChild: (...input) => publishers.exchangeChild(...input),
    merge: (order) => linking.merge(order),
    unmerge: (client, proof) => authenticated(client, () => linking.unmerge(client.applicationId, proof)),
    unmergeByBot: async (applicationId, externalUserId) => {
      const external = botIdentity(externalUserId);
      return external.ok ? linking.unmergeByBot(applicationId, external.value) : external;
    },
    deauthorized: (...pair) => linking.deauthorized(...pair),
    banned: (userId, untilMs) => linking.ban(userId, untilMs),
    unbanned: (userId) => ports.commit(userId, [{ type: 'serverUnbanned', userId }]),
    isBanned: async (userId) => (await identities.bannedUntil(userId, ports.nowMs())) !== undefined,
    identities: (...asked) => players.identities(...asked),
    identity: (...asked) => players.identity(...asked),
    forgetIdentity: (...input) => players.forget(...input),
    profiles: (...asked) => players.profiles(...asked),
    profile: (...asked) => players.profile(...asked),
    updateProfile: (...input) => players.updateProfile(...input),
    parentOf: (applicationId) => publishers.parentOf(applicationId),
    related: (a, b) => publishers.related(a, b),
    linkChild: (childId, parentId) => publishers.linkChild(childId, parentId),
    configure: (...input) => configure(ports, keySets, ...input),
    unconfigure: (applicationId, provider) =>
      ports.commit(applicationId, [{ type: 'providerUnconfigured', applicationId, provider }]),
  };
}

/** Stores the settings of an identity provider after its issuer has answered. */
async function configure(
  { storage, outgoing, commit }: ProvisionalPorts,
  keySets: KeySets,
  applicationId: ApplicationId,
  settings: ProviderSettings,
): Promise<Reply<null>> {
  if (!(await storage.applications.get(applicationId)))
    return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
  if ('issuer' in settings) {
    const wrong = issuerProblem(settings.issuer, outgoing.allowsPrivate(settings.issuer));
    if (wrong !== null) return { ok: false, refusal: invalidField(['issuer'], 'ISSUER_INVALID', wrong) };
    const probed = await keySets.probe(settings.issuer);
    if (!probed.ok) return probed;
  }
  await commit(applicationId, [{ type: 'providerConfigured', applicationId, settings }]);
  return { ok: true, value: null };
}
