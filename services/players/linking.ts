import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type {
  ExternalIdentity,
  ExternalProof,
  Identity,
  MergeOrder,
} from '../../engine/provisional/identity.ts';
import type { ApplicationId, FreshId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { IdentityStore } from '../../storage/identity/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { OAuth } from '../oauth/ports.ts';
import { AccountHeldError, type AccountMerges } from './accountmerges.ts';
import type { ScopeOwners } from './owners.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';
import { externalIdentityOf, type PlayerSignIn, playerKeyOf } from './signin.ts';

interface LinkingPorts {
  readonly identities: IdentityStore;
  readonly playerSignIn: PlayerSignIn;
  readonly accountMerges: AccountMerges;
  readonly publishers: Publishers;
  readonly owners: Pick<ScopeOwners, 'join' | 'part' | 'partAgain'>;
  /** Revokes every token and browser session of a user. */
  signOut(userId: UserId): Promise<void>;
  oauth(): Pick<OAuth, 'deauthorize' | 'grants'>;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  mutex<T>(player: string, job: () => Promise<T>): Promise<T>;
  /** Called when an identity belongs to another account than before. */
  identityMoved(identity: Identity, formerUserId: UserId | null): void;
  onFault(error: unknown): void;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
}

/**
 * One of the accounts is being merged.
 *
 * @source
 * https://docs.discord.com/developers/discord-social-sdk/development-guides/provisional-accounts/merging-accounts,
 * "Merge Request Failures"; 423 without a code
 */
const LOCKED: Refusal = { status: 423, code: 0, message: 'The account is being merged, try again' };

/** Codes for a provider that the application has not configured; all other refusals mean an invalid proof. */
const SETUP_CODES = new Set([
  refusal('PROVISIONAL_ACCOUNTS_NOT_GRANTED').code,
  refusal('OIDC_CONFIG_NOT_FOUND').code,
  refusal('OIDC_KEYS_NOT_FOUND').code,
]);

/** Links players to full accounts and unlinks them. */
export class Linking {
  readonly #ports: LinkingPorts;

  constructor(ports: LinkingPorts) {
    this.#ports = ports;
  }

  async merge(order: MergeOrder): Promise<Reply<null>> {
    const { playerSignIn, publishers, owners } = this.#ports;
    const scopeId = await publishers.scopeOf(order.applicationId);
    const player = await playerSignIn.verify(scopeId, order);
    if (!player.ok)
      return SETUP_CODES.has(player.refusal.code) ? player : refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    return owners.join(scopeId, order.userId, externalIdentityOf(player.value));
  }

  join(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>> {
    return this.#ports.mutex(playerKeyOf(scopeId, external), () =>
      this.#withAccountHeld(userId, () => this.#join(userId, scopeId, external)),
    );
  }

  async unmerge(applicationId: ApplicationId, proof: ExternalProof): Promise<Reply<null>> {
    const scopeId = await this.#ports.publishers.scopeOf(applicationId);
    const player = await this.#ports.playerSignIn.verify(scopeId, proof);
    return player.ok ? this.#ports.owners.part(scopeId, externalIdentityOf(player.value)) : player;
  }

  async unmergeByBot(applicationId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>> {
    return this.#ports.owners.part(await this.#ports.publishers.scopeOf(applicationId), external);
  }

  async deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void> {
    const { publishers, identities, oauth, owners, nowMs } = this.#ports;
    // Grants of a child depend on its parent's; no identities are linked through a child.
    if ((await publishers.parentOf(applicationId)) !== null) return;
    const banned = (await identities.bannedUntil(userId, nowMs())) !== undefined;
    const linked = await identities.ofUsers(applicationId, [userId]);
    for (const { identity } of linked)
      await owners.partAgain(identity.applicationId, userId, identity, banned ? userId : null);
    const [, ...children] = await publishers.familyOf(applicationId);
    for (const child of children) await oauth().deauthorize(userId, child);
  }

  async ban(userId: UserId, untilMs: number | null): Promise<void> {
    const { accountMerges, nextId } = this.#ports;
    const move: Move = { kind: 'ban', id: nextId(), userId };
    await accountMerges.store(move, [{ type: 'serverBanned', userId, untilMs }], () => undefined);
    // The ban is retried until it succeeds and reports its own faults.
    await accountMerges.run(move).catch(() => undefined);
  }

  /** Signs a banned user out and unlinks all identities. Idempotent. @throws AccountHeldError while a merge holds the account. */
  async applyBan(userId: UserId): Promise<void> {
    const { signOut, identities, oauth, owners } = this.#ports;
    await signOut(userId);
    for (const each of await identities.ofUser(userId)) {
      const parted = await owners.partAgain(each.applicationId, userId, each, userId);
      if (!parted.ok)
        throw new AccountHeldError(
          `Ban of user ${userId} incomplete: an identity is still linked (${parted.refusal.message}).`,
        );
    }
    for (const { applicationId } of await oauth().grants(userId))
      await oauth().deauthorize(userId, applicationId);
  }

  async #join(userId: UserId, scopeId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>> {
    const { commit, identityMoved, accountMerges, nextId } = this.#ports;
    const found = await this.#source(userId, scopeId, external);
    if (!found.ok) return found;
    if (found.value === 'same') return DONE;
    const identity = { ...external, applicationId: scopeId, userId, formerUserId: null };
    if (found.value === null) {
      await commit(scopeId, [{ type: 'identityWritten', identity }]);
      identityMoved(identity, null);
      return DONE;
    }
    const sourceId = found.value.id;
    return this.#withAccountHeld(sourceId, async () => {
      const id = nextId();
      const move: Move = { kind: 'merge', id, applicationId: scopeId, fromId: sourceId, toId: userId };
      await accountMerges.store(move, [{ type: 'identityWritten', identity }], () =>
        identityMoved(identity, sourceId),
      );
      // The merge now holds both accounts, is retried until it succeeds and reports its own faults.
      accountMerges.run(move).catch(() => undefined);
      return DONE;
    });
  }

  /** The provisional account to merge; null when the player has none, `same` when the identity is already linked to the user. */
  async #source(
    userId: UserId,
    scopeId: ApplicationId,
    external: ExternalIdentity,
  ): Promise<Reply<APIUser | null | 'same'>> {
    const { playerSignIn, identities, nowMs } = this.#ports;
    const target = await playerSignIn.userOf(userId);
    if (!target) return refused(refusal('UNKNOWN_USER'));
    // Banned since the access was granted. The ban unlinks what was linked before it.
    if ((await identities.bannedUntil(userId, nowMs())) !== undefined)
      return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    if (isProvisionalUser(target)) return refused(refusal('MERGE_DESTINATION_PROVISIONAL'));
    const known = (await identities.get(scopeId, external))?.identity;
    if (known?.userId === userId) return { ok: true, value: 'same' };
    const own = await identities.ofUsers(scopeId, [userId]);
    if (own.length > 0) return refused(refusal('IDENTITY_ALREADY_LINKED'));
    const source = known ? await playerSignIn.userOf(known.userId) : null;
    if (source && !isProvisionalUser(source)) return refused(refusal('MERGE_SOURCE_NOT_PROVISIONAL'));
    for (const one of [known?.formerUserId, known?.userId])
      if (one != null && (await identities.bannedUntil(one, nowMs())) !== undefined)
        return refused(refusal('MERGE_SOURCE_BANNED'));
    return { ok: true, value: source };
  }

  part(scopeId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>> {
    const { playerSignIn, identities, mutex } = this.#ports;
    return mutex(playerKeyOf(scopeId, external), async () => {
      const known = (await identities.get(scopeId, external))?.identity;
      const user = known ? await playerSignIn.userOf(known.userId) : null;
      if (!known || !user) return refused(refusal('UNKNOWN_USER'));
      if (isProvisionalUser(user)) return refused(refusal('CANNOT_UNMERGE_PROVISIONAL'));
      return this.#withAccountHeld(known.userId, () => this.#part(known, user, null));
    });
  }

  /** Unlinks an identity if it is still linked to the user; succeeds without a change if it is not. */
  async partAgain(
    scopeId: ApplicationId,
    userId: UserId,
    linked: Identity,
    formerUserId: UserId | null,
  ): Promise<Reply<null>> {
    const { playerSignIn, identities, mutex } = this.#ports;
    return mutex(playerKeyOf(scopeId, linked), async () => {
      const known = (await identities.get(scopeId, linked))?.identity;
      const user = await playerSignIn.userOf(userId);
      if (known?.userId !== userId || !user || isProvisionalUser(user)) return DONE;
      return this.#withAccountHeld(userId, () => this.#part(known, user, formerUserId));
    });
  }

  /** Gives an identity a provisional account again. While the user `formerUserId` is banned, the identity cannot be linked. */
  async #part(identity: Identity, user: APIUser, formerUserId: UserId | null): Promise<Reply<null>> {
    const { playerSignIn, identityMoved, accountMerges, nextId } = this.#ports;
    const account = await playerSignIn.newAccount(user.global_name);
    if (!account) return refused(refusal('NO_UNIQUE_USERNAME'));
    const { applicationId, userId: fromId } = identity;
    const toId = account.id;
    const parted = { ...identity, userId: toId, formerUserId };
    const move: Move = { kind: 'unmerge', id: nextId(), applicationId, fromId, toId };
    const facts: StoredFact[] = [
      { type: 'userCreated', user: account },
      { type: 'identityWritten', identity: parted },
    ];
    await accountMerges.store(move, facts, () => identityMoved(parted, fromId));
    await accountMerges.run(move);
    return DONE;
  }

  /** Runs a job while holding the account, so that no merge changes it; refuses with 423 when it is held already. */
  async #withAccountHeld(userId: UserId, job: () => Promise<Reply<null>>): Promise<Reply<null>> {
    const release = this.#ports.accountMerges.claim(userId);
    if (!release) return { ok: false, refusal: LOCKED };
    try {
      return await job();
    } finally {
      release();
    }
  }
}

const DONE = { ok: true, value: null } as const;
