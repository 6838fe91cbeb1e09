import type { PrivateChannelState } from '../../engine/privatechannel/rules.ts';
import { residentMachine } from '../runtime/resident.machine.ts';

/** Lifecycle of one resident private channel on its owner shard. */
export const privateChannelMachine = residentMachine<PrivateChannelState>('privateChannel');
