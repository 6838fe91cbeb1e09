import type { ApplicationStore } from '../../storage/application/port.ts';
import type { Storage } from '../../storage/ports.ts';
import { createClientLookup } from './client.ts';
import { type ConsentPorts, createConsents } from './consents.ts';
import { createDevices } from './devices.ts';
import { createDeviceExchange, createEndpoint, type EndpointPorts } from './endpoint.ts';
import { createGrantCache, createGrants, type GrantCachePorts, type GrantPorts } from './grants.ts';
import { createIdTokenKeys } from './idtokens.ts';
import type { InstallPorts } from './install.ts';
import type { OAuth } from './ports.ts';

export interface OAuthPorts
  extends GrantCachePorts,
    InstallPorts,
    Omit<GrantPorts, 'grantCache' | 'keys' | 'applications'>,
    Pick<ConsentPorts, 'guildsOf'>,
    Pick<EndpointPorts, 'merge' | 'security'> {
  readonly applications: Pick<ApplicationStore, 'get' | 'secretHash'>;
  readonly teams: ConsentPorts['teams'];
  readonly settings: Storage['settings'];
  /** Commits decisions on grants; not retried when another shard has become the owner. */
  readonly commitAsOwner: GrantCachePorts['commit'];
}

/** The authorization server over its ports. */
export function createOAuth(ports: OAuthPorts): OAuth {
  const keys = createIdTokenKeys(ports);
  const grantCache = createGrantCache({ ...ports, commit: ports.commitAsOwner });
  const grants = createGrants({ ...ports, grantCache, keys });
  const client = createClientLookup(ports.applications);
  const context = { ...ports, grantCache, grants, client, install: ports.addBot };
  const devices = createDevices({ ...context, exchange: createDeviceExchange(context) });
  const { authenticate, granted, deauthorize, endRevoked, issue } = grants;
  return {
    get cached() {
      return grantCache.cached;
    },
    ...{ authenticate, granted, deauthorize, endRevoked, issue, client, devices },
    ...createEndpoint({ ...context, devices }),
    forgetAll: grantCache.forgetAll,
    grants: grants.grants,
    grantors: grants.grantors,
    consents: createConsents(context),
    publicKeys: keys.published,
  };
}
