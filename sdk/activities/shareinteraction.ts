import { commandOf, commandsIn, typedOptions } from '../interactions/invocation.ts';
import { type CallApi, optional, type Prompts, text } from '../rpc/commands.ts';
import { type Args, isObject, RpcError } from '../rpc/link.ts';

interface SharePorts {
  readonly call: CallApi;
  readonly page: Prompts;
  readonly applicationId: string;
  readonly guildId: string | null;
  readonly channelId: string;
}

const COMMAND = 2;
/** A group, a subcommand and a command of at most 32 characters each. */
const COMMAND_CHARS_MAX = 98;
const CONTENT_CHARS_MAX = 2_000;
const OPTIONS_MAX = 25;
const VALUE_CHARS_MAX = 6_000;

/**
 * Uses a command of the application in the channel of the activity, with the options that the activity fills in, when the
 * person agrees to exactly that. The text of the activity is shown with the question; the application answers as it likes.
 *
 * @throws RpcError
 */
export async function shareInteraction(
  ports: SharePorts,
  args: Args,
): Promise<{ readonly success: boolean }> {
  const { call, page, applicationId, guildId, channelId } = ports;
  const words = text(args, 'command', COMMAND_CHARS_MAX).replace(/^\//, '').split(' ');
  const content = optional(args, 'content', CONTENT_CHARS_MAX);
  const values = valuesOf(args.options);
  const index = await call('GET', `/channels/${channelId}/application-command-index`);
  const own = commandsIn([index.body]).filter(({ application_id: id }) => id === applicationId);
  const filled = Object.entries(values).map(([name, value]) => ` ${name}:${value}`);
  const { command, options } = typed(own, words, values);
  const question = `Use /${words.join(' ')}${filled.join('')} in this channel? ${content ?? ''}`;
  if (!(await page.confirm(question.trim()))) return { success: false };
  const { id, version, type, name, name_default: original, guild_id: ofGuild } = command;
  const data = { id, version, type, name: original ?? name, options };
  const { status } = await call('POST', '/interactions', {
    body: {
      ...{ type: COMMAND, application_id: applicationId, channel_id: channelId },
      ...(guildId !== null && { guild_id: guildId }),
      data: { ...data, ...(ofGuild !== undefined && { guild_id: ofGuild }) },
    },
  });
  return { success: status === 204 };
}

function valuesOf(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {};
  if (!Array.isArray(given) || given.length > OPTIONS_MAX)
    throw new RpcError('INVALID_PAYLOAD', `options must be a list of at most ${OPTIONS_MAX}.`);
  return Object.fromEntries(
    given.map((one) => {
      if (!isObject(one)) throw new RpcError('INVALID_PAYLOAD', 'An option has a name and a value.');
      return [text(one, 'name', 32), text(one, 'value', VALUE_CHARS_MAX)];
    }),
  );
}

function typed(
  own: ReturnType<typeof commandsIn>,
  words: readonly string[],
  values: Readonly<Record<string, string>>,
) {
  try {
    const command = commandOf(own, words);
    return { command, options: typedOptions(command, words.slice(1), values).options };
  } catch (error) {
    throw new RpcError('INVALID_PAYLOAD', error instanceof Error ? error.message : 'Unknown command.');
  }
}
