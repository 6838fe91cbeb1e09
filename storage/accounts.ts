import type { AccountFacts } from '../engine/account/facts.ts';
import type { Sql } from './driver.ts';
import type { AccountStore } from './ports.accounts.ts';
import type { StatementTable } from './statement.ts';

export const accountStatements: StatementTable<AccountFacts> = {};

export const accountStore = (_sql: Sql): AccountStore => ({});
