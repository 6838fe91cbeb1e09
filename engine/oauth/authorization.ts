import type { ApplicationId } from '../../protocol/ids.ts';
import type { Scopes } from '../../protocol/scopes.ts';

/** The authorization behind an OAuth2 access token: what a user lets an application do. */
export interface Authorization {
  /** Id of the grant; equal for all tokens of a refresh chain. */
  readonly id: string;
  readonly applicationId: ApplicationId;
  /** Including implied scopes. */
  readonly scopes: Scopes;
  /** End of this access token, Unix milliseconds. */
  readonly expiresMs: number;
}
