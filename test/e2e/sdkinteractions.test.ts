// Goal: a person with the client library uses the applications of a guild: commands with files, buttons and forms of an
// unmodified discord.js bot.
import {
  ActionRowBuilder,
  ButtonBuilder,
  type ButtonInteraction,
  ButtonStyle,
  type ChatInputCommandInteraction,
  MessageFlags,
  ModalBuilder,
  type ModalSubmitInteraction,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuthorizationTokenType, ErrorType } from '../../sdk/enums.ts';
import { Client } from '../../sdk/node.ts';
import { InteractionBot } from '../support/interactionbot.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let bot: InteractionBot;
let client: Client;
const place = () => ({ guildId: server.info.guild.id, channelId: server.info.guild.text_channel_id });

beforeAll(async () => {
  server = await startServer();
  bot = await InteractionBot.of(server);
  client = new Client({ apiBase: server.info.api, usesApplications: true });
  await client.updateToken(AuthorizationTokenType.Bearer, server.info.users[0]!.token);
  await client.connect();
});
afterAll(async () => {
  client?.destroy();
  await bot?.close();
  await server?.finish();
});

test('runs a command by what is typed, and sees the answer', async () => {
  bot.answers(async (interaction) => interaction.reply('pong'));
  const answer = await client.getPerson().type('/ping', place());
  expect(answer).toMatchObject({ kind: 'message', isEphemeral: false, message: { content: 'pong' } });
});

test('sends files, and sees what only this person is shown', async () => {
  bot.answers(async (interaction) => {
    const file = (interaction as ChatInputCommandInteraction).options.getAttachment('file', true);
    await interaction.reply({ content: `${file.name} ${file.size}`, flags: MessageFlags.Ephemeral });
  });
  const file = { filename: 'note.txt', bytes: new TextEncoder().encode('hello') };
  const answer = await client.getPerson().slash('every', { text: 'a', file }, place());
  expect(answer).toMatchObject({ kind: 'message', isEphemeral: true, message: { content: 'note.txt 5' } });
});

test('presses a button, fills in the form that opens, and sees its answer', async () => {
  const person = client.getPerson();
  bot.answers(async (interaction) => {
    const button = new ButtonBuilder().setCustomId('open').setLabel('Open').setStyle(ButtonStyle.Primary);
    const row = new ActionRowBuilder<ButtonBuilder>().addComponents(button);
    await interaction.reply({ content: 'Press', components: [row] });
  });
  const shown = await person.type('/ping', place());
  if (shown.kind !== 'message') throw new Error(`No message, but ${shown.kind}.`);
  bot.answers(async (interaction: ButtonInteraction) => {
    const field = new TextInputBuilder().setCustomId('name').setLabel('Name').setStyle(TextInputStyle.Short);
    const modal = new ModalBuilder().setCustomId('form').setTitle('Who?');
    modal.addComponents(new ActionRowBuilder<TextInputBuilder>().addComponents(field));
    await interaction.showModal(modal);
  });
  const opened = await person.click(shown.message, 'open', place());
  if (opened.kind !== 'modal') throw new Error(`No form, but ${opened.kind}.`);
  expect(opened.modal.title).toBe('Who?');
  bot.answers(async (interaction: ModalSubmitInteraction) =>
    interaction.reply(interaction.fields.getTextInputValue('name')),
  );
  const answer = await person.submit(opened.modal, { name: 'Ann' }, place());
  expect(answer).toMatchObject({ kind: 'message', message: { content: 'Ann' } });
});

test('gets a hint for an unknown command, and is rejected without a session', async () => {
  await expect(client.getPerson().type('/nothing', place())).rejects.toThrow('There is no command "nothing"');
  const unconnected = new Client({ apiBase: server.info.api, usesApplications: true });
  await unconnected.updateToken(AuthorizationTokenType.Bearer, server.info.users[0]!.token);
  await expect(unconnected.getPerson().type('/ping', place())).rejects.toMatchObject({
    result: { type: ErrorType.ClientNotReady },
  });
  unconnected.destroy();
});
