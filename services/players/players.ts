import type { Reply } from '../../engine/kernel/outcome.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import { changeProfile, EMPTY_PROFILE, type ProfileChange } from '../../engine/provisional/profile.ts';
import { identityObject } from '../../protocol/identities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { IdentityStore, StoredIdentity } from '../../storage/ports.identities.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { type Entry, externalOf, turnOf } from './entry.ts';
import type { ScopeOwners } from './owners.ts';
import type { IdentityProfile } from './ports.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';

export type IdentityDispatch = 'USER_APPLICATION_IDENTITY_UPDATE' | 'USER_APPLICATION_IDENTITY_REMOVE';

/** What those dispatches say. Their form is ours: the platform has not published one. */
export interface IdentityPayload {
  readonly application_id: ApplicationId;
  readonly user_id: UserId;
  readonly external_id: object;
}

interface PlayerPorts {
  readonly identities: IdentityStore;
  readonly entry: Entry;
  readonly publishers: Publishers;
  readonly owners: Pick<ScopeOwners, 'updateProfile' | 'forget'>;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  inTurn<T>(player: string, job: () => Promise<T>): Promise<T>;
  tell(userId: UserId, t: IdentityDispatch, d: IdentityPayload): void;
  onFault(error: unknown): void;
}

/** An identity and its profile as dispatches show them. */
const shown = ({ identity, profile }: StoredIdentity): IdentityPayload => ({
  application_id: identity.applicationId,
  user_id: identity.userId,
  external_id: identityObject(identity),
  ...(profile ?? EMPTY_PROFILE),
});

const profileOf = ({ identity, profile }: StoredIdentity): IdentityProfile => ({
  identity,
  ...(profile ?? EMPTY_PROFILE),
});

/** Who an application's players are, and what the game tells of them. */
export class Players {
  readonly #ports: PlayerPorts;

  constructor(ports: PlayerPorts) {
    this.#ports = ports;
  }

  /** An identity stands for another account now: both users hear of it. */
  moved(identity: Identity, formerUserId: UserId | null): void {
    if (formerUserId !== null) this.#tellGone(identity, formerUserId);
    this.#ports.identities
      .get(identity.applicationId, identity)
      .then((now) => now && this.#ports.tell(identity.userId, 'USER_APPLICATION_IDENTITY_UPDATE', shown(now)))
      .catch(this.#ports.onFault);
  }

  async identities(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<Identity[]> {
    return (await this.#of(applicationId, userIds)).map(({ identity }) => identity);
  }

  async identity(applicationId: ApplicationId, external: ExternalIdentity): Promise<Identity | null> {
    const scopeId = await this.#ports.publishers.scopeOf(applicationId);
    return (await this.#ports.identities.get(scopeId, external))?.identity ?? null;
  }

  async profiles(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<IdentityProfile[]> {
    return (await this.#of(applicationId, userIds)).map(profileOf);
  }

  async profile(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
  ): Promise<Reply<IdentityProfile>> {
    const found = await this.#find(applicationId, userId, externalUserId);
    return found ? { ok: true, value: profileOf(found) } : UNKNOWN;
  }

  async updateProfile(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
    change: ProfileChange,
  ): Promise<Reply<{ readonly created: boolean }>> {
    const found = await this.#find(applicationId, userId, externalUserId);
    if (!found) return UNKNOWN;
    const { identity } = found;
    return this.#ports.owners.updateProfile(identity.applicationId, userId, externalOf(identity), change);
  }

  async changeProfile(
    scopeId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
    change: ProfileChange,
  ): Promise<Reply<{ readonly created: boolean }>> {
    const { identities, commit, inTurn, tell } = this.#ports;
    return inTurn(turnOf(scopeId, external), async () => {
      const now = await identities.get(scopeId, external);
      if (now?.identity.userId !== userId) return UNKNOWN;
      const changed = changeProfile(now.profile ?? EMPTY_PROFILE, change);
      if (!changed.ok) return changed;
      const { value: profile } = changed;
      await commit(scopeId, [{ type: 'profileWritten', applicationId: scopeId, external, profile }]);
      tell(userId, 'USER_APPLICATION_IDENTITY_UPDATE', shown({ identity: now.identity, profile }));
      return { ok: true, value: { created: now.profile === null } };
    });
  }

  async forget(
    applicationId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
  ): Promise<Reply<null>> {
    const { publishers, owners } = this.#ports;
    return owners.forget(await publishers.scopeOf(applicationId), userId, externalOf(external));
  }

  async remove(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>> {
    const { identities, entry, commit, inTurn } = this.#ports;
    return inTurn(turnOf(scopeId, external), async () => {
      const known = (await identities.get(scopeId, external))?.identity;
      if (known?.userId !== userId) return UNKNOWN;
      const user = await entry.userOf(userId);
      if (user && isProvisionalUser(user))
        return { ok: false, refusal: refusal('CANNOT_UNMERGE_PROVISIONAL') };
      await commit(scopeId, [{ type: 'identityRemoved', applicationId: scopeId, external }]);
      this.#tellGone(known, userId);
      return { ok: true, value: null };
    });
  }

  async #of(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<StoredIdentity[]> {
    return this.#ports.identities.ofUsers(await this.#ports.publishers.scopeOf(applicationId), userIds);
  }

  /** Of a user, by the provider's name for the player: were two providers to agree on it, the first would count. */
  async #find(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
  ): Promise<StoredIdentity | null> {
    const found = await this.#of(applicationId, [userId]);
    return found.find(({ identity }) => identity.providerIssuedUserId === externalUserId) ?? null;
  }

  #tellGone(identity: Identity, userId: UserId): void {
    this.#ports.tell(userId, 'USER_APPLICATION_IDENTITY_REMOVE', {
      application_id: identity.applicationId,
      user_id: userId,
      external_id: identityObject(identity),
    });
  }
}

const UNKNOWN = { ok: false, refusal: refusal('UNKNOWN_USER') } as const;
