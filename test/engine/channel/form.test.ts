/** Goal: whatever is wrong with a request, the tree that says so has the published shape. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Form } from '../../../engine/channel/form.ts';
import { invalidField } from '../../../protocol/refusal.ts';
import { leavesOf, misshapen } from '../../support/builtcomponents.ts';

const key = fc.constantFrom<string | number>(
  'a',
  'b',
  0,
  1,
  '_errors',
  '_errors_',
  '__proto__',
  'constructor',
  '',
);
const path = fc.array(key, { maxLength: 4 });

describe('the errors of a form', () => {
  it('are, at each level, either a list or the errors of what is within', () => {
    fc.assert(
      fc.property(fc.array(path, { minLength: 1, maxLength: 30 }), (paths) => {
        const form = new Form();
        for (const each of paths) form.add(each, 'CODE', 'message');
        const refusal = form.refusal();
        expect(refusal).not.toBeNull();
        expect(misshapen(refusal?.errors)).toEqual([]);
        expect(leavesOf(refusal!).length).toBeGreaterThan(0);
      }),
    );
  });

  it('name every wrong field, and a field of which a part is wrong by that part', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 }), { maxLength: 30 }),
        (paths) => {
          const form = new Form();
          for (const each of paths) form.add(each, 'CODE', 'message');
          const refusal = form.refusal();
          const named = new Set(refusal ? leavesOf(refusal).map((leaf) => leaf.split(':')[0]!) : []);
          const asked = paths.map((each) => each.join('.'));
          const innermost = asked.filter((one) => !asked.some((other) => other.startsWith(`${one}.`)));
          expect(named).toEqual(new Set(innermost));
          for (const each of paths) expect(form.isWrong(each)).toBe(true);
        },
      ),
    );
  });

  it('have that shape for a single field too, whatever a client called it', () => {
    fc.assert(
      fc.property(path, (at) => {
        expect(misshapen(invalidField(at, 'CODE', 'message').errors)).toEqual([]);
      }),
    );
  });
});
