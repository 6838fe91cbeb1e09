import {
  APP_COMMAND,
  type AppCommandType,
  ENTRY_POINT_HANDLER,
  INSTALLATION,
  INTERACTION_CONTEXT,
  type Installation,
  type InteractionContext,
} from '../../protocol/appcommands.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type FieldPath, Form } from '../channel/form.ts';
import { textLength } from '../channel/text.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import type { CommandDraft, CommandOption, Localizations } from './appcommand.ts';
import {
  type Json,
  notObject,
  readBoolean,
  readChoice,
  readList,
  readLocalizations,
  readMenuName,
  readStrictName,
  readText,
} from './fields.ts';
import { readOptions } from './options.ts';

const { CHAT_INPUT, USER, MESSAGE, PRIMARY_ENTRY_POINT } = APP_COMMAND;
const GUILD_TYPES: readonly AppCommandType[] = [CHAT_INPUT, USER, MESSAGE];
const ALL_TYPES: readonly AppCommandType[] = [...GUILD_TYPES, PRIMARY_ENTRY_POINT];
const HANDLERS = Object.values(ENTRY_POINT_HANDLER);
const INSTALLATIONS = Object.values(INSTALLATION);
const CONTEXTS = Object.values(INTERACTION_CONTEXT);
/**
 * The largest permission set.
 *
 * @source https://github.com/discord/discord-api-spec, `ApplicationCommandCreateRequest`
 */
const PERMISSIONS_MAX = 18_014_398_509_481_983n;

export interface DraftScope {
  /** Whether the command belongs to one guild. */
  readonly isGuild: boolean;
  /** Ways of installation that the application has configured: the default of a global command. */
  readonly installations: readonly Installation[];
}

/**
 * Reads a command as its application sends it, in normal form: nulls and unknown keys are dropped, defaults filled in.
 *
 * @returns A 50035 that names every wrong field, or the command.
 * @source https://docs.discord.com/developers/interactions/application-commands#application-command-object
 */
export function readDraft(raw: unknown, scope: DraftScope): Reply<CommandDraft> {
  const form = new Form();
  const draft = readDraftAt(form, [], raw, scope);
  const problem = form.refusal();
  if (draft && !problem) return { ok: true, value: draft };
  return refused(problem ?? refusal('INVALID_FORM_BODY'));
}

/** Reads one command of a list. The result is undefined, or incomplete, when `form` has errors. */
export function readDraftAt(
  form: Form,
  path: FieldPath,
  raw: unknown,
  { isGuild, installations }: DraftScope,
): CommandDraft | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  const types = isGuild ? GUILD_TYPES : ALL_TYPES;
  const type = readChoice(form, [...path, 'type'], raw.type ?? CHAT_INPUT, types);
  if (type === undefined) return undefined;
  const draft: CommandDraft = {
    type,
    ...readTexts(form, path, raw, type),
    options: readCommandOptions(form, path, raw, type),
    default_member_permissions: readPermissions(
      form,
      [...path, 'default_member_permissions'],
      raw.default_member_permissions,
    ),
    nsfw: readBoolean(form, [...path, 'nsfw'], raw.nsfw),
    ...(isGuild ? {} : readAvailability(form, path, raw, installations)),
    ...readHandler(form, path, raw, type),
  };
  if (!form.isWrong(path) && totalLength(draft) > LIMITS.app_command_total_chars_max)
    form.add(
      path,
      'APPLICATION_COMMAND_TOO_LARGE',
      `Command exceeds maximum size (${LIMITS.app_command_total_chars_max})`,
    );
  return draft;
}

type Texts = Pick<CommandDraft, 'name' | 'name_localizations' | 'description' | 'description_localizations'>;

/** Slash commands must have a description, entries of a menu none; an entry point may have one. */
function readTexts(form: Form, path: FieldPath, raw: Json, type: AppCommandType): Texts {
  const readName = type === CHAT_INPUT ? readStrictName : readMenuName;
  const isMenu = type === USER || type === MESSAGE;
  const min = type === CHAT_INPUT ? 1 : 0;
  const max = isMenu ? 0 : LIMITS.app_command_description_chars_max;
  return {
    name: readName(form, [...path, 'name'], raw.name) ?? '',
    name_localizations: readLocalizations(
      form,
      [...path, 'name_localizations'],
      raw.name_localizations,
      readName,
    ),
    description: readText(form, [...path, 'description'], raw.description, min, max) ?? '',
    description_localizations: readLocalizations(
      form,
      [...path, 'description_localizations'],
      raw.description_localizations,
      (_, at, text) => readText(form, at, text, Math.min(1, max), max),
    ),
  };
}

function readCommandOptions(form: Form, path: FieldPath, raw: Json, type: AppCommandType): CommandOption[] {
  const at = [...path, 'options'];
  if (type === CHAT_INPUT) return readOptions(form, at, raw.options, 'command');
  return readList<CommandOption>(form, at, raw.options, { max: 0, read: () => undefined }) ?? [];
}

/** A permission set, as an integer or as its decimal text; null when absent. */
function readPermissions(form: Form, path: FieldPath, raw: unknown): string | null {
  if (raw === undefined || raw === null) return null;
  const isExact = typeof raw === 'string' ? /^\d{1,20}$/.test(raw) : Number.isSafeInteger(raw);
  if (!isExact) form.add(path, 'NUMBER_TYPE_COERCE', 'Value is not int.');
  const bits = isExact ? BigInt(String(raw)) : 0n;
  if (bits < 0n) form.add(path, 'NUMBER_TYPE_MIN', 'int value should be greater than or equal to 0.');
  if (bits > PERMISSIONS_MAX)
    form.add(path, 'NUMBER_TYPE_MAX', `int value should be less than or equal to ${PERMISSIONS_MAX}.`);
  return String(bits);
}

type Availability = Required<Pick<CommandDraft, 'integration_types' | 'contexts'>>;

/** Where a global command can be used. `dm_permission` is the older way to say it, and counts without `contexts`. */
function readAvailability(
  form: Form,
  path: FieldPath,
  raw: Json,
  configured: readonly Installation[],
): Availability {
  const oneOf =
    <T extends number>(values: readonly T[]) =>
    (at: FieldPath, each: unknown) =>
      readChoice(form, at, each, values);
  const types = readList(form, [...path, 'integration_types'], raw.integration_types, {
    ...{ min: 1, max: INSTALLATIONS.length },
    read: oneOf(INSTALLATIONS),
  });
  const contexts = readList<InteractionContext>(form, [...path, 'contexts'], raw.contexts, {
    ...{ min: 1, max: CONTEXTS.length },
    read: oneOf(CONTEXTS),
  });
  const inPrivate = readBoolean(form, [...path, 'dm_permission'], raw.dm_permission ?? true);
  return {
    integration_types: [...new Set(types ?? configured)],
    contexts: contexts ? [...new Set(contexts)] : inPrivate ? null : [INTERACTION_CONTEXT.GUILD],
  };
}

/** The handler of an entry point. Default: the application (this server's choice). */
function readHandler(
  form: Form,
  path: FieldPath,
  raw: Json,
  type: AppCommandType,
): Pick<CommandDraft, 'handler'> {
  const at = [...path, 'handler'];
  const handler = readChoice(form, at, raw.handler, HANDLERS);
  if (type === PRIMARY_ENTRY_POINT) return { handler: handler ?? ENTRY_POINT_HANDLER.APPLICATION };
  if (handler !== undefined)
    form.add(at, 'APPLICATION_COMMAND_HANDLER_INVALID', 'Only an entry point can have a handler.');
  return {};
}

/** The characters that count towards a command's bound. Each text counts with its longest translation. */
function totalLength({ name, name_localizations, options, ...draft }: CommandDraft): number {
  const own = longest(name, name_localizations);
  return own + longest(draft.description, draft.description_localizations) + optionsLength(options);
}

function optionsLength(options: readonly CommandOption[]): number {
  let total = 0;
  for (const option of options) {
    total += longest(option.name, option.name_localizations);
    total += longest(option.description, option.description_localizations);
    for (const { name, name_localizations, value } of option.choices ?? [])
      total += longest(name, name_localizations) + textLength(String(value));
    total += optionsLength(option.options ?? []);
  }
  return total;
}

const longest = (text: string, localizations: Localizations | null): number =>
  Math.max(textLength(text), ...Object.values(localizations ?? {}).map((each) => textLength(each)));
