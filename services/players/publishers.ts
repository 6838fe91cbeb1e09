import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type { Application } from '../../engine/user/facts.ts';
import { PROVISIONAL_ACCOUNT_FLAG } from '../../protocol/identities.ts';
import type { ApplicationId, FreshId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { IdentityStore } from '../../storage/identity/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { IssuedTokens, OAuth } from '../oauth/ports.ts';

/** Whether an account is provisional: it exists only for an external identity. */
export const isProvisionalUser = (user: Pick<APIUser, 'flags'>): boolean =>
  ((user.flags ?? 0) & PROVISIONAL_ACCOUNT_FLAG) !== 0;

interface PublisherPorts {
  readonly identities: Pick<IdentityStore, 'parentOf' | 'childrenOf'>;
  readonly applications: Pick<ApplicationStore, 'get'>;
  oauth(): Pick<OAuth, 'authenticate' | 'client' | 'issue'>;
  readonly moves: {
    /** Stores a move together with the facts that it follows from, and calls `onStored`. */
    store(move: Move, facts: readonly StoredFact[], onStored: () => void): Promise<void>;
    /** Begins a stored move. */
    run(move: Move): Promise<void>;
  };
  nextId(): FreshId;
}

const SDK_SCOPES: readonly Scope[] = ['sdk.social_layer', 'sdk.social_layer_presence'];

/**
 * Applications of one publisher. Users authorize the parent; its children get tokens that depend on the parent's, and
 * share the parent's identities.
 *
 * @source https://docs.discord.com/developers/discord-social-sdk/development-guides/publisher-level-account-linking
 */
export class Publishers {
  readonly #ports: PublisherPorts;

  constructor(ports: PublisherPorts) {
    this.#ports = ports;
  }

  /** The application whose identities this one uses: its parent, or itself. */
  async scopeOf(applicationId: ApplicationId): Promise<ApplicationId> {
    return (await this.parentOf(applicationId)) ?? applicationId;
  }

  parentOf(applicationId: ApplicationId): Promise<ApplicationId | null> {
    return this.#ports.identities.parentOf(applicationId);
  }

  /** The application and its children. */
  async familyOf(applicationId: ApplicationId): Promise<readonly [ApplicationId, ...ApplicationId[]]> {
    return [applicationId, ...(await this.#ports.identities.childrenOf(applicationId))];
  }

  async related(a: ApplicationId, b: ApplicationId): Promise<boolean> {
    if (a === b) return true;
    const [one, other] = await Promise.all([this.scopeOf(a), this.scopeOf(b)]);
    return one === other;
  }

  async exchangeChild(
    parentAccessToken: string,
    childId: ApplicationId,
    parentSecret: string | null,
  ): Promise<Reply<IssuedTokens>> {
    const oauth = this.#ports.oauth();
    const principal = await oauth.authenticate(parentAccessToken);
    const authorization = principal?.authorization;
    if (!principal || !authorization) return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    const { applicationId: parentId, expiresMs } = authorization;
    if (!(await oauth.client(parentId, parentSecret))) return refused(refusal('INVALID_CLIENT_SECRET'));
    if ((await this.parentOf(childId)) !== parentId) return refused(refusal('UNKNOWN_APPLICATION'));
    const scopes = SDK_SCOPES.filter((scope) => authorization.scopes.has(scope));
    if (scopes.length === 0) {
      const missing = refusal('MISSING_OAUTH2_SCOPE');
      return {
        ok: false,
        refusal: { ...missing, message: `${missing.message}: ${SDK_SCOPES.join(' or ')}` },
      };
    }
    const value = await oauth.issue({
      userId: principal.userId,
      applicationId: childId,
      scopes: ['openid', ...scopes],
      refreshable: false,
      untilMs: expiresMs,
    });
    return { ok: true, value };
  }

  async linkChild(childId: ApplicationId, parentId: ApplicationId): Promise<Reply<null>> {
    const { applications, moves } = this.#ports;
    const [child, parent] = await Promise.all([applications.get(childId), applications.get(parentId)]);
    if (!child || !parent) return refused(refusal('UNKNOWN_APPLICATION'));
    const former = await this.parentOf(childId);
    if (former === parentId) return { ok: true, value: null };
    const wrong =
      former === null ? await this.#linkProblem(child, parent) : 'The application has another parent.';
    if (wrong !== null)
      return { ok: false, refusal: invalidField(['parent_id'], 'PARENT_APPLICATION_INVALID', wrong) };
    const move: Move = { kind: 'adoption', id: this.#ports.nextId(), childId };
    await moves.store(move, [{ type: 'childLinked', childId, parentId }], () => undefined);
    await moves.run(move);
    return { ok: true, value: null };
  }

  /** Why `child` cannot become a child of `parent`; null when it can. */
  async #linkProblem(child: Application, parent: Application): Promise<string | null> {
    const [above, [, ...under]] = await Promise.all([this.parentOf(parent.id), this.familyOf(child.id)]);
    if (child.id === parent.id || above !== null || under.length > 0)
      return 'A parent is not a child, and a child has no children.';
    if (isPublic(child) === isPublic(parent)) return null;
    return 'Parent and child must both be public clients, or both confidential.';
  }
}

const isPublic = (application: Application): boolean => application.oauth2?.publicClient ?? false;
