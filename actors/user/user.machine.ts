import { residentMachine } from '../runtime/resident.machine.ts';
import type { UserState } from './user.shell.ts';

/** Lifecycle of one user with sessions or a pending change, on the owner shard. */
export const userMachine = residentMachine<UserState>('user');
