import { residentMachine } from '../runtime/resident.machine.ts';
import type { UserState } from './user.shell.ts';

/** Lifecycle of one user with sessions, or with a change under way, on the owning shard. */
export const userMachine = residentMachine<UserState>('user');
