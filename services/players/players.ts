import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import { changeProfile, EMPTY_PROFILE, type ProfileChange } from '../../engine/provisional/profile.ts';
import { identityObject } from '../../protocol/identities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { IdentityStore, StoredIdentity } from '../../storage/identity/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { ScopeOwners } from './owners.ts';
import type { IdentityProfile } from './ports.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';
import { externalIdentityOf, type PlayerSignIn, playerKeyOf } from './signin.ts';

export type IdentityDispatch = 'USER_APPLICATION_IDENTITY_UPDATE' | 'USER_APPLICATION_IDENTITY_REMOVE';

/** Payload of both dispatches. The shape is ours, because the platform has published none. */
export interface IdentityPayload {
  readonly application_id: ApplicationId;
  readonly user_id: UserId;
  readonly external_id: object;
}

interface PlayersPorts {
  readonly identities: IdentityStore;
  readonly playerSignIn: PlayerSignIn;
  readonly publishers: Publishers;
  readonly owners: Pick<ScopeOwners, 'updateProfile' | 'forget'>;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  mutex<T>(player: string, job: () => Promise<T>): Promise<T>;
  notify(userId: UserId, t: IdentityDispatch, d: IdentityPayload): void;
  onFault(error: unknown): void;
}

/** Payload of an identity with its profile. */
const identityPayload = ({ identity, profile }: StoredIdentity): IdentityPayload => ({
  application_id: identity.applicationId,
  user_id: identity.userId,
  external_id: identityObject(identity),
  ...(profile ?? EMPTY_PROFILE),
});

const profileOf = ({ identity, profile }: StoredIdentity): IdentityProfile => ({
  identity,
  ...(profile ?? EMPTY_PROFILE),
});

/** Identities of an application's players and the profiles that the game sets for them. */
export class Players {
  readonly #ports: PlayersPorts;

  constructor(ports: PlayersPorts) {
    this.#ports = ports;
  }

  /** Dispatches the change of an identity's account to both users. */
  identityMoved(identity: Identity, formerUserId: UserId | null): void {
    if (formerUserId !== null) this.#tellGone(identity, formerUserId);
    this.#ports.identities
      .get(identity.applicationId, identity)
      .then(
        (now) =>
          now &&
          this.#ports.notify(identity.userId, 'USER_APPLICATION_IDENTITY_UPDATE', identityPayload(now)),
      )
      .catch(this.#ports.onFault);
  }

  async identities(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<Identity[]> {
    return (await this.#identitiesOf(applicationId, userIds)).map(({ identity }) => identity);
  }

  async identity(applicationId: ApplicationId, external: ExternalIdentity): Promise<Identity | null> {
    const scopeId = await this.#ports.publishers.scopeOf(applicationId);
    return (await this.#ports.identities.get(scopeId, external))?.identity ?? null;
  }

  async profiles(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<IdentityProfile[]> {
    return (await this.#identitiesOf(applicationId, userIds)).map(profileOf);
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
    return this.#ports.owners.updateProfile(
      identity.applicationId,
      userId,
      externalIdentityOf(identity),
      change,
    );
  }

  async changeProfile(
    scopeId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
    change: ProfileChange,
  ): Promise<Reply<{ readonly created: boolean }>> {
    const { identities, commit, mutex, notify } = this.#ports;
    return mutex(playerKeyOf(scopeId, external), async () => {
      const now = await identities.get(scopeId, external);
      if (now?.identity.userId !== userId) return UNKNOWN;
      const changed = changeProfile(now.profile ?? EMPTY_PROFILE, change);
      if (!changed.ok) return changed;
      const { value: profile } = changed;
      await commit(scopeId, [{ type: 'profileWritten', applicationId: scopeId, external, profile }]);
      notify(
        userId,
        'USER_APPLICATION_IDENTITY_UPDATE',
        identityPayload({ identity: now.identity, profile }),
      );
      return { ok: true, value: { created: now.profile === null } };
    });
  }

  async forget(
    applicationId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
  ): Promise<Reply<null>> {
    const { publishers, owners } = this.#ports;
    return owners.forget(await publishers.scopeOf(applicationId), userId, externalIdentityOf(external));
  }

  async remove(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>> {
    const { identities, playerSignIn, commit, mutex } = this.#ports;
    return mutex(playerKeyOf(scopeId, external), async () => {
      const known = (await identities.get(scopeId, external))?.identity;
      if (known?.userId !== userId) return UNKNOWN;
      const user = await playerSignIn.userOf(userId);
      if (user && isProvisionalUser(user))
        return { ok: false, refusal: refusal('CANNOT_UNMERGE_PROVISIONAL') };
      await commit(scopeId, [{ type: 'identityRemoved', applicationId: scopeId, external }]);
      this.#tellGone(known, userId);
      return { ok: true, value: null };
    });
  }

  async #identitiesOf(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<StoredIdentity[]> {
    return this.#ports.identities.ofUsers(await this.#ports.publishers.scopeOf(applicationId), userIds);
  }

  /** Finds an identity of a user by the provider's user id. If two providers use the same id, the first match is returned. */
  async #find(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
  ): Promise<StoredIdentity | null> {
    const found = await this.#identitiesOf(applicationId, [userId]);
    return found.find(({ identity }) => identity.providerIssuedUserId === externalUserId) ?? null;
  }

  #tellGone(identity: Identity, userId: UserId): void {
    this.#ports.notify(userId, 'USER_APPLICATION_IDENTITY_REMOVE', {
      application_id: identity.applicationId,
      user_id: userId,
      external_id: identityObject(identity),
    });
  }
}

const UNKNOWN = { ok: false, refusal: refusal('UNKNOWN_USER') } as const;
