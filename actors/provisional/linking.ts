import type { APIUser } from 'discord-api-types/v10';
import type { Reply } from '../../engine/outcome.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { IdentityStore } from '../../storage/ports.identities.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { Identity as Credentials } from '../identity/identity.ts';
import type { OAuth } from '../oauth/ports.ts';
import { type Entry, turnOf } from './entry.ts';
import type { Moves } from './moves.ts';
import type { ExternalProof, MergeOrder } from './ports.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';

export interface LinkingPorts {
  readonly identities: IdentityStore;
  readonly entry: Entry;
  readonly moves: Moves;
  readonly publishers: Publishers;
  readonly credentials: Pick<Credentials, 'revokeAll'>;
  oauth(): Pick<OAuth, 'deauthorize' | 'grants'>;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  inTurn<T>(player: string, job: () => Promise<T>): Promise<T>;
  /** The identity stands for another account now. */
  moved(identity: Identity, formerUserId: UserId | null): void;
  onFault(error: unknown): void;
  nextId(): string;
  /** Unix milliseconds. */
  nowMs(): number;
}

/** A move of one of the accounts is under way. @source the platform's page on account linking: 423 without a code */
const LOCKED: Refusal = { status: 423, code: 0, message: 'The account is being merged, try again' };

/** That the application has not set up what is shown; all other refusals of a proof say that it does not count. */
const SETUP_CODES = new Set([
  refusal('PROVISIONAL_ACCOUNTS_NOT_GRANTED').code,
  refusal('OIDC_CONFIG_NOT_FOUND').code,
  refusal('OIDC_KEYS_NOT_FOUND').code,
]);

/** Players and full accounts come together, and part. */
export function createLinking(ports: LinkingPorts) {
  const { identities, entry, moves, publishers } = ports;

  /** What may stand in the way of a merge; otherwise the source, null when there is no account to merge. */
  async function sourceOf(
    { userId }: MergeOrder,
    scopeId: ApplicationId,
    external: ExternalIdentity,
  ): Promise<Reply<{ readonly source: APIUser | null; readonly done: boolean }>> {
    const target = await entry.userOf(userId);
    if (!target) return no('UNKNOWN_USER');
    if (isProvisionalUser(target)) return no('MERGE_DESTINATION_PROVISIONAL');
    const known = (await identities.get(scopeId, external))?.identity;
    if (known?.userId === userId) return { ok: true, value: { source: null, done: true } };
    const own = await identities.ofUsers(scopeId, [userId]);
    if (own.length > 0) return no('IDENTITY_ALREADY_LINKED');
    const source = known ? await entry.userOf(known.userId) : null;
    if (source && !isProvisionalUser(source)) return no('MERGE_SOURCE_NOT_PROVISIONAL');
    for (const banned of [known?.formerUserId, source?.id as UserId | undefined])
      if (banned != null && (await identities.bannedUntil(banned, ports.nowMs())) !== undefined)
        return no('MERGE_SOURCE_BANNED');
    return { ok: true, value: { source, done: false } };
  }

  async function join(
    order: MergeOrder,
    scopeId: ApplicationId,
    external: ExternalIdentity,
  ): Promise<Reply<null>> {
    const found = await sourceOf(order, scopeId, external);
    if (!found.ok) return found;
    const { source, done } = found.value;
    if (done) return DONE;
    const identity = { ...external, applicationId: scopeId, userId: order.userId, formerUserId: null };
    if (source === null) {
      await ports.commit(scopeId, [{ type: 'identityWritten', identity }]);
      ports.moved(identity, null);
      return DONE;
    }
    const sourceId = source.id as UserId;
    return holding(sourceId, async () => {
      const id = ports.nextId();
      const move: Move = { kind: 'merge', id, applicationId: scopeId, fromId: sourceId, toId: order.userId };
      await ports.commit(scopeId, [
        { type: 'identityWritten', identity },
        { type: 'moveBegun', move },
      ]);
      ports.moved(identity, sourceId);
      // It goes on by itself, holds both accounts from now on, and tells its faults.
      moves.run(move).catch(() => undefined);
      return DONE;
    });
  }

  /** Parts an identity from its full account. `formerUserId`: whose ban keeps it from being linked again. */
  async function part(identity: Identity, user: APIUser, formerUserId: UserId | null): Promise<Reply<null>> {
    const account = await entry.newAccount(user.global_name);
    if (!account) return no('NO_UNIQUE_USERNAME');
    const { applicationId, userId: fromId } = identity;
    const toId = account.id as UserId;
    const parted = { ...identity, userId: toId, formerUserId };
    const move: Move = { kind: 'unmerge', id: ports.nextId(), applicationId, fromId, toId };
    await ports.commit(applicationId, [
      { type: 'userCreated', user: account },
      { type: 'identityWritten', identity: parted },
      { type: 'moveBegun', move },
    ]);
    ports.moved(parted, fromId);
    await moves.run(move);
    return DONE;
  }

  /** Does something with an account that nothing else moves meanwhile. */
  async function holding(userId: UserId, job: () => Promise<Reply<null>>): Promise<Reply<null>> {
    const release = moves.claim(userId);
    if (!release) return { ok: false, refusal: LOCKED };
    try {
      return await job();
    } finally {
      release();
    }
  }

  async function unmerge(scopeId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>> {
    return ports.inTurn(turnOf(scopeId, external), async () => {
      const known = (await identities.get(scopeId, external))?.identity;
      const user = known ? await entry.userOf(known.userId) : null;
      if (!known || !user) return no('UNKNOWN_USER');
      if (isProvisionalUser(user)) return no('CANNOT_UNMERGE_PROVISIONAL');
      return holding(known.userId, () => part(known, user, null));
    });
  }

  /** Parts those identities of a user that are still linked; one that is being moved already is left to that. */
  async function partAll(
    userId: UserId,
    linked: readonly Identity[],
    formerUserId: UserId | null,
  ): Promise<void> {
    for (const each of linked) {
      await ports.inTurn(turnOf(each.applicationId, each), async () => {
        const known = (await identities.get(each.applicationId, each))?.identity;
        const user = await entry.userOf(userId);
        if (known?.userId !== userId || !user || isProvisionalUser(user)) return DONE;
        return holding(userId, () => part(known, user, formerUserId));
      });
    }
  }

  return {
    async merge(order: MergeOrder): Promise<Reply<null>> {
      const scopeId = await publishers.scopeOf(order.applicationId);
      const player = await entry.verify(scopeId, order);
      if (!player.ok)
        return SETUP_CODES.has(player.refusal.code) ? player : no('INVALID_OAUTH2_ACCESS_TOKEN');
      const { providerType, providerId, providerIssuedUserId } = player.value;
      const external = { providerType, providerId, providerIssuedUserId };
      return ports.inTurn(turnOf(scopeId, external), () =>
        holding(order.userId, () => join(order, scopeId, external)),
      );
    },

    async unmerge(applicationId: ApplicationId, proof: ExternalProof): Promise<Reply<null>> {
      const scopeId = await publishers.scopeOf(applicationId);
      const player = await entry.verify(scopeId, proof);
      return player.ok ? unmerge(scopeId, player.value) : player;
    },

    async unmergeByBot(applicationId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>> {
      return unmerge(await publishers.scopeOf(applicationId), external);
    },

    async deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void> {
      // What a child was granted hangs on its parent, and nothing hangs on it.
      if ((await publishers.parentOf(applicationId)) !== null) return;
      const linked = (await identities.ofUsers(applicationId, [userId])).map(({ identity }) => identity);
      await partAll(userId, linked, null);
      const [, ...children] = await publishers.familyOf(applicationId);
      for (const child of children) await ports.oauth().deauthorize(userId, child);
    },

    async ban(userId: UserId, untilMs: number | null): Promise<void> {
      await ports.commit(userId, [{ type: 'serverBanned', userId, untilMs }]);
      await ports.credentials.revokeAll(userId);
      await partAll(userId, await identities.ofUser(userId), userId);
      for (const { applicationId } of await ports.oauth().grants(userId))
        await ports.oauth().deauthorize(userId, applicationId);
    },
  };
}

const DONE = { ok: true, value: null } as const;
const no = (name: Parameters<typeof refusal>[0]) => ({ ok: false, refusal: refusal(name) }) as const;
