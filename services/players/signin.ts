import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { ExternalIdentity, ExternalProof, Identity } from '../../engine/provisional/identity.ts';
import { isExternalId } from '../../engine/provisional/idtoken.ts';
import { displayName, provisionalUsername } from '../../engine/provisional/names.ts';
import { newUser } from '../../engine/user/user.ts';
import { IDENTITY_LIMITS, PROVISIONAL_ACCOUNT_FLAG } from '../../protocol/identities.ts';
import type { ApplicationId, FreshId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { IdentityStore } from '../../storage/identity/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { NewPlayerFact, OAuth } from '../oauth/ports.ts';
import type { ScopeOwners } from './owners.ts';
import type { ExternalVerifier, SignedIn, VerifiedPlayer } from './ports.ts';
import { isProvisionalUser, type Publishers } from './publishers.ts';
import type { ForeignAuthType } from './verifiers.ts';

interface PlayerSignInPorts {
  readonly identities: IdentityStore;
  readonly users: Pick<UserStore, 'get'>;
  readonly publishers: Publishers;
  readonly verifiers: Readonly<Record<ForeignAuthType, ExternalVerifier>>;
  oauth(): Pick<OAuth, 'authenticate' | 'issue'>;
  readonly owners: Pick<ScopeOwners, 'enter'>;
  /** Runs jobs of one player in order. */
  mutex<T>(player: string, job: () => Promise<T>): Promise<T>;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
}

/** Usernames tried for a new account before it is refused. */
const USERNAMES_TRIED = 5;
const USERNAME_BYTES = 5;

/** Key that serialises the jobs of one player of an application. */
export const playerKeyOf = (applicationId: ApplicationId, external: ExternalIdentity): string =>
  JSON.stringify([applicationId, external.providerType, external.providerId, external.providerIssuedUserId]);

/** Signs players in: verifies their identity and creates a provisional account at the first sign-in. */
export class PlayerSignIn {
  readonly #ports: PlayerSignInPorts;

  constructor(ports: PlayerSignInPorts) {
    this.#ports = ports;
  }

  async userOf(userId: UserId): Promise<APIUser | null> {
    return (await this.#ports.users.get([userId]))[0] ?? null;
  }

  /** Builds a provisional account, not stored yet; null when no username is free. */
  async newAccount(name: string | null): Promise<APIUser | null> {
    const { identities, nextId, randomBytes } = this.#ports;
    for (let tried = 0; tried < USERNAMES_TRIED; tried++) {
      const username = provisionalUsername(name, randomBytes(USERNAME_BYTES));
      if (await identities.usernameTaken(username)) continue;
      const user = newUser({ id: nextId(), username, globalName: name, bot: false });
      return { ...user, flags: PROVISIONAL_ACCOUNT_FLAG, public_flags: PROVISIONAL_ACCOUNT_FLAG };
    }
    return null;
  }

  async signIn(applicationId: ApplicationId, proof: ExternalProof): Promise<Reply<SignedIn>> {
    const scopeId = await this.#ports.publishers.scopeOf(applicationId);
    const player = await this.verify(scopeId, proof);
    return player.ok ? this.#ports.owners.enter(scopeId, applicationId, player.value) : player;
  }

  async signInByBot(
    applicationId: ApplicationId,
    externalUserId: string,
    name: string | null,
  ): Promise<Reply<SignedIn>> {
    const external = botIdentity(externalUserId);
    if (!external.ok) return external;
    const scopeId = await this.#ports.publishers.scopeOf(applicationId);
    return this.#ports.owners.enter(scopeId, applicationId, { ...external.value, name: displayName(name) });
  }

  /** Verifies the proof of an identity of a player of `scopeId`. */
  async verify(scopeId: ApplicationId, proof: ExternalProof): Promise<Reply<VerifiedPlayer>> {
    const { externalAuthType, externalAuthToken: token } = proof;
    if (token === '' || token.length > IDENTITY_LIMITS.external_auth_token_characters_max)
      return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    return externalAuthType === 'DISCORD_BOT_ISSUED_ACCESS_TOKEN'
      ? this.#verifyOwn(scopeId, token)
      : this.#ports.verifiers[externalAuthType].verify(scopeId, token);
  }

  /** Verifies an access token of this server; the player's identity must have been issued by the application's bot. */
  async #verifyOwn(scopeId: ApplicationId, token: string): Promise<Reply<VerifiedPlayer>> {
    const { identities, publishers, oauth } = this.#ports;
    const principal = await oauth().authenticate(token);
    const applicationId = principal?.authorization?.applicationId;
    if (!principal || applicationId === undefined || !(await publishers.related(applicationId, scopeId)))
      return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    const found = await identities.ofUsers(scopeId, [principal.userId]);
    const issued = found.find(({ identity }) => identity.providerType === 'BOT');
    if (!issued) return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    return { ok: true, value: { ...issued.identity, name: null } };
  }

  /** Issues tokens to a verified player. */
  enter(
    scopeId: ApplicationId,
    applicationId: ApplicationId,
    player: VerifiedPlayer,
  ): Promise<Reply<SignedIn>> {
    const { identities, mutex, nowMs } = this.#ports;
    const external = externalIdentityOf(player);
    return mutex(playerKeyOf(scopeId, external), async () => {
      const known = (await identities.get(scopeId, external))?.identity;
      const user = known ? await this.userOf(known.userId) : null;
      if (known && user) {
        if (!isProvisionalUser(user)) return { ok: true, value: { kind: 'linked', identity: known } };
        const until = await identities.bannedUntil(known.userId, nowMs());
        return until === undefined ? this.#tokens(applicationId, known.userId, []) : banned();
      }
      const made = await this.newAccount(player.name);
      if (!made) return refused(refusal('NO_UNIQUE_USERNAME'));
      const userId = made.id;
      const identity: Identity = { ...external, applicationId: scopeId, userId, formerUserId: null };
      return this.#tokens(applicationId, userId, [
        { type: 'userCreated', user: made },
        { type: 'identityWritten', identity },
      ]);
    });
  }

  async #tokens(
    applicationId: ApplicationId,
    userId: UserId,
    facts: readonly NewPlayerFact[],
  ): Promise<Reply<SignedIn>> {
    const order = { userId, applicationId, scopes: PROVISIONAL_SCOPES, refreshable: false, facts };
    return { ok: true, value: { kind: 'tokens', tokens: await this.#ports.oauth().issue(order) } };
  }
}

/** The identity fields of a larger object. */
export const externalIdentityOf = (of: ExternalIdentity): ExternalIdentity => ({
  providerType: of.providerType,
  providerId: of.providerId,
  providerIssuedUserId: of.providerIssuedUserId,
});

/** Scopes of the tokens of provisional accounts. */
const PROVISIONAL_SCOPES = ['openid', 'sdk.social_layer'] as const;

/** The identity of a player that the application's bot issued. */
export function botIdentity(externalUserId: string): Reply<ExternalIdentity> {
  if (isExternalId(externalUserId))
    return {
      ok: true,
      value: { providerType: 'BOT', providerId: null, providerIssuedUserId: externalUserId },
    };
  const message = 'Must be 1 to 1024 characters.';
  return { ok: false, refusal: invalidField(['external_user_id'], 'BASE_TYPE_BAD_LENGTH', message) };
}

/** Refusal for a provisional account that is banned from the server. */
const banned = (): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: { ...refusal('USER_BANNED'), message: 'The user is banned from this server' },
});
