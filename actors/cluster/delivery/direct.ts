import type { ClusterStore } from '../../../storage/cluster/port.ts';
import type { Placement } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import { UserDelivery, type UserDeliveryPorts } from '../../user/userdelivery.ts';
import { DeliveryCursors } from './deliverycursors.ts';

/** Both ends of direct notifications between the owners of users; unused in standalone mode. */
export interface DirectDelivery {
  readonly userDelivery: UserDelivery;
  readonly deliveryCursors: DeliveryCursors;
}

interface DirectDeliveryPorts {
  readonly cluster: Placement;
  readonly users: UserDeliveryPorts['users'];
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly storage: { readonly cluster: ClusterStore };
  /** How long the database keeps records of notifications. */
  readonly recordAgeMs: number;
  readonly onFault: (error: unknown, where: string) => void;
}

export function createDirectDelivery(ports: DirectDeliveryPorts): DirectDelivery {
  const { cluster, users, clock, wheel, storage, recordAgeMs, onFault } = ports;
  const { ownership } = cluster;
  const deliveryCursors = new DeliveryCursors({ nowMs: () => clock.now(), recordAgeMs });
  const userDelivery = new UserDelivery({
    ...{ users, clock, wheel, recordAgeMs, store: storage.cluster, deliver: deliveryCursors.deliver },
    owns: (userId) => ownership.owns(userId),
    onFault: (error) => onFault(error, 'direct notifications'),
  });
  // The previous owner may have died between a commit and its notifications.
  ownership.onChange(({ moved }) => {
    if (moved.some((partition) => ownership.view.owners[partition])) userDelivery.recheckAll();
  });
  return { userDelivery, deliveryCursors };
}
