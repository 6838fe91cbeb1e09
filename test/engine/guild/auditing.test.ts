/** Goal: an audit entry names exactly what differs, in the wire's terms. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditEntry, changesOf, sameValue } from '../../../engine/guild/auditing.ts';
import { caller, envAt } from '../../support/people.ts';

describe('changes', () => {
  it('have the old and the new value, or one of them; null counts as absent', () => {
    const before: Record<string, unknown> = {
      name: 'a',
      topic: null,
      icon: 'x',
      list: [1],
      same: { deep: [1] },
    };
    const after: Record<string, unknown> = {
      name: 'b',
      topic: 't',
      icon: null,
      list: [2],
      same: { deep: [1] },
    };
    expect(changesOf(before, after, ['name', 'topic', 'icon', 'list', 'same'])).toEqual([
      { key: 'name', old_value: 'a', new_value: 'b' },
      { key: 'topic', new_value: 't' },
      { key: 'icon_hash', old_value: 'x' },
      { key: 'list', old_value: [1], new_value: [2] },
    ]);
    expect(changesOf(null, after, ['name', 'icon'])).toEqual([{ key: 'name', new_value: 'b' }]);
    expect(changesOf(before, null, ['name', 'topic'])).toEqual([{ key: 'name', old_value: 'a' }]);
  });

  it('compare values as JSON does', () => {
    const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    fc.assert(fc.property(json, json, (a, b) => sameValue(a, b) === isDeepStrictEqual(a, b)));
    fc.assert(fc.property(json, (a) => sameValue(a, structuredClone(a))));
  });
});

it('an entry omits absent fields', () => {
  const bare = auditEntry(envAt(), caller('10'), { actionType: 1, targetId: null, changes: [] });
  expect(bare).toEqual({
    type: 'auditLogged',
    entry: { id: '900001', action_type: 1, user_id: '10', target_id: null },
  });
  const options = { count: '2' };
  const full = auditEntry(envAt(), caller('10', { reason: 'so' }), {
    actionType: 72,
    targetId: '5',
    options,
  });
  expect(full.entry).toMatchObject({ reason: 'so', options, target_id: '5' });
});
