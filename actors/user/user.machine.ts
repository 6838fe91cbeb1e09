import type { UserAccount } from '../../engine/user/user.ts';
import { residentMachine } from '../runtime/resident.machine.ts';

/** Lifecycle of one user with sessions or a pending change, on the owner shard. */
export const userMachine = residentMachine<UserAccount>('user');
