import type { ApplicationId } from '../../protocol/ids.ts';
import type { Scopes } from '../../protocol/scopes.ts';

/** What a person has let an application do: what an OAuth2 access token stands for. */
export interface Authorization {
  /** Of the grant; the same for all tokens that follow each other by refresh. */
  readonly id: string;
  readonly applicationId: ApplicationId;
  /** With those that others imply. */
  readonly scopes: Scopes;
  /** When this access token ends, Unix milliseconds. */
  readonly expiresMs: number;
}
