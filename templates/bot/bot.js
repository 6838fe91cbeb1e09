// The bot: its commands, and what it answers.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  Events,
  GatewayIntentBits,
  MessageFlags,
  SlashCommandBuilder,
} from 'discord.js';

const COMMANDS = [
  new SlashCommandBuilder()
    .setName('roll')
    .setDescription('Roll a die')
    .addIntegerOption((option) =>
      option.setName('sides').setDescription('How many sides it has').setMinValue(2).setMaxValue(1_000),
    ),
];

const again = (sides) =>
  new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId(`again:${sides}`).setLabel('Roll again').setStyle(ButtonStyle.Primary),
  );

const rolled = (sides) => ({
  content: `You rolled ${1 + Math.floor(Math.random() * sides)} of ${sides}.`,
  components: [again(sides)],
});

async function answer(interaction) {
  if (interaction.isChatInputCommand() && interaction.commandName === 'roll')
    await interaction.reply(rolled(interaction.options.getInteger('sides') ?? 6));
  else if (interaction.isButton()) {
    const [, sides] = /^again:(\d+)$/.exec(interaction.customId) ?? [];
    if (sides === undefined)
      await interaction.reply({ content: 'This button is too old.', flags: MessageFlags.Ephemeral });
    else await interaction.update(rolled(Number(sides)));
  }
}

/**
 * Starts the bot; resolves when it is connected and its commands are registered.
 *
 * @param options `token` of the bot, and `rest`: where the server is; undefined for the platform itself.
 */
export async function startBot({ token, rest }) {
  const client = new Client({ intents: [GatewayIntentBits.Guilds], ...(rest && { rest }) });
  client.on(Events.InteractionCreate, (interaction) => answer(interaction).catch(console.error));
  client.on(Events.Error, console.error);
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(token);
  const { application } = await ready;
  await application.commands.set(COMMANDS);
  return client;
}
