import { COMPONENT, COMPONENT_ROOTS } from '../../protocol/components.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Json, notObject, readText } from '../appcommand/fields.ts';
import { type Reading, readComponents } from '../channel/components.read.ts';
import { assignIds, repeatedIds, ruleBroken } from '../channel/components.rules.ts';
import type { FieldPath, Form } from '../channel/form.ts';
import { textLength } from '../channel/text.ts';
import { componentsIn } from './components.ts';
import type { ResolvedCheck } from './resolved.ts';
import { type Choosing, readValues } from './values.ts';

/** A form in the wire's shape: its fields were read against their schemas, and each has an id. */
export interface Modal {
  readonly custom_id: string;
  readonly title: string;
  readonly components: readonly object[];
}

const COMPONENTS: FieldPath = ['data', 'components'];

/**
 * Reads the form of a callback.
 *
 * @returns Null when it is wrong; the form has the errors.
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal
 */
export function readModal(raw: unknown, form: Form): Modal | null {
  if (!isRecord(raw)) return notObject(form, ['data']) ?? null;
  const { component_custom_id_chars_max: idMax, modal_title_chars_max: titleMax } = LIMITS;
  const customId = readText(form, ['data', 'custom_id'], raw.custom_id, 1, idMax);
  const title = readText(form, ['data', 'title'], raw.title, 1, titleMax);
  const components = readFields(raw.components, form);
  if (form.refusal() || customId === undefined || title === undefined) return null;
  return { custom_id: customId, title, components };
}

function readFields(raw: unknown, form: Form): Json[] {
  const { kinds, max } = COMPONENT_ROOTS.modal;
  if (!Array.isArray(raw)) {
    if (raw === undefined || raw === null) form.required(COMPONENTS);
    else form.add(COMPONENTS, 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
    return [];
  }
  if (raw.length < 1 || raw.length > max) {
    form.add(COMPONENTS, 'BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${max} in length.`);
    return [];
  }
  const reading: Reading = { form, place: 'modal', skuIds: [], found: [], tooMany: false };
  const components = readComponents(reading, COMPONENTS, raw, kinds);
  for (const { component, path } of reading.found) ruleBroken(reading, path, component);
  repeatedIds(form, reading.found);
  if (!form.refusal()) assignIds(reading.found);
  return components;
}

/** A submitted form in the wire's shape. */
export interface Submission {
  readonly data: { readonly custom_id: string; readonly components: readonly object[] };
  readonly checks: readonly ResolvedCheck[];
}

/** A field of a form, as its answer depends on it. */
interface Field extends Choosing {
  readonly id?: number;
  readonly custom_id?: string;
  readonly required?: boolean;
  readonly min_length?: number;
  readonly max_length?: number;
  readonly components?: readonly Field[];
  readonly component?: Field;
}

const isField = (component: object): component is Field => 'type' in component;

interface SubmittedValue {
  readonly raw: Json;
  readonly path: FieldPath;
}

interface Submitting {
  readonly form: Form;
  readonly given: ReadonlyMap<string, SubmittedValue>;
  readonly checks: ResolvedCheck[];
}

/**
 * Reads a submitted form. Its fields are found by their custom ids, whatever levels the client wraps them in; the
 * answer has the levels of the form.
 *
 * @param raw `data` of the request.
 * @returns Null when something is wrong; the form has the errors.
 */
export function readSubmission(modal: Modal, raw: Json, form: Form): Submission | null {
  if (raw.custom_id !== modal.custom_id)
    form.add(['data', 'custom_id'], 'BASE_TYPE_CHOICES', 'This is not the custom id of the form.');
  const fields = modal.components.filter(isField);
  const given = givenFields(raw.components, form);
  const known = new Set([...componentsIn(fields)].map(({ custom_id: id }) => id));
  for (const [id, { path }] of given)
    if (!known.has(id)) form.add([...path, 'custom_id'], 'BASE_TYPE_CHOICES', 'The form has no such field.');
  const submitting: Submitting = { form, given, checks: [] };
  const components = fields.map((field) => answerOf(submitting, field));
  if (form.refusal()) return null;
  return { data: { custom_id: modal.custom_id, components }, checks: submitting.checks };
}

/** The answer with other ids of the files that it names. */
export function withFileIds(data: Submission['data'], idOf: (id: string) => string): Submission['data'] {
  const replaced = (component: object): object => {
    if ('component' in component && isRecord(component.component))
      return { ...component, component: replaced(component.component) };
    if ('components' in component && Array.isArray(component.components))
      return { ...component, components: component.components.map(replaced) };
    const isUpload = 'type' in component && component.type === COMPONENT.FILE_UPLOAD;
    if (!isUpload || !('values' in component) || !Array.isArray(component.values)) return component;
    return { ...component, values: component.values.map(idOf) };
  };
  return { ...data, components: data.components.map(replaced) };
}

/** Levels that a client may wrap a field in, and fields that are looked at. */
const DEPTH_MAX = 3;
const FIELDS_MAX = 40;

function givenFields(raw: unknown, form: Form): ReadonlyMap<string, SubmittedValue> {
  const given = new Map<string, SubmittedValue>();
  const collect = (one: unknown, path: FieldPath, depth: number): void => {
    if (!isRecord(one) || depth > DEPTH_MAX || given.size >= FIELDS_MAX) return;
    if (typeof one.custom_id === 'string') {
      if (given.has(one.custom_id))
        form.add([...path, 'custom_id'], 'COMPONENT_CUSTOM_ID_DUPLICATED', 'This field was given before.');
      given.set(one.custom_id, { raw: one, path });
    }
    if (one.component) collect(one.component, [...path, 'component'], depth + 1);
    const parts: readonly unknown[] = Array.isArray(one.components)
      ? one.components.slice(0, FIELDS_MAX)
      : [];
    for (const [index, part] of parts.entries()) collect(part, [...path, 'components', index], depth + 1);
  };
  const all: readonly unknown[] = Array.isArray(raw) ? raw.slice(0, FIELDS_MAX) : [];
  for (const [index, one] of all.entries()) collect(one, [...COMPONENTS, index], 0);
  return given;
}

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-modal-submit-data-structure */
function answerOf(submitting: Submitting, field: Field): object {
  const { type, id, custom_id: customId } = field;
  if (type === COMPONENT.LABEL && field.component)
    return { type, id, component: answerOf(submitting, field.component) };
  if (type === COMPONENT.ACTION_ROW)
    return { type, id, components: (field.components ?? []).map((one) => answerOf(submitting, one)) };
  if (customId === undefined) return { type, id };
  const given = submitting.given.get(customId);
  return { type, id, custom_id: customId, ...givenIn(submitting, field, given) };
}

function givenIn({ form, checks }: Submitting, field: Field, given: SubmittedValue | undefined): object {
  const { type, required = true } = field;
  const path = given?.path ?? COMPONENTS;
  const raw = given?.raw ?? {};
  if (type === COMPONENT.TEXT_INPUT) return { value: textOf(form, [...path, 'value'], raw.value, field) };
  if (type === COMPONENT.CHECKBOX) {
    const { value = false } = raw;
    if (typeof value !== 'boolean')
      form.add([...path, 'value'], 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
    return { value };
  }
  if (type === COMPONENT.RADIO_GROUP) {
    const { value = null } = raw;
    if (value === null && required) form.required([...path, 'value']);
    if (value !== null && !field.options?.some((option) => option.value === value))
      form.add([...path, 'value'], 'BASE_TYPE_CHOICES', 'This value cannot be chosen here.');
    return { value };
  }
  return { values: readValues(form, [...path, 'values'], raw.values, field, checks, !required) ?? [] };
}

function textOf(form: Form, path: FieldPath, raw: unknown, field: Field): string {
  const { required = true, min_length: min = required ? 1 : 0, max_length: max = TEXT_CHARS_MAX } = field;
  const text = raw ?? '';
  if (typeof text !== 'string') {
    form.add(path, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.');
    return '';
  }
  if (text === '' && !required) return text;
  if (text === '') form.required(path);
  else if (textLength(text, max) > max || textLength(text) < min)
    form.add(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
  return text;
}

const TEXT_CHARS_MAX = 4_000;
