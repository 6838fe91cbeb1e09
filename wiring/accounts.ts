import type { Accounts } from '../actors/account/ports.ts';
import type { Site } from './site.ts';

export const createAccounts = (_site: Site): Accounts => ({});
