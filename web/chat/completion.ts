import type { IndexedCommand } from '../../sdk/interactions/invocation.ts';

/** Completions of a line. */
export interface Completion {
  /** What the user reads, and what the text becomes. */
  readonly label: string;
  readonly detail: string;
  readonly text: string;
}

interface Described extends IndexedCommand {
  readonly description?: string;
}

const COMPLETIONS_MAX = 10;
const CHAT_INPUT = 1;

const nameOf = ({ name, name_default }: { readonly name: string; readonly name_default?: string }): string =>
  name_default ?? name;

/** Commands and options that go on from what is typed. */
export function completionsOf(text: string, commands: readonly Described[]): readonly Completion[] {
  if (!text.startsWith('/')) return [];
  const words = text.slice(1).split(/\s+/);
  const last = words.at(-1) ?? '';
  const before = text.slice(0, text.length - last.length);
  if (words.length === 1)
    return commands
      .filter((command) => command.type === CHAT_INPUT && nameOf(command).startsWith(last))
      .map((command) => {
        const name = nameOf(command);
        return { label: `/${name}`, detail: command.description ?? '', text: `/${name} ` };
      })
      .slice(0, COMPLETIONS_MAX);
  const command = commands.find((one) => one.type === CHAT_INPUT && nameOf(one) === words[0]);
  let known = command?.options ?? [];
  for (const word of words.slice(1, -1)) {
    const inner = known.find((option) => option.type <= 2 && nameOf(option) === word);
    if (inner) known = inner.options ?? [];
  }
  const given = new Set(words.flatMap((word) => (word.includes(':') ? [word.split(':', 1)[0]] : [])));
  const [name = '', typed] = last.split(':');
  const choosing = typed === undefined ? undefined : known.find((option) => nameOf(option) === name);
  if (choosing?.choices)
    return choosing.choices
      .filter((choice) => choice.name.toLowerCase().startsWith((typed ?? '').toLowerCase()))
      .map((choice) => ({ label: choice.name, detail: '', text: `${before}${name}:${quoted(choice.name)} ` }))
      .slice(0, COMPLETIONS_MAX);
  if (typed !== undefined) return [];
  return known
    .filter((option) => nameOf(option).startsWith(last) && !given.has(nameOf(option)))
    .map((option) => {
      const isSub = option.type <= 2;
      const detail = option.required ? 'required' : '';
      return { label: nameOf(option), detail, text: `${before}${nameOf(option)}${isSub ? ' ' : ':'}` };
    })
    .slice(0, COMPLETIONS_MAX);
}

/** A value as it is typed. */
export const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

/** The option with autocomplete that is being typed; null without one. */
export function typingIn(text: string, commands: readonly IndexedCommand[]) {
  const match = /^\/(\S+)\s(?:.*\s)?([^\s:]+):([^\s"]*)$/.exec(text);
  const [, name = '', option = '', value = ''] = match ?? [];
  const command = commands.find((one) => one.type === CHAT_INPUT && nameOf(one) === name);
  const found = command?.options?.find((one) => nameOf(one) === option && one.autocomplete === true);
  return match && found ? { name, option, value } : null;
}
