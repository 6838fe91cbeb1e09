import type { DeviceRequest } from '../../engine/oauth/facts.ts';
import type { Holdings } from '../../engine/oauth/holdings.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

export interface OAuthStore {
  /** All that a person has let applications do; empty lists for nobody. */
  holdings(userId: UserId): Promise<Holdings>;
  /** Some who let the application act, at most `limit`. */
  grantors(applicationId: ApplicationId, limit: number): Promise<UserId[]>;
  /** By the hash of the device code. */
  deviceRequest(id: string): Promise<DeviceRequest | null>;
  deviceRequestOf(userCodeHash: string): Promise<DeviceRequest | null>;
}
