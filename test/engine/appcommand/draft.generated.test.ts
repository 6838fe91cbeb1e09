/** Goal: any body is either rejected with the paths of its errors or read as a command in normal form. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDraft } from '../../../engine/appcommand/draft.ts';
import { leavesOf } from '../../support/errortree.ts';

describe('reading a generated command', () => {
  const scrap = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.jsonValue());
  /** Mostly the expected value, sometimes null, rarely any other value. */
  const mostly = (value: fc.Arbitrary<unknown>) =>
    fc.oneof(
      { weight: 96, arbitrary: value },
      { weight: 3, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: scrap },
    );
  const list = (value: fc.Arbitrary<unknown>, least = 0) =>
    mostly(fc.array(value, { minLength: least, maxLength: least + 2 }));
  const text = fc.constantFrom('tide', 'port', 'marée', '潮汐', 'x-1');
  const translated = mostly(fc.dictionary(fc.constantFrom('de', 'en-US', 'es-419'), text, { maxKeys: 2 }));
  const texts = (name: fc.Arbitrary<unknown>) => ({
    ...{ name: mostly(name), name_localizations: translated },
    ...{ description: mostly(text), description_localizations: translated },
  });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 3, maxLength: 8 });
  const range = (min: number, max: number) => mostly(fc.integer({ min, max }));
  const choice = fc.record({
    name: mostly(name),
    value: mostly(fc.constantFrom('1', 2)),
    name_localizations: translated,
  });
  const details = {
    ...{ choices: list(choice), min_value: range(-9, 0), max_value: range(0, 9) },
    ...{ min_length: range(0, 9), max_length: range(9, 90), channel_types: list(range(0, 5)) },
    file_types: list(fc.constantFrom('.A', 'image', '.b')),
  };
  const value = fc.record(
    { type: mostly(fc.constantFrom(3, 4, 5, 6, 7, 8, 9, 10, 11)), ...texts(name), ...details },
    { requiredKeys: ['type', 'name', 'description'] },
  );
  const sub = fc.record(
    { type: fc.constant(1), ...texts(name), options: list(value) },
    { requiredKeys: ['type', 'name', 'description'] },
  );
  const group = fc.record(
    { type: fc.constant(2), ...texts(name), options: list(sub) },
    { requiredKeys: ['type', 'name', 'description'] },
  );
  const command = fc.record(
    {
      ...{ type: mostly(fc.constant('1')), ...texts(name), nsfw: mostly(fc.boolean()) },
      options: fc.oneof(list(value), list(fc.oneof(sub, group))),
      ...{ default_member_permissions: range(0, 99), dm_permission: mostly(fc.boolean()) },
      ...{ contexts: list(range(0, 2), 1), integration_types: list(range(0, 1), 1) },
    },
    { requiredKeys: ['name', 'description'] },
  );
  const entry = fc.record({
    type: mostly(fc.constantFrom(2, 3, 4)),
    name: mostly(text),
    handler: mostly(fc.constant(null)),
  });
  const body = fc.oneof({ weight: 8, arbitrary: command }, { weight: 2, arbitrary: entry }, scrap);

  it('rejects it with error 50035 or returns a normal form that reads as itself', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(body, fc.boolean(), (raw, isGuild) => {
        const scope = { isGuild, installations: [0 as const] };
        const read = readDraft(raw, scope);
        if (!read.ok) {
          refused += 1;
          expect(leavesOf(read.refusal.errors ?? {}).length).toBeGreaterThan(0);
          expect(read.refusal).toMatchObject({ status: 400, code: 50035 });
          return;
        }
        accepted += 1;
        const stored = JSON.parse(JSON.stringify(read.value));
        expect(stored).toEqual(read.value);
        expect(readDraft(stored, scope)).toEqual(read);
      }),
      { numRuns: 2_000, seed: 13 },
    );
    expect(accepted).toBeGreaterThan(300);
    expect(refused).toBeGreaterThan(300);
  });
});
