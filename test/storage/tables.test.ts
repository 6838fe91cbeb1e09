// Goal: what the rules call durable has statements, and nothing else has.
import { describe, expect, it } from 'vitest';
import { guildRules } from '../../engine/guild/rules.ts';
import { lobbyRules } from '../../engine/lobby/rules.ts';
import { privateRules } from '../../engine/privatechannel/rules.ts';
import { userRules } from '../../engine/user/user.ts';
import { none } from '../../storage/database/statement.ts';
import { STATEMENTS } from '../../storage/tables.ts';

describe.each([guildRules, lobbyRules, privateRules, userRules])('the facts of a $name', ({ facts }) => {
  it('have statements exactly where their rows are durable', () => {
    const rows = Object.entries(facts as Readonly<Record<string, { readonly durable?: unknown }>>);
    const durable = rows.flatMap(([type, row]) => (row.durable === undefined ? [type] : []));
    const stored = rows.flatMap(([type]) => ((STATEMENTS[type] ?? none) === none ? [] : [type]));
    expect(stored).toEqual(durable);
    expect(durable.length).toBeGreaterThan(0);
  });
});
