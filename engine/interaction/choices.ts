import { type Locale, OPTION } from '../../protocol/appcommands.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { CommandOption, OptionChoice } from '../appcommand/appcommand.ts';
import { notObject, readList, readLocalizations, readNumber, readText } from '../appcommand/fields.ts';
import type { FieldPath, Form } from '../channel/form.ts';

/**
 * Reads the choices that an application suggests while a user types.
 *
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-autocomplete
 */
export function readChoices(raw: unknown, option: CommandOption, form: Form): readonly OptionChoice[] {
  const path: FieldPath = ['data', 'choices'];
  if (raw === undefined || raw === null) form.required(path);
  const read = (at: FieldPath, each: unknown) => readChoice(form, at, each, option);
  return readList(form, path, raw, { max: LIMITS.app_command_choices_max, read }) ?? [];
}

function readChoice(
  form: Form,
  path: FieldPath,
  raw: unknown,
  option: CommandOption,
): OptionChoice | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  const max = LIMITS.app_command_choice_name_chars_max;
  const readName = (_: Form, at: FieldPath, text: unknown) => readText(form, at, text, 1, max);
  const name = readName(form, [...path, 'name'], raw.name);
  const at = [...path, 'name_localizations'];
  const localizations = readLocalizations(form, at, raw.name_localizations, readName);
  const value = readChoiceValue(form, [...path, 'value'], raw.value, option);
  if (name === undefined || value === undefined) return { name: '', name_localizations: null, value: '' };
  return { name, name_localizations: localizations, value };
}

function readChoiceValue(
  form: Form,
  path: FieldPath,
  raw: unknown,
  { type }: CommandOption,
): string | number | undefined {
  if (raw === undefined || raw === null) {
    form.required(path);
    return undefined;
  }
  if (type === OPTION.STRING) return readText(form, path, raw, 0, LIMITS.app_command_choice_value_chars_max);
  const kind = type === OPTION.INTEGER ? ('int' as const) : ('float' as const);
  const bound = LIMITS.app_command_number_max;
  return readNumber(form, path, raw, { kind, min: -bound, max: bound });
}

/** The choices as a user sees them. @param locales The user's locales, best first. */
export const localizedChoices = (choices: readonly OptionChoice[], locales: readonly Locale[]) =>
  choices.map(({ name, name_localizations: names, value }) => ({
    name: locales.map((locale) => names?.[locale]).find((each) => each !== undefined) ?? name,
    value,
  }));
