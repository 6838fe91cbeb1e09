// Goal: an unmodified discord.js bot serves components, forms and autocompletes, and private channels.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  type Interaction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
  UserSelectMenuBuilder,
} from 'discord.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const EPHEMERAL = 1 << 6;

let server: TestServer;
let bot: InteractionBot;
let ann: Person;
let bob: Person;

beforeAll(async () => {
  server = await startServer();
  bot = await InteractionBot.of(server);
  ann = await Person.of(server);
  bob = await Person.of(server, { index: 1 });
});

afterEach(() => {
  expect(bot.problems.splice(0)).toEqual([]);
});

afterAll(async () => {
  ann?.close();
  bob?.close();
  await bot?.close();
  await server?.finish();
});

describe('components', () => {
  const row = () =>
    new ActionRowBuilder<ButtonBuilder>().addComponents(
      new ButtonBuilder().setCustomId('go').setLabel('Go').setStyle(ButtonStyle.Primary),
      new ButtonBuilder().setCustomId('off').setLabel('Off').setStyle(ButtonStyle.Danger).setDisabled(true),
    );

  test('are collected, and update their message', async () => {
    bot.answers<Interaction>(async (interaction) => {
      if (!interaction.isChatInputCommand()) return;
      const { resource } = await interaction.reply({
        content: 'press',
        components: [row()],
        withResponse: true,
      });
      const pressed = await resource!.message!.awaitMessageComponent({ time: 10_000 });
      await pressed.update({ content: `by ${pressed.user.id}`, components: [] });
    });
    const { id } = await ann.slash(bot.command('ping'));
    const message = await ann.answer(id);
    const off = await bob.ask({
      ...{ type: 3, message_id: message.id, data: { component_type: 2, custom_id: 'off' } },
    });
    expect(off.status).toBe(400);
    await bob.click(message, 'go');
    const updated = await bob.update(message.id);
    expect([updated.content, updated.components]).toEqual([`by ${bob.userId}`, []]);
  });

  test('work in ephemeral messages, for the reader', async () => {
    bot.answers<Interaction>(async (interaction) => {
      if (interaction.isChatInputCommand())
        await interaction.reply({ content: 'press', components: [row()], flags: MessageFlags.Ephemeral });
      if (interaction.isButton()) await interaction.update({ content: 'pressed', components: [] });
    });
    const { id } = await ann.slash(bot.command('ping'));
    const message = await ann.answer(id);
    const stranger = await bob.ask({
      ...{ type: 3, message_id: message.id, message_flags: EPHEMERAL },
      data: { component_type: 2, custom_id: 'go' },
    });
    expect(stranger.body.code).toBe(10_008);
    await ann.click(message, 'go');
    expect((await ann.update(message.id)).content).toBe('pressed');
  });

  test('submit the chosen values', async () => {
    const chosen: string[] = [];
    bot.answers<Interaction>(async (interaction) => {
      if (interaction.isChatInputCommand())
        await interaction.reply({
          content: 'choose',
          components: [
            new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(
              new StringSelectMenuBuilder()
                .setCustomId('words')
                .setMaxValues(2)
                .addOptions(
                  { label: 'A', value: 'a' },
                  { label: 'B', value: 'b' },
                  { label: 'C', value: 'c' },
                ),
            ),
            new ActionRowBuilder<UserSelectMenuBuilder>().addComponents(
              new UserSelectMenuBuilder().setCustomId('users'),
            ),
          ],
        });
      if (interaction.isStringSelectMenu()) chosen.push(...interaction.values);
      if (interaction.isUserSelectMenu()) chosen.push(interaction.users.first()!.id);
      if (interaction.isMessageComponent()) await interaction.deferUpdate();
    });
    const { id } = await ann.slash(bot.command('ping'));
    const message = await ann.answer(id);
    const words = await ann.click(message, 'words', { component_type: 3, values: ['a', 'c'] });
    await ann.hears('INTERACTION_SUCCESS', words.nonce);
    const users = await ann.click(message, 'users', { component_type: 5, values: [bob.userId] });
    await ann.hears('INTERACTION_SUCCESS', users.nonce);
    expect(chosen).toEqual(['a', 'c', bob.userId]);
    const wrong = await ann.ask({
      ...{ type: 3, message_id: message.id },
      data: { component_type: 3, custom_id: 'words', values: ['a', 'b', 'c'] },
    });
    expect(wrong.body.errors).toMatchObject({ data: { values: { _errors: [expect.anything()] } } });
  });
});

describe('forms', () => {
  test('open for the invoker, and submit the written text', async () => {
    bot.answers<Interaction>(async (interaction) => {
      if (interaction.isChatInputCommand())
        await interaction.showModal(
          new ModalBuilder()
            .setCustomId('form')
            .setTitle('Feedback')
            .addLabelComponents(
              new LabelBuilder()
                .setLabel('Words')
                .setTextInputComponent(
                  new TextInputBuilder().setCustomId('words').setStyle(TextInputStyle.Short).setMaxLength(10),
                ),
            ),
        );
      if (interaction.isModalSubmit()) await interaction.reply(interaction.fields.getTextInputValue('words'));
    });
    const { id, nonce } = await ann.slash(bot.command('ping'));
    const modal = await ann.hears('INTERACTION_MODAL_CREATE', nonce);
    expect(modal).toMatchObject({ id, custom_id: 'form', title: 'Feedback', components: [{ type: 18 }] });
    const fill = (value: string) => ({
      type: 5,
      data: {
        ...{ id, custom_id: 'form' },
        components: [{ type: 18, component: { type: 4, custom_id: 'words', value } }],
      },
    });
    expect((await ann.ask(fill('x'.repeat(11)))).status).toBe(400);
    expect((await bob.ask(fill('mine'))).body.code).toBe(10_062);
    const sent = await ann.send(fill('well'));
    expect((await ann.answer(sent.id)).content).toBe('well');
    expect((await ann.ask(fill('again'))).body.code).toBe(10_062);
  });
});

describe('autocompletes', () => {
  test('show what the bot suggests', async () => {
    bot.answers<Interaction>(async (interaction) => {
      if (!interaction.isAutocomplete()) return;
      const typed = interaction.options.getFocused();
      await interaction.respond([{ name: `${typed}, the colour`, value: typed }]);
    });
    const { id, version, name, type } = bot.command('colour');
    const nonce = 'typing';
    const body = {
      ...{ type: 4, nonce },
      data: { id, version, name, type, options: [{ type: 3, name: 'name', value: 're', focused: true }] },
    };
    expect((await ann.ask(body)).status).toBe(204);
    const { choices } = await ann.hears('APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE', nonce);
    expect(choices).toEqual([{ name: 're, the colour', value: 're' }]);
  });
});

describe('private channels with the bot', () => {
  test('take its commands', async () => {
    bot.answers(async (interaction) => interaction.reply(`context ${interaction.context}`));
    const { body: channel } = await server
      .user()
      .ask<{ id: string }>('create_dm', { body: { recipient_id: server.info.bot.id } });
    const { id, version, name, type } = bot.command('ping');
    const sent = await ann.send({
      ...{ type: 2, guild_id: null, channel_id: channel.id },
      data: { id, version, name, type },
    });
    expect(await ann.answer(sent.id)).toMatchObject({ content: 'context 1', channel_id: channel.id });
  });
});
