// Goal: a bot's test needs five lines: people of a server in memory use an unmodified discord.js bot.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  Events,
  GatewayIntentBits,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  SlashCommandBuilder,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGuild, type TestGuild } from '../../testing.ts';
import { heard } from '../support/interactionbot.ts';

let guild: TestGuild;
let bot: Client;

const row = () =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId('more').setLabel('More').setStyle(ButtonStyle.Primary),
  );

beforeAll(async () => {
  guild = await startTestGuild();
  bot = new Client({ intents: [GatewayIntentBits.Guilds], rest: guild.rest });
  bot.on(Events.InteractionCreate, async (one) => {
    if (one.isAutocomplete()) return one.respond([{ name: 'Green', value: 'green' }]);
    if (one.isButton()) return one.update({ content: 'more', components: [] });
    if (one.isModalSubmit()) return one.reply(one.fields.getTextInputValue('words'));
    if (!one.isChatInputCommand()) return undefined;
    switch (one.commandName) {
      case 'ping':
        return one.reply({ content: `pong ${one.options.getString('text') ?? ''}`, components: [row()] });
      case 'slow':
        await one.deferReply({ flags: MessageFlags.Ephemeral });
        return one.editReply('at last');
      case 'form':
        return one.showModal(
          new ModalBuilder()
            .setCustomId('form')
            .setTitle('Form')
            .addLabelComponents(
              new LabelBuilder()
                .setLabel('Words')
                .setTextInputComponent(
                  new TextInputBuilder().setCustomId('words').setStyle(TextInputStyle.Short),
                ),
            ),
        );
      default:
        return undefined;
    }
  });
  const ready = heard<Client<true>>((resolve) => bot.once(Events.ClientReady, resolve));
  await bot.login(guild.bot.token);
  const { application } = await ready;
  const command = (name: string) => new SlashCommandBuilder().setName(name).setDescription(name);
  await application.commands.set([
    command('ping').addStringOption((option) =>
      option.setName('text').setDescription('t').setAutocomplete(true),
    ),
    command('slow'),
    command('form'),
  ]);
});

afterAll(async () => {
  await bot?.destroy();
  await guild?.close();
});

test('a command, its button, its form and its suggestions resolve with what the user sees', async () => {
  const { user } = guild;
  const answer = await user.slash('ping', { text: 'again' });
  expect(answer).toMatchObject({ kind: 'message', isEphemeral: false, message: { content: 'pong again' } });
  if (answer.kind !== 'message') return;
  const pressed = await user.click(answer.message, 'more');
  expect(pressed).toMatchObject({ kind: 'update', message: { content: 'more' } });
  const form = await user.type('/form');
  expect(form).toMatchObject({ kind: 'modal', modal: { title: 'Form' } });
  if (form.kind !== 'modal') return;
  const filled = await user.submit(form.modal, { words: 'written' });
  expect(filled).toMatchObject({ kind: 'message', message: { content: 'written' } });
  const suggested = await user.autocomplete('ping', { text: 'gr' }, 'text');
  expect(suggested).toEqual({ kind: 'choices', choices: [{ name: 'Green', value: 'green' }] });
});

test('an answer that is prepared resolves when it is there', async () => {
  expect(await guild.user.slash('slow')).toMatchObject({
    ...{ kind: 'message', isEphemeral: true, message: { content: 'at last' } },
  });
});

test('the embedding program runs a command as a user', async () => {
  const { engine, guildId, channelId, user } = guild;
  const answer = await engine.interact({
    as: user.id,
    command: '/ping text:"two words"',
    guildId,
    channelId,
  });
  expect(answer).toMatchObject({ kind: 'message', message: { content: 'pong two words' } });
  await expect(engine.interact({ as: user.id, command: '/none', guildId, channelId })).rejects.toThrow(
    'There is: ping, slow, form.',
  );
});
