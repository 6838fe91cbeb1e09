import type { SocialFacts } from '../engine/social/facts.ts';
import type { Sql } from './driver.ts';
import type { RelationshipStore } from './ports.relationships.ts';
import type { StatementTable } from './statement.ts';

export const socialStatements: StatementTable<SocialFacts> = {};

export const socialStore = (_sql: Sql): RelationshipStore => ({});
