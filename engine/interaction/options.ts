import { APP_COMMAND, OPTION } from '../../protocol/appcommands.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { AppCommand, CommandOption } from '../appcommand/appcommand.ts';
import { type Json, notObject, readNumber } from '../appcommand/fields.ts';
import type { FieldPath, Form } from '../channel/form.ts';
import { textLength } from '../channel/text.ts';
import { idIn, type NamedKind, type ResolvedCheck } from './resolved.ts';
import { numberOf } from './values.ts';

/** An option of an invocation in the wire's shape. */
interface WireOption {
  readonly name: string;
  readonly type: number;
  readonly value?: string | number | boolean;
  readonly options?: readonly WireOption[];
  readonly focused?: true;
}

interface ReadOptions {
  readonly options: readonly WireOption[];
  readonly checks: readonly ResolvedCheck[];
  /** The option that an autocomplete asks about. */
  readonly focused: CommandOption | null;
}

/** State of one reading. */
interface Reading {
  readonly form: Form;
  /** While a user types, options may be missing and values incomplete. */
  readonly isTyping: boolean;
  readonly checks: ResolvedCheck[];
  focused: CommandOption | null;
}

const SUBCOMMANDS: readonly number[] = [OPTION.SUB_COMMAND, OPTION.SUB_COMMAND_GROUP];
const OPTIONS: FieldPath = ['data', 'options'];

/**
 * Reads the options of an invocation against its command.
 *
 * @param kind `autocomplete`: options may be missing, values are as typed so far, and one option is focused.
 * @returns The options in the order of the request; use them only if the form has no errors.
 */
export function readOptions(
  command: AppCommand,
  raw: unknown,
  kind: 'command' | 'autocomplete',
  form: Form,
): ReadOptions {
  const reading: Reading = { form, isTyping: kind === 'autocomplete', checks: [], focused: null };
  const known = command.type === APP_COMMAND.CHAT_INPUT ? command.options : [];
  const options = readLevel(reading, OPTIONS, raw, known);
  if (reading.isTyping && !reading.focused && !form.isWrong(OPTIONS))
    form.add(OPTIONS, 'AUTOCOMPLETE_NOT_FOCUSED', 'One option with autocomplete must be focused.');
  return { options, checks: reading.checks, focused: reading.focused };
}

function readLevel(
  reading: Reading,
  path: FieldPath,
  raw: unknown,
  known: readonly CommandOption[],
): WireOption[] {
  const { form, isTyping } = reading;
  if (raw !== undefined && raw !== null && !Array.isArray(raw)) {
    form.add(path, 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
    return [];
  }
  const given: readonly unknown[] = raw ?? [];
  const isParent = known.some(({ type }) => SUBCOMMANDS.includes(type));
  const max = isParent ? 1 : LIMITS.app_command_options_max;
  if (given.length > max) {
    form.tooLong(path, max);
    return [];
  }
  if (isParent && given.length === 0) form.required(path);
  const read = given.flatMap((each, index) => readOption(reading, [...path, index], each, known) ?? []);
  const names = read.map(({ name }) => name);
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index)
      form.add([...path, index, 'name'], 'OPTION_REPEATED', 'This option was given before.');
  const missing =
    isParent || isTyping ? [] : known.filter(({ required, name }) => required && !names.includes(name));
  for (const { name } of form.isWrong(path) ? [] : missing)
    form.add(path, 'BASE_TYPE_REQUIRED', `The option "${name}" is required`);
  return read;
}

function readOption(
  reading: Reading,
  path: FieldPath,
  raw: unknown,
  known: readonly CommandOption[],
): WireOption | undefined {
  const { form } = reading;
  if (!isRecord(raw)) return notObject(form, path);
  const option = known.find(({ name }) => name === raw.name);
  if (!option) {
    form.add([...path, 'name'], 'OPTION_UNKNOWN', 'The command has no such option.');
    return undefined;
  }
  const { name, type } = option;
  if (raw.type !== undefined && numberOf(raw.type) !== type) {
    form.add([...path, 'type'], 'OPTION_TYPE_INVALID', `The type of this option is ${type}.`);
    return undefined;
  }
  if (SUBCOMMANDS.includes(type))
    return {
      name,
      type,
      options: readLevel(reading, [...path, 'options'], raw.options, option.options ?? []),
    };
  const isFocused = reading.isTyping && raw.focused === true;
  if (isFocused) focus(reading, path, option);
  const at = [...path, 'value'];
  if (raw.value === undefined || raw.value === null) {
    if (!isFocused) form.required(at);
    return isFocused ? { name, type, value: '', focused: true } : undefined;
  }
  // A value that is being typed need not be one yet.
  const value = isFocused ? typedSoFar(form, at, raw.value) : readValue(reading, at, raw, option);
  return value === undefined ? undefined : { name, type, value, ...(isFocused && { focused: true }) };
}

function focus(reading: Reading, path: FieldPath, option: CommandOption): void {
  const at = [...path, 'focused'];
  if (reading.focused) reading.form.add(at, 'AUTOCOMPLETE_FOCUSED_TWICE', 'Only one option can be focused.');
  if (!option.autocomplete) reading.form.add(at, 'AUTOCOMPLETE_INVALID', 'This option has no autocomplete.');
  reading.focused = option;
}

function typedSoFar(form: Form, path: FieldPath, raw: unknown): string | number | undefined {
  const max = LIMITS.app_command_string_chars_max;
  if (typeof raw === 'string' && raw.length <= max) return raw;
  if (typeof raw === 'number') return raw;
  form.add(path, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.');
  return undefined;
}

const NAMED: Readonly<Record<number, NamedKind>> = {
  [OPTION.USER]: 'user',
  [OPTION.CHANNEL]: 'channel',
  [OPTION.ROLE]: 'role',
  [OPTION.MENTIONABLE]: 'mentionable',
  [OPTION.ATTACHMENT]: 'attachment',
};

function readValue(
  reading: Reading,
  path: FieldPath,
  { value: raw }: Json,
  option: CommandOption,
): WireOption['value'] {
  const { form } = reading;
  switch (option.type) {
    case OPTION.STRING:
      return readString(form, path, raw, option);
    case OPTION.INTEGER:
    case OPTION.NUMBER: {
      const kind = option.type === OPTION.INTEGER ? ('int' as const) : ('float' as const);
      const min = option.min_value ?? -LIMITS.app_command_number_max;
      const max = option.max_value ?? LIMITS.app_command_number_max;
      return chosen(
        form,
        path,
        readNumber(form, path, typeof raw === 'bigint' ? String(raw) : raw, { kind, min, max }),
        option,
      );
    }
    case OPTION.BOOLEAN:
      if (typeof raw === 'boolean') return raw;
      form.add(path, 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
      return undefined;
    default:
      return readNamed(reading, path, raw, option);
  }
}

function readString(form: Form, path: FieldPath, raw: unknown, option: CommandOption): string | undefined {
  const text = typeof raw === 'number' || typeof raw === 'bigint' ? String(raw) : raw;
  if (typeof text !== 'string') {
    form.add(path, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.');
    return undefined;
  }
  const max = option.max_length ?? LIMITS.app_command_string_chars_max;
  const min = option.min_length ?? 0;
  const length = textLength(text);
  if (length < min || length > max) {
    if (min === 0) form.tooLong(path, max);
    else form.add(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
    return undefined;
  }
  return chosen(form, path, text, option);
}

/** The value, if the option has no choices or it is one of them. */
function chosen<V extends string | number>(
  form: Form,
  path: FieldPath,
  value: V | undefined,
  { choices }: CommandOption,
): V | undefined {
  if (value === undefined || !choices || choices.some((choice) => choice.value === value)) return value;
  form.add(
    path,
    'BASE_TYPE_CHOICES',
    `Value must be one of {${choices.map((each) => each.value).join(', ')}}.`,
  );
  return undefined;
}

function readNamed(
  { form, checks, isTyping }: Reading,
  path: FieldPath,
  raw: unknown,
  option: CommandOption,
): string | undefined {
  const id = idIn(raw);
  const kind = NAMED[option.type];
  if (id === null || !kind) {
    form.add(path, 'NUMBER_TYPE_COERCE', 'The value is not snowflake.');
    return undefined;
  }
  const { channel_types: channelTypes, file_types: fileTypes } = option;
  if (!isTyping || kind !== 'attachment')
    checks.push({ path, kind, id, ...(channelTypes && { channelTypes }), ...(fileTypes && { fileTypes }) });
  return id;
}
