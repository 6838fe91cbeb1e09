import {
  type IndexedCommand,
  type OptionFile,
  type OptionValue,
  parseInvocation,
} from '../../sdk/interactions/invocation.ts';

/** Completions of a line. */
export interface Completion {
  /** The text that the user reads. */
  readonly label: string;
  readonly detail: string;
  readonly text: string;
}

interface Described extends IndexedCommand {
  readonly description?: string;
}

type Option = NonNullable<IndexedCommand['options']>[number];

interface Entity {
  readonly value: string;
  /** Name behind `@` or `#`. */
  readonly label: string;
}

/** Users, roles or channels that an option of such a type can name. */
type EntitiesFor = (option: Option) => readonly Entity[];

const COMPLETIONS_MAX = 10;
const CHAT_INPUT = 1;
const SUB_COMMAND_GROUP = 2;
const BOOLEAN = 5;
const ATTACHMENT = 11;
/** An option with its value, in quotes that may be open, or a word. */
const TOKEN = /[^\s:"]+:"(?:[^"\\]|\\.)*(?:"|$)|\S+/g;

const nameOf = ({ name, name_default }: { readonly name: string; readonly name_default?: string }): string =>
  name_default ?? name;

/** A line of a command, up to the token that is being typed. */
interface Line {
  readonly words: readonly string[];
  readonly values: Readonly<Record<string, string>>;
  /** The text before the last token. */
  readonly before: string;
  readonly last: string;
}

function lineOf(text: string): Line {
  const source = text.slice(1);
  const tokens = [...source.matchAll(TOKEN)];
  const newest = tokens.at(-1);
  const isOpen = newest !== undefined && newest.index + newest[0].length === source.length;
  const last = isOpen ? newest[0] : '';
  const done = (isOpen ? tokens.slice(0, -1) : tokens).map(([token]) => token);
  const options = done.filter((token) => token.includes(':')).map(split);
  return {
    words: done.filter((token) => !token.includes(':')),
    values: Object.fromEntries(options.map(({ name, value }) => [name, value])),
    before: text.slice(0, text.length - last.length),
    last,
  };
}

/** The name and the value of an option, without quotes. */
function split(token: string): { readonly name: string; readonly value: string } {
  const at = token.indexOf(':');
  const value = token.slice(at + 1).replace(/^"((?:[^"\\]|\\.)*)"?$/, '$1');
  return { name: token.slice(0, at), value: value.replace(/\\(.)/g, '$1') };
}

/** The options of a command, or of its subcommand that the words name. */
function optionsAt(commands: readonly IndexedCommand[], words: readonly string[]): readonly Option[] {
  const command = commands.find((one) => one.type === CHAT_INPUT && nameOf(one) === words[0]);
  let known = command?.options ?? [];
  for (const word of words.slice(1)) {
    const inner = known.find((option) => option.type <= SUB_COMMAND_GROUP && nameOf(option) === word);
    known = inner?.options ?? [];
  }
  return known;
}

/** Commands, options and values that complete the typed text. */
export function completionsOf(
  text: string,
  commands: readonly Described[],
  entities: EntitiesFor = () => [],
): readonly Completion[] {
  if (!text.startsWith('/')) return [];
  const { words, values, before, last } = lineOf(text);
  if (words.length === 0)
    return commands
      .filter((command) => command.type === CHAT_INPUT && nameOf(command).startsWith(last))
      .map((command) => {
        const name = nameOf(command);
        return { label: `/${name}`, detail: command.description ?? '', text: `/${name} ` };
      })
      .slice(0, COMPLETIONS_MAX);
  const known = optionsAt(commands, words);
  if (last.includes(':')) {
    const { name, value } = split(last);
    const choosing = known.find((option) => nameOf(option) === name);
    return (choosing ? valuesOf(choosing, value, entities) : [])
      .map(({ label, typed }) => ({ label, detail: '', text: `${before}${name}:${typed} ` }))
      .slice(0, COMPLETIONS_MAX);
  }
  return known
    .filter((option) => nameOf(option).startsWith(last) && values[nameOf(option)] === undefined)
    .map((option) => {
      const isSub = option.type <= SUB_COMMAND_GROUP;
      const hints = [
        option.required ? 'required' : '',
        option.type === ATTACHMENT ? 'add a file with +' : '',
      ];
      const detail = hints.filter((hint) => hint !== '').join(', ');
      return { label: nameOf(option), detail, text: `${before}${nameOf(option)}${isSub ? ' ' : ':'}` };
    })
    .slice(0, COMPLETIONS_MAX);
}

/** Values of an option that is being typed, as far as the page knows them. */
function valuesOf(
  option: Option,
  value: string,
  entities: EntitiesFor,
): readonly { readonly label: string; readonly typed: string }[] {
  const lower = value.toLowerCase();
  if (option.choices)
    return option.choices
      .filter((choice) => choice.name.toLowerCase().startsWith(lower))
      .map(({ name }) => ({ label: name, typed: quoted(name) }));
  if (option.type === BOOLEAN)
    return ['true', 'false']
      .filter((one) => one.startsWith(lower))
      .map((one) => ({ label: one, typed: one }));
  return entities(option)
    .filter(({ label }) =>
      `${label}\n${label.slice(1)}`
        .toLowerCase()
        .split('\n')
        .some((one) => one.startsWith(lower)),
    )
    .map(({ value: id, label }) => ({ label, typed: label.startsWith('#') ? `<#${id}>` : `<@${id}>` }));
}

/** A value as it is typed. */
export const quoted = (value: string): string =>
  /[\s"]/.test(value) ? `"${value.replace(/[\\"]/g, '\\$&')}"` : value;

/** An option with autocomplete that is being typed. */
interface Typing {
  /** The command, with the names of a group and a subcommand. */
  readonly name: string;
  readonly option: string;
  readonly value: string;
  /** The values of the other options so far. */
  readonly others: Readonly<Record<string, string>>;
  /** The text before the value. */
  readonly before: string;
}

/** The option with autocomplete that is being typed; null without one. */
export function typingIn(text: string, commands: readonly IndexedCommand[]): Typing | null {
  if (!text.startsWith('/')) return null;
  const { words, values, before, last } = lineOf(text);
  if (!last.includes(':')) return null;
  const { name: option, value } = split(last);
  const known = optionsAt(commands, words);
  const found = known.find((one) => nameOf(one) === option && one.autocomplete === true);
  if (!found) return null;
  const files = new Set(known.filter(({ type }) => type === ATTACHMENT).map(nameOf));
  const others = Object.fromEntries(Object.entries(values).filter(([name]) => !files.has(name)));
  return { name: words.join(' '), option, value, others, before: `${before}${option}:` };
}

/** A typed command with its values. */
interface TypedCommand {
  /** The command, with the names of a group and a subcommand. */
  readonly name: string;
  readonly values: Readonly<Record<string, OptionValue>>;
}

/**
 * The command of a line with its files: they are those of the options that the line names, then of the others in their order.
 *
 * @throws Error for a line that cannot be read, and when the command takes fewer files.
 */
export function typedCommand(
  commands: readonly IndexedCommand[],
  text: string,
  files: readonly OptionFile[],
): TypedCommand {
  const { words, values } = parseInvocation(text);
  const name = words.join(' ');
  if (files.length === 0) return { name, values };
  const takers = optionsAt(commands, words)
    .filter(({ type }) => type === ATTACHMENT)
    .map(nameOf);
  const named = takers.filter((taker) => taker in values);
  const order = [...named, ...takers.filter((taker) => !(taker in values))];
  if (files.length > order.length) {
    const count = order.length === 1 ? '1 file' : `${order.length || 'no'} files`;
    throw new Error(`/${name} takes ${count}.`);
  }
  const filled: Record<string, OptionValue> = { ...values };
  for (const taker of named) delete filled[taker];
  for (const [index, file] of files.entries()) filled[order[index] ?? ''] = file;
  return { name, values: filled };
}
