import type { ApplicationStore, Storage } from '../../storage/ports.ts';
import { clientsOf } from './client.ts';
import { type ConsentPorts, createConsents } from './consents.ts';
import { createDevices } from './devices.ts';
import { createEndpoint, createExchange, type EndpointPorts } from './endpoint.ts';
import { createGrants, type GrantPorts } from './grants.ts';
import { createHolders, type HolderPorts } from './holders.ts';
import type { InstallPorts } from './install.ts';
import { createKeys } from './keys.ts';
import type { OAuth } from './ports.ts';

export interface OAuthPorts
  extends HolderPorts,
    InstallPorts,
    Omit<GrantPorts, 'holders' | 'keys' | 'applications'>,
    Pick<ConsentPorts, 'guildsOf'>,
    Pick<EndpointPorts, 'merge' | 'security'> {
  readonly applications: Pick<ApplicationStore, 'get' | 'secretHash'>;
  readonly settings: Storage['settings'];
  /** For what was decided over what a person has granted: not tried again when another shard decides by now. */
  readonly commitAsOwner: HolderPorts['commit'];
}

/** The authorization server over its ports. */
export function createOAuth(ports: OAuthPorts): OAuth {
  const keys = createKeys(ports);
  const holders = createHolders({ ...ports, commit: ports.commitAsOwner });
  const grants = createGrants({ ...ports, holders, keys });
  const client = clientsOf(ports.applications);
  const desk = { ...ports, holders, grants, client, install: ports.addBot };
  const devices = createDevices({ ...desk, exchange: createExchange(desk) });
  const { authenticate, granted, deauthorize, issue } = grants;
  return {
    get atHand() {
      return holders.atHand;
    },
    ...{ authenticate, granted, deauthorize, issue, client, devices },
    ...createEndpoint({ ...desk, devices }),
    forgetAll: holders.forgetAll,
    grants: grants.grants,
    grantors: grants.grantors,
    consents: createConsents(desk),
    publicKeys: keys.published,
  };
}
