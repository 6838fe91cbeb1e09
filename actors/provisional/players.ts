import type { Reply } from '../../engine/outcome.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import { changeProfile, EMPTY_PROFILE, type ProfileChange } from '../../engine/provisional/profile.ts';
import { identityObject } from '../../protocol/identities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { IdentityStore, StoredIdentity } from '../../storage/ports.identities.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { type Entry, turnOf } from './entry.ts';
import type { IdentityProfile } from './ports.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';

export type IdentityDispatch = 'USER_APPLICATION_IDENTITY_UPDATE' | 'USER_APPLICATION_IDENTITY_REMOVE';

export interface PlayerPorts {
  readonly identities: IdentityStore;
  readonly entry: Entry;
  readonly publishers: Publishers;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  inTurn<T>(player: string, job: () => Promise<T>): Promise<T>;
  tell(userId: UserId, t: IdentityDispatch, d: object): void;
  onFault(error: unknown): void;
}

/** An identity and its profile as dispatches show them. Their form is ours: the platform has not published one. */
const shown = ({ identity, profile }: StoredIdentity): object => ({
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
export function createPlayers(ports: PlayerPorts) {
  const { identities, publishers } = ports;

  /** Of a user, by the provider's name for the player: it is unique for one user in practice, and the first counts. */
  async function find(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
  ): Promise<StoredIdentity | null> {
    const found = await identities.ofUsers(await publishers.scopeOf(applicationId), [userId]);
    return found.find(({ identity }) => identity.providerIssuedUserId === externalUserId) ?? null;
  }

  return {
    /** An identity stands for another account now: both users hear of it. */
    moved(identity: Identity, formerUserId: UserId | null): void {
      const gone = { application_id: identity.applicationId, external_id: identityObject(identity) };
      if (formerUserId !== null)
        ports.tell(formerUserId, 'USER_APPLICATION_IDENTITY_REMOVE', { ...gone, user_id: formerUserId });
      identities
        .get(identity.applicationId, identity)
        .then((now) => now && ports.tell(identity.userId, 'USER_APPLICATION_IDENTITY_UPDATE', shown(now)))
        .catch(ports.onFault);
    },

    async identities(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<Identity[]> {
      const found = await identities.ofUsers(await publishers.scopeOf(applicationId), userIds);
      return found.map(({ identity }) => identity);
    },

    async identity(applicationId: ApplicationId, external: ExternalIdentity): Promise<Identity | null> {
      const scopeId = await publishers.scopeOf(applicationId);
      return (await identities.get(scopeId, external))?.identity ?? null;
    },

    async profiles(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<IdentityProfile[]> {
      const found = await identities.ofUsers(await publishers.scopeOf(applicationId), userIds);
      return found.map(profileOf);
    },

    async profile(
      applicationId: ApplicationId,
      userId: UserId,
      externalUserId: string,
    ): Promise<Reply<IdentityProfile>> {
      const found = await find(applicationId, userId, externalUserId);
      return found ? { ok: true, value: profileOf(found) } : UNKNOWN;
    },

    async updateProfile(
      applicationId: ApplicationId,
      userId: UserId,
      externalUserId: string,
      change: ProfileChange,
    ): Promise<Reply<{ readonly created: boolean }>> {
      const found = await find(applicationId, userId, externalUserId);
      if (!found) return UNKNOWN;
      const { identity: external } = found;
      return ports.inTurn(turnOf(external.applicationId, external), async () => {
        const now = await identities.get(external.applicationId, external);
        if (now?.identity.userId !== userId) return UNKNOWN;
        const changed = changeProfile(now.profile ?? EMPTY_PROFILE, change);
        if (!changed.ok) return changed;
        const { value: profile } = changed;
        await ports.commit(external.applicationId, [
          { type: 'profileWritten', applicationId: external.applicationId, external, profile },
        ]);
        ports.tell(userId, 'USER_APPLICATION_IDENTITY_UPDATE', shown({ identity: now.identity, profile }));
        return { ok: true, value: { created: now.profile === null } };
      });
    },

    async forget(
      applicationId: ApplicationId,
      userId: UserId,
      external: ExternalIdentity,
    ): Promise<Reply<null>> {
      const scopeId = await publishers.scopeOf(applicationId);
      return ports.inTurn(turnOf(scopeId, external), async () => {
        const known = (await identities.get(scopeId, external))?.identity;
        if (known?.userId !== userId) return UNKNOWN;
        const user = await ports.entry.userOf(userId);
        if (user && isProvisionalUser(user))
          return { ok: false, refusal: refusal('CANNOT_UNMERGE_PROVISIONAL') };
        await ports.commit(scopeId, [{ type: 'identityRemoved', applicationId: scopeId, external }]);
        ports.tell(userId, 'USER_APPLICATION_IDENTITY_REMOVE', {
          application_id: scopeId,
          user_id: userId,
          external_id: identityObject(known),
        });
        return { ok: true, value: null };
      });
    },
  };
}

const UNKNOWN = { ok: false, refusal: refusal('UNKNOWN_USER') } as const;
