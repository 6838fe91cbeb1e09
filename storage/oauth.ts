import type { OAuthFacts } from '../engine/oauth/facts.ts';
import type { Sql } from './driver.ts';
import type { OAuthStore } from './ports.oauth.ts';
import type { StatementTable } from './statement.ts';

export const oauthStatements: StatementTable<OAuthFacts> = {};

export const oauthStore = (_sql: Sql): OAuthStore => ({});
