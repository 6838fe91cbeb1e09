import { OPTION, type OptionType } from '../../protocol/appcommands.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { FILE_TYPE_INVALID, fileTypeOf } from '../../protocol/filetypes.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { FieldPath, Form } from '../channel/form.ts';
import type { CommandOption, OptionChoice } from './appcommand.ts';
import {
  type Json,
  notObject,
  readBoolean,
  readChoice,
  readList,
  readLocalizations,
  readNumber,
  readStrictName,
  readText,
} from './fields.ts';

const SUBCOMMANDS: readonly OptionType[] = [OPTION.SUB_COMMAND, OPTION.SUB_COMMAND_GROUP];
const VALUES: readonly OptionType[] = Object.values(OPTION).filter((type) => !SUBCOMMANDS.includes(type));
/** Types of options by the place of the list. */
const ALLOWED = {
  command: Object.values(OPTION),
  group: [OPTION.SUB_COMMAND],
  subcommand: VALUES,
} as const satisfies Record<string, readonly OptionType[]>;
type OptionParent = keyof typeof ALLOWED;

const CHANNEL_TYPES = Object.values(CHANNEL);

/** Reads the options of a command, a group or a subcommand. */
export function readOptions(form: Form, path: FieldPath, raw: unknown, place: OptionParent): CommandOption[] {
  const read = (at: FieldPath, each: unknown) => readOption(form, at, each, place);
  const options = readList(form, path, raw, { max: LIMITS.app_command_options_max, read }) ?? [];
  if (!form.isWrong(path)) checkTogether(form, path, options);
  return options;
}

/** The rules between the options of one list. */
function checkTogether(form: Form, path: FieldPath, options: readonly CommandOption[]): void {
  const names = new Set<string>();
  const [first] = options;
  let optional = false;
  for (const [index, { type, name, required }] of options.entries()) {
    const at = [...path, index];
    if (first && SUBCOMMANDS.includes(type) !== SUBCOMMANDS.includes(first.type))
      form.add(
        at,
        'APPLICATION_COMMAND_OPTIONS_TYPE_INVALID',
        'Sub-command and sub-command group option types are mutually exclusive to all other types',
      );
    if (names.has(name)) {
      const message = `Option name ${name} is already used in these options`;
      form.add(at, 'APPLICATION_COMMAND_OPTIONS_NAME_INVALID', message);
    }
    if (required && optional)
      form.add(
        at,
        'APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
        'Required options must be placed before non-required options',
      );
    names.add(name);
    optional ||= required !== true && !SUBCOMMANDS.includes(type);
  }
}

function readOption(
  form: Form,
  path: FieldPath,
  raw: unknown,
  place: OptionParent,
): CommandOption | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  if (raw.type === undefined || raw.type === null) form.required([...path, 'type']);
  const type = typeOf(raw.type, ALLOWED[place]);
  if (type === undefined) {
    if (!form.isWrong([...path, 'type']))
      form.add(
        path,
        'UNION_TYPE_CHOICES',
        `Value of field "type" must be one of (${ALLOWED[place].join(', ')}).`,
      );
    return undefined;
  }
  const max = LIMITS.app_command_description_chars_max;
  const readDescription = (at: FieldPath, text: unknown) => readText(form, at, text, 1, max);
  const texts = {
    name: readStrictName(form, [...path, 'name'], raw.name) ?? '',
    name_localizations: readLocalizations(
      form,
      [...path, 'name_localizations'],
      raw.name_localizations,
      readStrictName,
    ),
    description: readDescription([...path, 'description'], raw.description) ?? '',
    description_localizations: readLocalizations(
      form,
      [...path, 'description_localizations'],
      raw.description_localizations,
      (_, at, text) => readDescription(at, text),
    ),
  };
  const required = readRequired(form, path, raw, type);
  return { type, ...texts, ...(required ? { required } : {}), ...readDetails(form, path, raw, type) };
}

function typeOf(raw: unknown, types: readonly OptionType[]): OptionType | undefined {
  return types.find((type) => type === raw || String(type) === raw);
}

/** Whether a value must be given. A subcommand cannot be required. */
function readRequired(form: Form, path: FieldPath, raw: Json, type: OptionType): boolean {
  const required = readBoolean(form, [...path, 'required'], raw.required);
  if (!required || !SUBCOMMANDS.includes(type)) return required;
  form.add(
    [...path, 'required'],
    'APPLICATION_COMMAND_REQUIRED_INVALID',
    'Required cannot be configured for this type of option',
  );
  return false;
}

type Details = Partial<Omit<CommandOption, 'type' | 'name' | 'description'>>;

/** The fields that only options of this type have. Others are dropped, as unknown keys are. */
function readDetails(form: Form, path: FieldPath, raw: Json, type: OptionType): Details {
  switch (type) {
    case OPTION.SUB_COMMAND:
    case OPTION.SUB_COMMAND_GROUP: {
      const place = type === OPTION.SUB_COMMAND ? 'subcommand' : 'group';
      const options = readOptions(form, [...path, 'options'], raw.options, place);
      return options.length === 0 ? {} : { options };
    }
    case OPTION.STRING:
      return { ...readSuggestions(form, path, raw, type), ...readLengths(form, path, raw) };
    case OPTION.INTEGER:
    case OPTION.NUMBER:
      return { ...readSuggestions(form, path, raw, type), ...readRange(form, path, raw, type) };
    case OPTION.CHANNEL: {
      const read = (at: FieldPath, each: unknown) => readChoice(form, at, each, CHANNEL_TYPES);
      const rule = { max: CHANNEL_TYPES.length, read };
      const types = readList(form, [...path, 'channel_types'], raw.channel_types, rule) ?? [];
      return types.length === 0 ? {} : { channel_types: [...new Set(types)] };
    }
    case OPTION.ATTACHMENT: {
      const read = (at: FieldPath, each: unknown) => readFileType(form, at, each);
      const rule = { max: LIMITS.app_command_file_types_max, read };
      const types = readList(form, [...path, 'file_types'], raw.file_types, rule) ?? [];
      return types.length === 0 ? {} : { file_types: [...new Set(types)] };
    }
    default:
      return {};
  }
}

function readFileType(form: Form, path: FieldPath, raw: unknown): string | undefined {
  const type = fileTypeOf(raw);
  if (type === null) form.add(path, 'FILE_TYPE_INVALID', FILE_TYPE_INVALID);
  return type ?? undefined;
}

type Valued = typeof OPTION.STRING | typeof OPTION.INTEGER | typeof OPTION.NUMBER;

/** Choices, or suggestions by the application while a user types: not both. */
function readSuggestions(form: Form, path: FieldPath, raw: Json, type: Valued): Details {
  const at = [...path, 'choices'];
  const read = (each: FieldPath, choice: unknown) => readOptionChoice(form, each, choice, type);
  const choices = readList(form, at, raw.choices, { max: LIMITS.app_command_choices_max, read }) ?? [];
  const autocomplete = readBoolean(form, [...path, 'autocomplete'], raw.autocomplete);
  if (autocomplete && choices.length > 0)
    form.add(
      [...path, 'autocomplete'],
      'APPLICATION_COMMAND_AUTOCOMPLETE_INVALID',
      'An option with choices cannot have autocomplete.',
    );
  if (!form.isWrong(at)) checkChoiceNames(form, at, choices);
  return { ...(autocomplete ? { autocomplete } : {}), ...(choices.length > 0 ? { choices } : {}) };
}

function checkChoiceNames(form: Form, path: FieldPath, choices: readonly OptionChoice[]): void {
  const names = new Set<string>();
  for (const [index, { name }] of choices.entries()) {
    if (names.has(name))
      form.add(
        [...path, index],
        'APPLICATION_COMMAND_OPTIONS_CHOICE_NAME_ALREADY_EXISTS',
        'Option choice name already exists',
      );
    names.add(name);
  }
}

function readOptionChoice(form: Form, path: FieldPath, raw: unknown, type: Valued): OptionChoice | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  const max = LIMITS.app_command_choice_name_chars_max;
  const readName = (_: Form, at: FieldPath, text: unknown) => readText(form, at, text, 1, max);
  const name = readName(form, [...path, 'name'], raw.name) ?? '';
  const localizations = readLocalizations(
    form,
    [...path, 'name_localizations'],
    raw.name_localizations,
    readName,
  );
  const at = [...path, 'value'];
  if (raw.value === undefined || raw.value === null) form.required(at);
  const value =
    type === OPTION.STRING
      ? readText(form, at, raw.value, 0, LIMITS.app_command_choice_value_chars_max)
      : readNumber(form, at, raw.value, numbersOf(type));
  return { name, name_localizations: localizations, value: value ?? '' };
}

const numbersOf = (type: Valued) => ({
  kind: type === OPTION.INTEGER ? ('int' as const) : ('float' as const),
  min: -LIMITS.app_command_number_max,
  max: LIMITS.app_command_number_max,
});

/** The bounds of a number; the upper one is not below the lower one. */
function readRange(form: Form, path: FieldPath, raw: Json, type: Valued): Details {
  const rule = numbersOf(type);
  const least = readNumber(form, [...path, 'min_value'], raw.min_value, rule);
  const most = readNumber(form, [...path, 'max_value'], raw.max_value, { ...rule, min: least ?? rule.min });
  return {
    ...(least === undefined ? {} : { min_value: least }),
    ...(most === undefined ? {} : { max_value: most }),
  };
}

/** The bounds of a text's length; the upper one is not below the lower one. */
function readLengths(form: Form, path: FieldPath, raw: Json): Details {
  const max = LIMITS.app_command_string_chars_max;
  const least = readNumber(form, [...path, 'min_length'], raw.min_length, { kind: 'int', min: 0, max });
  const min = Math.max(1, least ?? 0);
  const most = readNumber(form, [...path, 'max_length'], raw.max_length, { kind: 'int', min, max });
  return {
    ...(least === undefined ? {} : { min_length: least }),
    ...(most === undefined ? {} : { max_length: most }),
  };
}
