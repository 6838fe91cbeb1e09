import type {
  AppCommand,
  CommandOption,
  Localizations,
  OptionChoice,
} from '../../engine/appcommand/appcommand.ts';
import { INTERACTION_CONTEXT, LOCALES, type Locale } from '../../protocol/appcommands.ts';

/** Locales whose texts stand in for those of another. */
const FALLBACKS: Readonly<Partial<Record<Locale, Locale>>> = {
  'en-US': 'en-GB',
  'en-GB': 'en-US',
  'es-419': 'es-ES',
};

/** The first known locale of a list of language tags, and the locale that stands in for it. */
export function localesOf(tags: readonly string[]): readonly Locale[] {
  for (const tag of tags) {
    const wanted = tag.toLowerCase();
    const exact = LOCALES.find((locale) => locale.toLowerCase() === wanted);
    const locale = exact ?? LOCALES.find((each) => each.toLowerCase().split('-')[0] === wanted.split('-')[0]);
    if (!locale) continue;
    const other = FALLBACKS[locale];
    return other ? [locale, other] : [locale];
  }
  return [];
}

/**
 * How texts are shown: with all translations; the best of some locales beside the original; or in its place, as people's
 * clients show them.
 */
type Wording = ChosenLocales | { readonly shown: readonly Locale[] };
type ChosenLocales = 'all' | readonly Locale[];

/** A command as clients read it. Those of a guild have no contexts; empty lists of options are left out. */
export function commandBody(
  command: AppCommand,
  given: ChosenLocales,
  as: 'stored' | 'shown' = 'stored',
): object {
  const { guild_id, options, contexts, ...rest } = command;
  const wording: Wording = as === 'shown' && given !== 'all' ? { shown: given } : given;
  const texts = textsOf(command, wording);
  return {
    ...without(rest),
    ...texts,
    ...(guild_id === null
      ? { contexts: contexts ?? null, dm_permission: worksInPrivate(contexts) }
      : { guild_id }),
    ...(options.length === 0 ? {} : { options: options.map((option) => optionBody(option, wording)) }),
  };
}

/** The older field for contexts: whether the command works in the direct messages of its bot. */
const worksInPrivate = (contexts: AppCommand['contexts']): boolean =>
  contexts === null || contexts === undefined || contexts.includes(INTERACTION_CONTEXT.BOT_DM);

interface Described extends Named {
  readonly description: string;
  readonly description_localizations: Localizations | null;
}
interface Named {
  readonly name: string;
  readonly name_localizations: Localizations | null;
}

function without<T extends Described>({
  name_localizations: _,
  description_localizations: __,
  ...rest
}: T): Omit<T, 'name_localizations' | 'description_localizations'> {
  return rest;
}

function textsOf({ description, description_localizations, ...named }: Described, wording: Wording): object {
  if (wording === 'all') return { ...nameOf(named, wording), description_localizations };
  if ('shown' in wording) {
    const shown = textIn(wording.shown, description, description_localizations);
    return { ...nameOf(named, wording), description: shown, description_default: description };
  }
  const localized = textIn(wording, description, description_localizations);
  return { ...nameOf(named, wording), description_localized: localized };
}

function nameOf({ name, name_localizations }: Named, wording: Wording): object {
  if (wording === 'all') return { name_localizations };
  if (!('shown' in wording)) return { name_localized: textIn(wording, name, name_localizations) };
  return { name: textIn(wording.shown, name, name_localizations), name_default: name };
}

const textIn = (locales: readonly Locale[], text: string, localizations: Localizations | null): string =>
  locales.map((locale) => localizations?.[locale]).find((each) => each !== undefined) ?? text;

function optionBody(option: CommandOption, wording: Wording): object {
  const { options, choices, ...rest } = option;
  return {
    ...without(rest),
    ...textsOf(option, wording),
    ...(choices && { choices: choices.map((choice) => choiceBody(choice, wording)) }),
    ...(options && { options: options.map((each) => optionBody(each, wording)) }),
  };
}

const choiceBody = (choice: OptionChoice, wording: Wording): object => ({
  ...{ name: choice.name, value: choice.value },
  ...nameOf(choice, wording),
});
