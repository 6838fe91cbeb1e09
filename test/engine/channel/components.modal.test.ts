/** Goal: the components of modals are read against the same schemas as those of messages. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readComponents } from '../../../engine/channel/components.read.ts';
import { repeatedIds, ruleBroken } from '../../../engine/channel/components.rules.ts';
import { Form } from '../../../engine/channel/form.ts';
import { COMPONENT_ROOTS } from '../../../protocol/components.ts';
import { leavesOf } from '../../support/builtcomponents.ts';
import { mutationsOf } from '../../support/componentmutations.ts';
import { modalComponents } from '../../support/components.ts';

const { kinds } = COMPONENT_ROOTS.modal;

function wrongIn(raw: readonly unknown[]): string[] {
  const reading = { form: new Form(), place: 'modal' as const, skuIds: [], found: [], tooMany: false };
  readComponents(reading, ['components'], raw, kinds);
  for (const { component, path } of reading.found) ruleBroken(reading, path, component);
  repeatedIds(reading.form, reading.found);
  const refusal = reading.form.refusal();
  return refusal ? leavesOf(refusal) : [];
}

const label = (component: object, more: object = {}) => [{ type: 18, label: 'l', component, ...more }];
const x = (length: number) => 'x'.repeat(length);
const input = (more: object = {}) => label({ type: 4, custom_id: 't', style: 1, ...more });
const options = (length: number) =>
  Array.from({ length }, (_, index) => ({ label: 'l', value: `v${index}`, description: x(100) }));
const radio = (length: number) => label({ type: 21, custom_id: 'r', options: options(length) });
const boxes = (length: number, more: object = {}) =>
  label({ type: 22, custom_id: 'c', options: options(length), ...more });
const files = (more: object) => label({ type: 19, custom_id: 'f', ...more });

describe('components of a modal', () => {
  it.each<[string, unknown[], unknown[], string]>([
    [
      'a label',
      label({ type: 23, custom_id: 'c' }, { label: x(45) }),
      label({ type: 23, custom_id: 'c' }, { label: x(46) }),
      '0.label',
    ],
    [
      'the description of a label',
      input(),
      label({ type: 23, custom_id: 'c' }, { description: x(101) }),
      '0.description',
    ],
    ['a value', input({ value: x(4_000) }), input({ value: x(4_001) }), '0.component.value'],
    [
      'a placeholder',
      input({ placeholder: x(100) }),
      input({ placeholder: x(101) }),
      '0.component.placeholder',
    ],
    ['min_length', input({ min_length: 4_000 }), input({ min_length: 4_001 }), '0.component.min_length'],
    ['max_length', input({ max_length: 1 }), input({ max_length: 0 }), '0.component.max_length'],
    ['radio options', radio(10), radio(11), '0.component.options'],
    ['radio options, at least', radio(2), radio(1), '0.component.options'],
    ['checkboxes', boxes(10), boxes(11), '0.component.options'],
    ['checkboxes, at least', boxes(1), boxes(0), '0.component.options'],
    [
      'checkboxes to check',
      boxes(10, { max_values: 10 }),
      boxes(10, { max_values: 11 }),
      '0.component.max_values',
    ],
    [
      'checkboxes to check of three',
      boxes(3, { max_values: 3 }),
      boxes(3, { max_values: 4 }),
      '0.component.options',
    ],
    [
      'options to choose of three',
      label({ type: 3, custom_id: 's', options: options(3), max_values: 3 }),
      label({ type: 3, custom_id: 's', options: options(3), max_values: 4 }),
      '0.component.options',
    ],
    ['files to upload', files({ max_values: 10 }), files({ max_values: 11 }), '0.component.max_values'],
    [
      'file types',
      files({ file_types: Array(10).fill('.png') }),
      files({ file_types: Array(11).fill('.png') }),
      '0.component.file_types',
    ],
    [
      'nothing required of what may be left out',
      files({ min_values: 0, required: false }),
      files({ min_values: 0 }),
      '0.component.min_values',
    ],
    [
      'a select that can be used',
      label({ type: 5, custom_id: 's', disabled: false }),
      label({ type: 5, custom_id: 's', disabled: true }),
      '0.component.disabled',
    ],
    [
      'an input in a row',
      [{ type: 1, components: [{ type: 4, custom_id: 't', style: 1 }] }],
      [{ type: 1, components: [{ type: 2, style: 1, custom_id: 'b' }] }],
      '0.components.0',
    ],
    ['a text', [{ type: 10, content: 'x' }], [{ type: 17, components: [{ type: 10, content: 'x' }] }], '0'],
  ])('%s: good at the bound, refused beyond', (_, good, beyond, path) => {
    expect(wrongIn(good)).toEqual([]);
    expect(wrongIn(beyond).map((leaf) => leaf.split(':')[0])).toContain(`components.${path}`);
  });

  it('pass when they are valid', () => {
    fc.assert(
      fc.property(modalComponents(), (components) => {
        expect(wrongIn(components)).toEqual([]);
      }),
    );
  });

  it('are refused with one field out of its bounds, and the field is named', () => {
    fc.assert(
      fc.property(modalComponents(), fc.nat(), (components, pick) => {
        const all = mutationsOf(components, kinds, 'modal');
        for (let step = 0; step < Math.min(12, all.length); step += 1) {
          const { what, components: raw, path } = all[(pick + step * 31) % all.length]!;
          const named = wrongIn(raw).map((leaf) => leaf.split(':')[0]!);
          const at = path.join('.');
          expect(
            named.some((one) => one === at || one.startsWith(`${at}.`)),
            `${what}: ${named}`,
          ).toBe(true);
        }
      }),
    );
  });
});
