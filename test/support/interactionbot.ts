import {
  ApplicationCommandType,
  type ChatInputCommandInteraction,
  Client,
  ContextMenuCommandBuilder,
  Events,
  GatewayIntentBits,
  type Interaction,
  SlashCommandBuilder,
} from 'discord.js';
import type { TestServer } from './server.ts';

const TIMEOUT_MS = 10_000;

/** Commands of every kind, with every kind of option. */
const BUILDERS = [
  new SlashCommandBuilder().setName('ping').setDescription('Answers.'),
  new SlashCommandBuilder()
    .setName('every')
    .setDescription('Has every kind of option.')
    .addStringOption((option) => option.setName('text').setDescription('t').setRequired(true).setMaxLength(5))
    .addIntegerOption((option) => option.setName('count').setDescription('c').setMinValue(1).setMaxValue(9))
    .addBooleanOption((option) => option.setName('flag').setDescription('f'))
    .addUserOption((option) => option.setName('user').setDescription('u'))
    .addChannelOption((option) => option.setName('channel').setDescription('c'))
    .addRoleOption((option) => option.setName('role').setDescription('r'))
    .addMentionableOption((option) => option.setName('any').setDescription('m'))
    .addNumberOption((option) => option.setName('number').setDescription('n'))
    .addAttachmentOption((option) => option.setName('file').setDescription('f')),
  new SlashCommandBuilder()
    .setName('colour')
    .setDescription('Completes.')
    .addStringOption((option) => option.setName('name').setDescription('n').setAutocomplete(true)),
  new SlashCommandBuilder()
    .setName('group')
    .setDescription('Has subcommands.')
    .addSubcommand((sub) => sub.setName('one').setDescription('1'))
    .addSubcommandGroup((group) =>
      group
        .setName('more')
        .setDescription('m')
        .addSubcommand((sub) =>
          sub
            .setName('two')
            .setDescription('2')
            .addIntegerOption((option) => option.setName('n').setDescription('n').setRequired(true)),
        ),
    ),
  new ContextMenuCommandBuilder().setName('Greet').setType(ApplicationCommandType.User),
  new ContextMenuCommandBuilder().setName('Quote').setType(ApplicationCommandType.Message),
];

interface MadeCommand {
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly type: number;
}

/** The value that `start` resolves with. @throws after ten seconds. */
export const heard = <Value>(start: (resolve: (value: Value) => void) => void): Promise<Value> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('It did not come.')), TIMEOUT_MS);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });

/** An unmodified discord.js bot whose answers each test sets. */
export class InteractionBot {
  readonly client: Client;
  /** Errors thrown by its handlers. */
  readonly problems: unknown[] = [];
  #commands = new Map<string, MadeCommand>();
  #handle: (interaction: Interaction) => Promise<unknown> = async () => undefined;

  private constructor(client: Client) {
    this.client = client;
    client.on(Events.InteractionCreate, (interaction) => {
      this.#handle(interaction).catch((error: unknown) => this.problems.push(error));
    });
  }

  /** Logs in and registers its commands. */
  static async of(server: TestServer): Promise<InteractionBot> {
    const { api, cdn, bot } = server.info;
    const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
    const client = new Client({
      intents: [Guilds, GuildMessages, MessageContent],
      rest: { api, cdn, mediaProxy: cdn, version: '10' },
    });
    const ready = heard<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
    await client.login(bot.token);
    const { application } = await ready;
    const self = new InteractionBot(client);
    const made = await application.commands.set(BUILDERS.map((builder) => builder.toJSON()));
    for (const { id, version, name, type } of made.values())
      self.#commands.set(name, { id, version: String(version), name, type });
    return self;
  }

  /** Sets the handler of the next interactions. */
  answers<I extends Interaction = ChatInputCommandInteraction>(run: (one: I) => Promise<unknown>): void {
    this.#handle = (interaction) => run(interaction as I);
  }

  command(name: string): MadeCommand {
    const found = this.#commands.get(name);
    if (!found) throw new Error(`The bot has no command "${name}".`);
    return found;
  }

  close(): Promise<void> {
    return this.client.destroy();
  }
}
