import type { DeviceRequest } from '../../engine/oauth/facts.ts';
import type { Holdings } from '../../engine/oauth/holdings.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

export interface OAuthStore {
  /** All grants of each user, with tokens and codes; empty lists for a user without any. */
  holdings(userIds: readonly UserId[]): Promise<ReadonlyMap<UserId, Holdings>>;
  /** Any users who authorized the application, at most `limit`. */
  grantors(applicationId: ApplicationId, limit: number): Promise<UserId[]>;
  /** Looks up a device request by the hash of its device code. */
  deviceRequest(id: string): Promise<DeviceRequest | null>;
  deviceRequestOf(userCodeHash: string): Promise<DeviceRequest | null>;
}
