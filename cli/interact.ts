import type { Command } from 'commander';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

/** Adds `interact`, which runs a command of a bot as a user and shows the answer. */
export function addInteractCommand(program: Command, world: World): void {
  remote(program, 'interact <bot> <command...>', world, 'run a command of a bot, and show its answer', run)
    .option('--as <user>', 'id of the user who runs it (default: the owner of the guild)')
    .option('--guild <id>', 'where (default: a guild of the bot)')
    .option('--channel <id>', 'where (default: its first text channel)')
    .addHelpText('after', '\nExample: guildhall interact Lantern /ping text:"two words"');
}

async function run(ask: Remote, names: readonly string[], flags: Flags): Promise<CommandOutput> {
  const [bot = '', ...words] = names;
  const value = await ask('POST', '/interactions', {
    ...{ bot, text: words.map(quoted).join(' ') },
    ...(flags.as !== undefined && { as: flags.as }),
    ...(flags.guild !== undefined && { guild_id: flags.guild }),
    ...(flags.channel !== undefined && { channel_id: flags.channel }),
  });
  if (value.kind === 'failed') throw new CommandError(...(FAILURES[Number(value.reason)] ?? FAILED));
  return { value, lines: shown(value) };
}

/** The shell has taken the quotes off `text:"two words"`. */
function quoted(word: string): string {
  const [, name, value] = /^([^\s:"]+):(.*)$/s.exec(word) ?? [];
  if (name === undefined || value === undefined || !/\s/.test(value) || value.startsWith('"')) return word;
  return `${name}:"${value.replace(/[\\"]/g, '\\$&')}"`;
}

/** A message and an advice for each reason of a failed interaction. */
const FAILURES: Readonly<Record<number, readonly [message: string, advice: string]>> = {
  1: [
    'The endpoint of the application answered with something that is not a callback.',
    'Let it answer 200 with a callback as JSON, or 202 and call the callback route.',
  ],
  2: [
    'The application did not answer within three seconds.',
    'Check that its bot is connected and answers the command, or let it defer its answer.',
  ],
  3: [
    'The application cannot be reached.',
    'Connect its bot; if it has an endpoint, check its URL and that it runs.',
  ],
};
const FAILED: readonly [string, string] = ['The interaction failed.', 'Look into the log of the bot.'];

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : []);

/** The answer in lines: the message with what can be clicked, or the form with its fields. */
function shown(answer: Json): readonly string[] {
  const { kind, message, modal, isEphemeral } = answer;
  if (kind === 'modal' && isJson(modal))
    return [`A form opens: ${modal.title}`, ...partsOf(listOf(modal.components))];
  if (!isJson(message)) return ['Accepted; there is nothing to see.'];
  const note = isEphemeral === true ? ['(only this user sees it)'] : [];
  const text = String(message.content ?? '');
  const files = listOf(message.attachments).map(({ filename }) => `  file: ${filename}`);
  const embeds = listOf(message.embeds).map(
    ({ title, description }) => `  embed: ${title ?? description ?? ''}`,
  );
  return [
    ...(text === '' ? [] : [text]),
    ...embeds,
    ...files,
    ...partsOf(listOf(message.components)),
    ...note,
  ];
}

/** Buttons, selects and fields, with the ids that name them. */
function partsOf(components: readonly Json[]): readonly string[] {
  return components.flatMap((one) => {
    const { custom_id: id, label, placeholder, content } = one;
    const own = id === undefined ? [] : [`  [${label ?? placeholder ?? 'choose'}] ${id}`];
    const text = typeof content === 'string' ? [`  ${content}`] : [];
    const inner = [one.component, one.accessory].filter(isJson);
    return [...own, ...text, ...partsOf([...listOf(one.components), ...inner])];
  });
}
