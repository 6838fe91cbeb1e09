import type { Guild } from '../../engine/guild/guild.ts';
import { residentMachine } from '../runtime/resident.machine.ts';

/** Lifecycle of one guild on its owning shard. It holds no rules; they are in `engine/guild`. */
export const guildMachine = residentMachine<Guild>('guild');
