/** A command as a command index shows it. */
export interface IndexedCommand {
  readonly id: string;
  readonly application_id: string;
  readonly version: string;
  readonly type: number;
  readonly name: string;
  readonly name_default?: string;
  readonly guild_id?: string;
  readonly options?: readonly IndexedOption[];
}

/** The commands of several indexes, as the server answers them; each command once. */
export function commandsIn(indexes: readonly unknown[]): readonly IndexedCommand[] {
  const all = indexes.filter(isIndex).flatMap((index) => index.application_commands);
  return [...new Map(all.map((command) => [command.id, command])).values()];
}

interface CommandIndex {
  readonly application_commands: readonly IndexedCommand[];
}

const isIndex = (body: unknown): body is CommandIndex =>
  typeof body === 'object' && body !== null && 'application_commands' in body;

interface IndexedOption {
  readonly type: number;
  readonly name: string;
  readonly name_default?: string;
  readonly required?: boolean;
  readonly autocomplete?: boolean;
  readonly channel_types?: readonly number[];
  readonly choices?: readonly { readonly name: string; readonly value: string | number }[];
  readonly options?: readonly IndexedOption[];
}

/** A file of an option. */
export interface OptionFile {
  readonly filename: string;
  readonly bytes: Uint8Array;
}

/**
 * A person's value for an option: a text, a number, something with an id (a user, a role, a channel), or a file. Null
 * leaves the option out.
 */
export type OptionValue = GivenValue | null;
type GivenValue = string | number | boolean | { readonly id: string } | OptionFile;

interface SentOption {
  readonly type: number;
  readonly name: string;
  readonly value?: string | number | boolean;
  readonly focused?: true;
  readonly options?: readonly SentOption[];
}

interface TypedOptions {
  readonly options: readonly SentOption[];
  /** Files by their ids in the request. */
  readonly files: readonly OptionFile[];
}

const SUB_COMMAND = 1;
const SUB_COMMAND_GROUP = 2;
const INTEGER = 4;
const BOOLEAN = 5;
const NUMBER = 10;
const ATTACHMENT = 11;
const NAMED: readonly number[] = [6, 7, 8, 9];
const MENTION = /^<(?:@[!&]?|#)(\d{1,20})>$/;
const CHAT_INPUT = 1;
const PRIMARY_ENTRY_POINT = 4;

/** The command that launches an activity is typed like any other. */
const isEntryPoint = (command: { readonly type: number }, wanted: number): boolean =>
  wanted === CHAT_INPUT && command.type === PRIMARY_ENTRY_POINT;

const nameOf = ({ name, name_default }: Pick<IndexedOption, 'name' | 'name_default'>): string =>
  name_default ?? name;

/** A mistake in the typed command. The message says what to type. */
class InvocationError extends Error {
  override readonly name = 'InvocationError';
}

/** The command of these words: its name, and the names of a group and a subcommand if it has them. */
export function commandOf(
  commands: readonly IndexedCommand[],
  words: readonly string[],
  type = CHAT_INPUT,
): IndexedCommand {
  const name = type === CHAT_INPUT ? (words[0] ?? '') : words.join(' ');
  const found = commands.find(
    (command) => (command.type === type || isEntryPoint(command, type)) && isNamed(command, name),
  );
  if (found) return found;
  const known = commands.filter((command) => command.type === type).map(nameOf);
  const list = known.length > 0 ? `There is: ${known.join(', ')}.` : 'No command can be used here.';
  throw new InvocationError(`There is no command "${name}". ${list}`);
}

const isNamed = (one: Pick<IndexedOption, 'name' | 'name_default'>, name: string): boolean =>
  one.name === name || one.name_default === name;

/**
 * Options as the server takes them.
 *
 * @param path Names of the group and the subcommand, if the command has them.
 * @param focused The option that is being typed, of an autocomplete.
 */
export function typedOptions(
  command: IndexedCommand,
  path: readonly string[],
  values: Readonly<Record<string, OptionValue>>,
  focused?: string,
): TypedOptions {
  const files: OptionFile[] = [];
  const level = (known: readonly IndexedOption[], rest: readonly string[]): readonly SentOption[] => {
    const [word, ...further] = rest;
    if (word !== undefined) {
      const sub = known.find((option) => option.type <= SUB_COMMAND_GROUP && isNamed(option, word));
      if (!sub)
        throw new InvocationError(`"${nameOf(command)}" has no subcommand "${word}". ${listed(known)}`);
      return [{ type: sub.type, name: nameOf(sub), options: level(sub.options ?? [], further) }];
    }
    if (known.some(({ type }) => type === SUB_COMMAND || type === SUB_COMMAND_GROUP))
      throw new InvocationError(`"${nameOf(command)}" needs a subcommand. ${listed(known)}`);
    return Object.entries(values).flatMap(([name, value]) => {
      if (value === null || value === undefined) return [];
      const option = known.find((each) => isNamed(each, name));
      if (!option)
        throw new InvocationError(`"${nameOf(command)}" has no option "${name}". ${listed(known)}`);
      const isFocused = focused !== undefined && isNamed(option, focused);
      const typed = isFocused && typeof value !== 'object' ? String(value) : typedValue(option, value, files);
      return { type: option.type, name: nameOf(option), value: typed, ...(isFocused && { focused: true }) };
    });
  };
  return { options: level(command.options ?? [], path), files };
}

const listed = (known: readonly IndexedOption[]): string =>
  known.length === 0 ? 'It takes no options.' : `It takes: ${known.map(nameOf).join(', ')}.`;

function typedValue(
  option: IndexedOption,
  value: GivenValue,
  files: OptionFile[],
): string | number | boolean {
  if (typeof value === 'object') {
    if ('id' in value) return value.id;
    files.push(value);
    return String(files.length - 1);
  }
  const { type, choices } = option;
  const chosen = choices?.find(({ name }) => name === value);
  if (chosen) return chosen.value;
  if (type === ATTACHMENT) throw new InvocationError(`"${nameOf(option)}" takes a file.`);
  if (typeof value !== 'string') return value;
  if (type === INTEGER || type === NUMBER) return numberOf(option, value);
  if (type === BOOLEAN) return booleanOf(option, value);
  return NAMED.includes(type) ? (MENTION.exec(value)?.[1] ?? value) : value;
}

function numberOf(option: IndexedOption, text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new InvocationError(`"${nameOf(option)}" takes a number, not "${text}".`);
}

function booleanOf(option: IndexedOption, text: string): boolean {
  if (/^(?:true|yes|on|1)$/i.test(text)) return true;
  if (/^(?:false|no|off|0)$/i.test(text)) return false;
  throw new InvocationError(`"${nameOf(option)}" takes true or false, not "${text}".`);
}

/** The words and options that were typed after a slash. */
interface ParsedInvocation {
  readonly words: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;

/**
 * Reads `/group sub option:value other:"several words"`. A value in quotes may hold spaces; `\"` in it is a quote.
 *
 * @throws InvocationError for a malformed text; the message says what to type.
 */
export function parseInvocation(text: string): ParsedInvocation {
  const source = text.trim().replace(/^\//, '');
  const words: string[] = [];
  const values: Record<string, string> = Object.create(null);
  const token = /\s*(?:([^\s:"]+):(?:"((?:[^"\\]|\\.)*)"|((?!")\S*))|([^\s:"]+))(?=\s|$)/uy;
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const [, name, quoted, plain = '', word] = token.exec(source) ?? [];
    if (name === undefined && word === undefined)
      throw new InvocationError(`Cannot read "${source.slice(at).trim()}". Type /command option:value.`);
    if (word !== undefined) {
      if (Object.keys(values).length > 0)
        throw new InvocationError(`"${word}" has no option. Type option:value, or option:"several words".`);
      words.push(word);
    } else if (name !== undefined) {
      if (!NAME.test(name)) throw new InvocationError(`"${name}" is no name of an option.`);
      values[name] = quoted === undefined ? plain : quoted.replace(/\\(.)/g, '$1');
    }
  }
  if (words.length === 0) throw new InvocationError('Type a command, such as /ping.');
  return { words, values: { ...values } };
}
