import type { ApplicationStore, Storage } from '../../storage/ports.ts';
import { clientsOf } from './client.ts';
import { createGrants, type GrantPorts } from './grants.ts';
import { createHolders, type HolderPorts } from './holders.ts';
import { createKeys } from './keys.ts';
import type { OAuth } from './ports.ts';

export interface OAuthPorts extends HolderPorts, Omit<GrantPorts, 'holders' | 'keys' | 'applications'> {
  readonly applications: Pick<ApplicationStore, 'get' | 'secretHash'>;
  readonly settings: Storage['settings'];
}

/** The authorization server over its ports. */
export function createOAuth(ports: OAuthPorts): OAuth {
  const keys = createKeys(ports);
  const holders = createHolders(ports);
  const grants = createGrants({ ...ports, holders, keys });
  const { authenticate, granted, deauthorize } = grants;
  return {
    authenticate,
    granted,
    deauthorize,
    issue: (order) => grants.issue(order),
    grants: grants.grants,
    client: clientsOf(ports.applications),
    publicKeys: keys.published,
  };
}
