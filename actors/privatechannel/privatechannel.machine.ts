import type { PrivateChannelState } from '../../engine/privatechannel/rules.ts';
import { residentMachine } from '../runtime/resident.machine.ts';

/** Lifecycle of one private channel that is in use, on the owning shard. */
export const privateChannelMachine = residentMachine<PrivateChannelState>('privateChannel');
