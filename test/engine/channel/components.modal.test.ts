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
const optionsWith = (...more: readonly object[]) => options(2).map((one, at) => ({ ...one, ...more[at] }));
const radioOf = (...more: readonly object[]) =>
  label({ type: 21, custom_id: 'r', options: optionsWith(...more) });
const boxOf = (...more: readonly object[]) =>
  label({ type: 22, custom_id: 'c', options: optionsWith(...more) });
const boxes = (length: number, more: object = {}) =>
  label({ type: 22, custom_id: 'c', options: options(length), ...more });
const files = (more: object) => label({ type: 19, custom_id: 'f', ...more });

describe('components of a modal', () => {
  it.each<[string, unknown[], unknown[], string]>([
    [
      'a label',
      label({ type: 23, custom_id: 'c' }, { label: x(45) }),
      label({ type: 23, custom_id: 'c' }, { label: x(46) }),
      '0.label: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of a label',
      label({ type: 23, custom_id: 'c' }, { description: x(100) }),
      label({ type: 23, custom_id: 'c' }, { description: x(101) }),
      '0.description: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'a label, at least',
      label({ type: 23, custom_id: 'c' }, { label: 'x' }),
      label({ type: 23, custom_id: 'c' }, { label: '' }),
      '0.label: BASE_TYPE_REQUIRED',
    ],
    [
      'a custom id',
      input({ custom_id: x(100) }),
      input({ custom_id: x(101) }),
      '0.component.custom_id: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the style of an input',
      input({ style: 2 }),
      input({ style: 3 }),
      '0.component.style: BASE_TYPE_CHOICES',
    ],
    [
      'the style of an input, at least',
      input({ style: 1 }),
      input({ style: 0 }),
      '0.component.style: BASE_TYPE_CHOICES',
    ],
    [
      'min_length, at least',
      input({ min_length: 0 }),
      input({ min_length: -1 }),
      '0.component.min_length: NUMBER_TYPE_MIN',
    ],
    [
      'max_length, at most',
      input({ max_length: 4_000 }),
      input({ max_length: 4_001 }),
      '0.component.max_length: NUMBER_TYPE_MAX',
    ],
    [
      'min_length up to max_length',
      input({ min_length: 9, max_length: 9 }),
      input({ min_length: 10, max_length: 9 }),
      '0.component.min_length: NUMBER_TYPE_MAX',
    ],
    [
      'the label of a radio option',
      radioOf({ label: x(100) }),
      radioOf({ label: x(101) }),
      '0.component.options.0.label: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the value of a radio option',
      radioOf({ value: x(100) }),
      radioOf({ value: x(101) }),
      '0.component.options.0.value: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of a radio option',
      radioOf({ description: x(100) }),
      radioOf({ description: x(101) }),
      '0.component.options.0.description: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'a preset radio option',
      radioOf({ default: true }),
      radioOf({ default: true }, { default: true }),
      '0.component.options: SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES',
    ],
    [
      'the label of a box',
      boxOf({ label: x(100) }),
      boxOf({ label: x(101) }),
      '0.component.options.0.label: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the value of a box',
      boxOf({ value: x(100) }),
      boxOf({ value: x(101) }),
      '0.component.options.0.value: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of a box',
      boxOf({ description: x(100) }),
      boxOf({ description: x(101) }),
      '0.component.options.0.description: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'boxes that must be checked',
      boxes(10, { min_values: 10, max_values: 10 }),
      boxes(10, { min_values: 11, max_values: 10 }),
      '0.component.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'boxes that must be checked, at least',
      boxes(2, { min_values: 0, required: false }),
      boxes(2, { min_values: -1, required: false }),
      '0.component.min_values: NUMBER_TYPE_MIN',
    ],
    [
      'boxes to check, at least',
      boxes(2, { max_values: 1 }),
      boxes(2, { max_values: 0 }),
      '0.component.max_values: NUMBER_TYPE_MIN',
    ],
    [
      'files that must be uploaded',
      files({ min_values: 10, max_values: 10 }),
      files({ min_values: 11, max_values: 10 }),
      '0.component.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'files that must be uploaded, at least',
      files({ min_values: 0, required: false }),
      files({ min_values: -1, required: false }),
      '0.component.min_values: NUMBER_TYPE_MIN',
    ],
    [
      'files to upload, at least',
      files({ max_values: 1 }),
      files({ max_values: 0 }),
      '0.component.max_values: NUMBER_TYPE_MIN',
    ],
    [
      'types of files',
      files({ file_types: ['image', 'VIDEO', 'audio', '.PDF'] }),
      files({ file_types: ['image', 'pdf'] }),
      '0.component.file_types.1: FILE_TYPE_INVALID',
    ],
    [
      'a box that cannot be required',
      label({ type: 23, custom_id: 'c', default: true }),
      label({ type: 23, custom_id: 'c', default: 'yes' }),
      '0.component.default: BOOLEAN_TYPE_CONVERT',
    ],
    [
      'kinds of a label',
      label({ type: 5, custom_id: 'u' }),
      label({ type: 2, style: 1, label: 'b', custom_id: 'u' }),
      '0.component: UNION_TYPE_CHOICES',
    ],
    [
      'a custom id once',
      [...input(), ...input({ custom_id: 'u' })],
      [...input(), ...input()],
      '1.component.custom_id: COMPONENT_CUSTOM_ID_DUPLICATED',
    ],
    [
      'a value',
      input({ value: x(4_000) }),
      input({ value: x(4_001) }),
      '0.component.value: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'a placeholder',
      input({ placeholder: x(100) }),
      input({ placeholder: x(101) }),
      '0.component.placeholder: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'min_length',
      input({ min_length: 4_000 }),
      input({ min_length: 4_001 }),
      '0.component.min_length: NUMBER_TYPE_MAX',
    ],
    [
      'max_length',
      input({ max_length: 1 }),
      input({ max_length: 0 }),
      '0.component.max_length: NUMBER_TYPE_MIN',
    ],
    ['radio options', radio(10), radio(11), '0.component.options: BASE_TYPE_BAD_LENGTH'],
    ['radio options, at least', radio(2), radio(1), '0.component.options: BASE_TYPE_BAD_LENGTH'],
    ['checkboxes', boxes(10), boxes(11), '0.component.options: BASE_TYPE_BAD_LENGTH'],
    ['checkboxes, at least', boxes(1), boxes(0), '0.component.options: BASE_TYPE_REQUIRED'],
    [
      'checkboxes to check',
      boxes(10, { max_values: 10 }),
      boxes(10, { max_values: 11 }),
      '0.component.max_values: NUMBER_TYPE_MAX',
    ],
    [
      'checkboxes to check of three',
      boxes(3, { max_values: 3 }),
      boxes(3, { max_values: 4 }),
      '0.component.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'options to choose of three',
      label({ type: 3, custom_id: 's', options: options(3), max_values: 3 }),
      label({ type: 3, custom_id: 's', options: options(3), max_values: 4 }),
      '0.component.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'files to upload',
      files({ max_values: 10 }),
      files({ max_values: 11 }),
      '0.component.max_values: NUMBER_TYPE_MAX',
    ],
    [
      'file types',
      files({ file_types: Array(10).fill('.png') }),
      files({ file_types: Array(11).fill('.png') }),
      '0.component.file_types: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'nothing required of what may be left out',
      files({ min_values: 0, required: false }),
      files({ min_values: 0 }),
      '0.component.min_values: NUMBER_TYPE_MIN',
    ],
    [
      'a select that can be used',
      label({ type: 5, custom_id: 's', disabled: false }),
      label({ type: 5, custom_id: 's', disabled: true }),
      '0.component.disabled: COMPONENT_DISABLED_IN_MODAL',
    ],
    [
      'an input in a row',
      [{ type: 1, components: [{ type: 4, custom_id: 't', style: 1 }] }],
      [{ type: 1, components: [{ type: 2, style: 1, custom_id: 'b' }] }],
      '0.components.0: UNION_TYPE_CHOICES',
    ],
    [
      'a text',
      [{ type: 10, content: 'x' }],
      [{ type: 17, components: [{ type: 10, content: 'x' }] }],
      '0: UNION_TYPE_CHOICES',
    ],
  ])('%s: good at the bound, refused beyond', (_, good, beyond, problem) => {
    expect(wrongIn(good)).toEqual([]);
    expect(wrongIn(beyond)).toEqual([`components.${problem}`]);
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
