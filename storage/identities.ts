import type { IdentityFacts } from '../engine/provisional/facts.ts';
import type { Sql } from './driver.ts';
import type { IdentityStore } from './ports.identities.ts';
import type { StatementTable } from './statement.ts';

export const identityStatements: StatementTable<IdentityFacts> = {};

export const identityStore = (_sql: Sql): IdentityStore => ({});
