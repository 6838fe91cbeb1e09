import type { APIUser } from 'discord-api-types/v10';
import type { Reply } from '../../engine/outcome.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type { Application } from '../../engine/user/facts.ts';
import { PROVISIONAL_ACCOUNT_FLAG } from '../../protocol/identities.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { IdentityStore } from '../../storage/ports.identities.ts';
import type { ApplicationStore, StoredFact } from '../../storage/ports.ts';
import type { IssuedTokens, OAuth } from '../oauth/ports.ts';

/** True for an account that stands for a player from elsewhere, and for nothing else. */
export const isProvisionalUser = (user: Pick<APIUser, 'flags'>): boolean =>
  ((user.flags ?? 0) & PROVISIONAL_ACCOUNT_FLAG) !== 0;

export interface PublisherPorts {
  readonly identities: Pick<IdentityStore, 'parentOf' | 'childrenOf'>;
  readonly applications: Pick<ApplicationStore, 'get'>;
  oauth(): Pick<OAuth, 'authenticate' | 'client' | 'issue'>;
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  /** Begins a move that is durable. */
  run(move: Move): Promise<void>;
  nextId(): string;
}

const SDK_SCOPES: readonly Scope[] = ['sdk.social_layer', 'sdk.social_layer_presence'];

/**
 * Applications of one publisher: people authorise the parent, its children get tokens that hang on the parent's, and
 * identities are the parent's for all of them.
 *
 * @source the platform's pages on publisher-level account linking
 */
export function createPublishers(ports: PublisherPorts) {
  const { identities, applications } = ports;

  const scopeOf = async (applicationId: ApplicationId): Promise<ApplicationId> =>
    (await identities.parentOf(applicationId)) ?? applicationId;

  return {
    /** The application whose identities count in this one: its parent, or itself. */
    scopeOf,
    parentOf: (applicationId: ApplicationId) => identities.parentOf(applicationId),
    familyOf: async (applicationId: ApplicationId) => [
      applicationId,
      ...(await identities.childrenOf(applicationId)),
    ],

    async related(a: ApplicationId, b: ApplicationId): Promise<boolean> {
      if (a === b) return true;
      const [one, other] = await Promise.all([scopeOf(a), scopeOf(b)]);
      return one === other;
    },

    async exchangeChild(
      parentAccessToken: string,
      childId: ApplicationId,
      parentSecret: string | null,
    ): Promise<Reply<IssuedTokens>> {
      const principal = await ports.oauth().authenticate(parentAccessToken);
      const authorization = principal?.authorization;
      if (!principal || !authorization) return no('INVALID_OAUTH2_ACCESS_TOKEN');
      const { applicationId: parentId, expiresMs } = authorization;
      if (!(await ports.oauth().client(parentId, parentSecret))) return no('INVALID_CLIENT_SECRET');
      if ((await identities.parentOf(childId)) !== parentId) return no('UNKNOWN_APPLICATION');
      const scopes = SDK_SCOPES.filter((scope) => authorization.scopes.has(scope));
      if (scopes.length === 0) {
        const missing = refusal('MISSING_OAUTH2_SCOPE');
        const message = `${missing.message}: ${SDK_SCOPES.join(' or ')}`;
        return { ok: false, refusal: { ...missing, message } };
      }
      const value = await ports.oauth().issue({
        userId: principal.userId,
        applicationId: childId,
        scopes: ['openid', ...scopes],
        refreshable: false,
        untilMs: expiresMs,
      });
      return { ok: true, value };
    },

    async linkChild(childId: ApplicationId, parentId: ApplicationId): Promise<Reply<null>> {
      const [child, parent] = await Promise.all([applications.get(childId), applications.get(parentId)]);
      if (!child || !parent) return no('UNKNOWN_APPLICATION');
      const [above, under, former] = await Promise.all([
        identities.parentOf(parentId),
        identities.childrenOf(childId),
        identities.parentOf(childId),
      ]);
      if (former === parentId) return { ok: true, value: null };
      const wrong =
        childId === parentId || above !== null || under.length > 0
          ? 'A parent is not a child, and a child has no children.'
          : former !== null
            ? 'The application has another parent.'
            : isPublic(child) !== isPublic(parent)
              ? 'Parent and child must both be public clients, or both confidential.'
              : null;
      if (wrong !== null)
        return { ok: false, refusal: invalidField(['parent_id'], 'PARENT_APPLICATION_INVALID', wrong) };
      const move: Move = { kind: 'adoption', id: ports.nextId(), childId };
      await ports.commit(childId, [
        { type: 'childLinked', childId, parentId },
        { type: 'moveBegun', move },
      ]);
      await ports.run(move);
      return { ok: true, value: null };
    },
  };
}

export type Publishers = ReturnType<typeof createPublishers>;

const isPublic = (application: Application): boolean => application.oauth2?.publicClient ?? false;

const no = (name: Parameters<typeof refusal>[0]) => ({ ok: false, refusal: refusal(name) }) as const;
