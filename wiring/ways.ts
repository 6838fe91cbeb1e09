import type { Routing } from '../actors/cluster/routing.ts';
import type { Telling } from '../actors/user/telling.ts';
import { routingOver } from './cluster.routed.ts';
import { createTelling, type TellingPorts } from './cluster.telling.ts';
import { createPrivateChannels, type PrivateChannels, type PrivatePorts } from './private.ts';

/** How the parts of the house reach what others own. Alone, everything is here. */
export interface Ways {
  readonly routing: Routing;
  readonly telling: Telling;
  readonly privates: PrivateChannels;
  readonly inPrivate: PrivateChannels['call'];
  readonly openPrivate: PrivateChannels['open'];
}

export function createWays(ports: TellingPorts & Omit<PrivatePorts, 'telling'>): Ways {
  const routing = routingOver(ports.cluster);
  const telling = createTelling(ports);
  const privates = createPrivateChannels({ ...ports, telling });
  return { routing, telling, privates, inPrivate: privates.call, openPrivate: privates.open };
}
