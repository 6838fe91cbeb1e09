// Goal: an unmodified discord.js bot answers slash commands, menu entries, components, forms and autocompletes of people.
import {
  ActionRowBuilder,
  ApplicationCommandType,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  type ChatInputCommandInteraction,
  Client,
  ContextMenuCommandBuilder,
  Events,
  GatewayIntentBits,
  type Interaction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  SlashCommandBuilder,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
  UserSelectMenuBuilder,
} from 'discord.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const PATIENCE_MS = 10_000;
const EPHEMERAL = 1 << 6;

let server: TestServer;
let bot: Client<true>;
let ann: Person;
let bob: Person;
let commands: Readonly<Record<string, { id: string; version: string; name: string; type: number }>>;
let handle: (interaction: Interaction) => Promise<unknown> = async () => undefined;
const problems: unknown[] = [];

const heard = <Value>(start: (resolve: (value: Value) => void) => void): Promise<Value> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('It did not come.')), PATIENCE_MS);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });

/** What the bot does with the next interactions. */
const answering = <I extends Interaction = ChatInputCommandInteraction>(
  run: (one: I) => Promise<unknown>,
) => {
  handle = (interaction) => run(interaction as I);
};

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

beforeAll(async () => {
  server = await startServer();
  const { api, cdn } = server.info;
  bot = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = heard<Client<true>>((resolve) => bot.once(Events.ClientReady, resolve));
  await bot.login(server.info.bot.token);
  await ready;
  bot.on(Events.InteractionCreate, (interaction) => {
    handle(interaction).catch((error: unknown) => problems.push(error));
  });
  const made = await bot.application.commands.set(BUILDERS.map((builder) => builder.toJSON()));
  commands = Object.fromEntries(
    made.map(({ id, version, name, type }) => [name, { id, version: String(version), name, type }]),
  );
  ann = await Person.of(server);
  bob = await Person.of(server, { index: 1 });
});

afterEach(() => {
  expect(problems.splice(0)).toEqual([]);
});

afterAll(async () => {
  ann?.close();
  bob?.close();
  await bot?.destroy();
  await server?.stop();
});

const command = (name: string) => commands[name]!;

describe('slash commands', () => {
  test('answer in the channel, with a message that names its interaction', async () => {
    answering(async (interaction) => interaction.reply('pong'));
    const { id, nonce } = await ann.slash(command('ping'));
    await ann.hears('INTERACTION_SUCCESS', nonce);
    const message = await ann.answer(id);
    expect(message).toMatchObject({
      ...{ type: 20, content: 'pong', flags: 0, webhook_id: server.info.application.id },
      application_id: server.info.application.id,
      author: { id: server.info.bot.id },
      interaction: { id, type: 2, name: 'ping', user: { id: ann.userId } },
      interaction_metadata: {
        ...{ id, type: 2, user: { id: ann.userId } },
        authorizing_integration_owners: { 0: server.info.guild.id },
      },
    });
    expect((await bob.answer(id)).content).toBe('pong');
  });

  test('bring their options as the bot reads them', async () => {
    const seen = heard<ChatInputCommandInteraction>((resolve) => {
      answering(async (interaction) => {
        resolve(interaction);
        await interaction.reply('seen');
      });
    });
    const { guild } = server.info;
    await ann.slash(
      command('every'),
      [
        { type: 3, name: 'text', value: 'hello' },
        { type: 4, name: 'count', value: 9 },
        { type: 5, name: 'flag', value: true },
        { type: 6, name: 'user', value: bob.userId },
        { type: 7, name: 'channel', value: guild.voice_channel_id },
        { type: 8, name: 'role', value: guild.id },
        { type: 9, name: 'any', value: bob.userId },
        { type: 10, name: 'number', value: 1.5 },
        { type: 11, name: 'file', value: '0' },
      ],
      { attachments: [{ id: '0', filename: 'note.txt' }] },
      { 0: 'note.txt' },
    );
    const { options, memberPermissions, appPermissions, guildLocale, inGuild } = await seen;
    expect(options.getString('text')).toBe('hello');
    expect(options.getInteger('count')).toBe(9);
    expect(options.getBoolean('flag')).toBe(true);
    expect(options.getUser('user')?.id).toBe(bob.userId);
    expect(options.getMember('user')).not.toBeNull();
    expect(options.getChannel('channel')?.id).toBe(guild.voice_channel_id);
    expect(options.getRole('role')?.id).toBe(guild.id);
    expect(options.getMentionable('any')).not.toBeNull();
    expect(options.getNumber('number')).toBe(1.5);
    const file = options.getAttachment('file')!;
    expect(file.name).toBe('note.txt');
    expect(await (await fetch(file.url)).text()).toBe('bytes');
    expect([memberPermissions === null, appPermissions === null, guildLocale]).toEqual([
      false,
      false,
      'en-US',
    ]);
    expect(inGuild).toBeTypeOf('function');
  });

  test('refuse options that the command does not take, with the path of the option', async () => {
    const { id, version, name, type } = command('every');
    const send = (options: object[]) => ann.ask({ type: 2, data: { id, version, name, type, options } });
    const wrong = (path: (string | number)[]) =>
      path.reduceRight<object>((tree, key) => ({ [key]: tree }), { _errors: [expect.anything()] });
    const text = { type: 3, name: 'text', value: 'hello' };
    for (const [options, path] of [
      [[], ['data', 'options']],
      [[{ ...text, value: 'sixsix' }], ['data', 'options', 0, 'value']],
      [
        [text, { type: 4, name: 'count', value: 10 }],
        ['data', 'options', 1, 'value'],
      ],
      [
        [text, { type: 6, name: 'user', value: '123' }],
        ['data', 'options', 1, 'value'],
      ],
      [
        [text, { type: 3, name: 'none', value: 'x' }],
        ['data', 'options', 1, 'name'],
      ],
    ] as const) {
      const reply = await send([...options]);
      expect(reply).toMatchObject({ status: 400, body: { code: 50_035, errors: wrong([...path]) } });
    }
    const outdated = await ann.ask({ type: 2, data: { id, version: '1', name, type, options: [text] } });
    expect(outdated.body).toMatchObject({ code: 50_035, errors: wrong(['data', 'version']) });
  });

  test('run by the name of their subcommand', async () => {
    answering(async (interaction) => {
      const { options } = interaction;
      await interaction.reply(
        `${options.getSubcommandGroup()} ${options.getSubcommand()} ${options.getInteger('n')}`,
      );
    });
    const deep = [
      {
        ...{ type: 2, name: 'more' },
        options: [{ type: 1, name: 'two', options: [{ type: 4, name: 'n', value: 3 }] }],
      },
    ];
    const { id } = await ann.slash(command('group'), deep);
    expect((await ann.answer(id)).content).toBe('more two 3');
    const bare = await ann.ask({ type: 2, data: { ...command('group'), options: [] } });
    expect(bare.status).toBe(400);
  });

  test('that are not answered in time fail, and cannot be answered later', async () => {
    const late = heard<unknown>((resolve) => {
      answering(async (interaction) => {
        await new Promise((wait) => setTimeout(wait, 3_300));
        resolve(await interaction.reply('late').catch((error: { code: number }) => error.code));
      });
    });
    const { nonce } = await ann.slash(command('ping'));
    expect(await ann.hears('INTERACTION_FAILURE', nonce)).toMatchObject({ reason_code: 2 });
    expect(await late).toBe(10_062);
  });

  test('run once under one nonce', async () => {
    let runs = 0;
    answering(async (interaction) => {
      runs += 1;
      await interaction.reply('once');
    });
    const { id, version, name, type } = command('ping');
    const body = { type: 2, nonce: 'same', data: { id, version, name, type } };
    const [one, two] = await Promise.all([ann.ask(body), ann.ask(body)]);
    expect([one.status, two.status]).toEqual([204, 204]);
    await ann.hears('INTERACTION_SUCCESS', 'same');
    await ann.gateway.settled(server.info.guild.id);
    expect(runs).toBe(1);
  });
});

describe('answers', () => {
  test('are refused the second time', async () => {
    const codes = heard<unknown>((resolve) => {
      answering(async (interaction) => {
        await interaction.reply('first');
        const again = await bot.rest
          .post(`/interactions/${interaction.id}/${interaction.token}/callback`, {
            body: { type: 4, data: { content: 'second' } },
            auth: false,
          })
          .catch((error: { code: number }) => error.code);
        resolve(again);
      });
    });
    await ann.slash(command('ping'));
    expect(await codes).toBe(40_060);
  });

  test('that are deferred keep their id, and complete with a file', async () => {
    answering(async (interaction) => {
      await interaction.deferReply();
      await interaction.editReply({
        content: 'done',
        files: [new AttachmentBuilder(Buffer.from('report'), { name: 'report.txt' })],
      });
    });
    const { id } = await ann.slash(command('ping'));
    const loading = await ann.answer(id);
    expect([loading.content, loading.flags]).toEqual(['', MessageFlags.Loading]);
    const done = await ann.update(loading.id);
    expect(done).toMatchObject({ content: 'done', flags: 0, attachments: [{ filename: 'report.txt' }] });
    expect(await (await fetch(done.attachments[0]!.url)).text()).toBe('report');
  });

  test('that are ephemeral reach the invoker only, and no history', async () => {
    answering(async (interaction) => {
      await interaction.reply({ content: 'secret', flags: MessageFlags.Ephemeral });
      await interaction.editReply('secret, edited');
      await interaction.followUp({ content: 'another', flags: MessageFlags.Ephemeral });
    });
    const { id } = await ann.slash(command('ping'));
    const message = await ann.answer(id);
    expect([message.content, message.flags & EPHEMERAL]).toEqual(['secret', EPHEMERAL]);
    expect((await ann.update(message.id)).content).toBe('secret, edited');
    expect((await ann.answer(id)).content).toBe('another');
    await bob.gateway.settled(server.info.guild.id);
    expect(JSON.stringify(bob.gateway.received)).not.toContain('secret');
    const history = await server.user().ask<{ id: string }[]>('list_messages', {
      params: { channel_id: server.info.guild.text_channel_id },
    });
    expect(history.body.map((each) => each.id)).not.toContain(message.id);
  });

  test('can be read, edited and deleted as @original, and followed up', async () => {
    const read = heard<string>((resolve) => {
      answering(async (interaction) => {
        await interaction.reply('one');
        const follow = await interaction.followUp('two');
        resolve((await interaction.fetchReply()).content);
        await interaction.deleteReply();
        await follow.edit('three');
      });
    });
    const { id } = await ann.slash(command('ping'));
    const first = await ann.answer(id);
    const second = await ann.answer(id);
    expect([first.content, second.content, await read]).toEqual(['one', 'two', 'one']);
    expect(second.message_reference?.message_id).toBe(first.id);
    await ann.gateway.dispatch('MESSAGE_DELETE', (d) => d.id === first.id);
    expect((await ann.update(second.id)).content).toBe('three');
  });

  test('come with their message when the bot asks for it', async () => {
    const told = heard<unknown>((resolve) => {
      answering(async (interaction) => {
        const response = await interaction.reply({ content: 'here', withResponse: true });
        resolve([response.interaction.responseMessageId, response.resource?.message?.content]);
      });
    });
    const { id } = await ann.slash(command('ping'));
    expect(await told).toEqual([(await ann.answer(id)).id, 'here']);
  });
});

describe('menu entries', () => {
  test('on a user and on a message bring their target', async () => {
    const told: string[] = [];
    answering<Interaction>(async (interaction) => {
      if (interaction.isUserContextMenuCommand()) {
        told.push(interaction.targetUser.id);
        await interaction.reply('user');
      } else if (interaction.isMessageContextMenuCommand()) {
        told.push(interaction.targetMessage.content);
        await interaction.reply('message');
      }
    });
    const user = await ann.slash(command('Greet'), [], { target_id: bob.userId });
    expect((await ann.answer(user.id)).type).toBe(23);
    const { body: said } = await server.user().ask<{ id: string }>('create_message', {
      params: { channel_id: server.info.guild.text_channel_id },
      body: { content: 'words' },
    });
    const quoted = await ann.slash(command('Quote'), [], { target_id: said.id });
    await ann.answer(quoted.id);
    expect(told).toEqual([bob.userId, 'words']);
    const unknown = await ann.ask({ type: 2, data: { ...command('Quote'), target_id: '123' } });
    expect(unknown.body.code).toBe(10_008);
  });
});

describe('components', () => {
  const row = () =>
    new ActionRowBuilder<ButtonBuilder>().addComponents(
      new ButtonBuilder().setCustomId('go').setLabel('Go').setStyle(ButtonStyle.Primary),
      new ButtonBuilder().setCustomId('off').setLabel('Off').setStyle(ButtonStyle.Danger).setDisabled(true),
    );

  test('are collected, and update their message', async () => {
    answering<Interaction>(async (interaction) => {
      if (!interaction.isChatInputCommand()) return;
      const { resource } = await interaction.reply({
        content: 'press',
        components: [row()],
        withResponse: true,
      });
      const pressed = await resource!.message!.awaitMessageComponent({ time: PATIENCE_MS });
      await pressed.update({ content: `by ${pressed.user.id}`, components: [] });
    });
    const { id } = await ann.slash(command('ping'));
    const message = await ann.answer(id);
    const off = await bob.ask({
      ...{ type: 3, message_id: message.id, data: { component_type: 2, custom_id: 'off' } },
    });
    expect(off.status).toBe(400);
    await bob.click(message, 'go');
    const updated = await bob.update(message.id);
    expect([updated.content, updated.components]).toEqual([`by ${bob.userId}`, []]);
  });

  test('of ephemeral messages work for the reader', async () => {
    answering<Interaction>(async (interaction) => {
      if (interaction.isChatInputCommand())
        await interaction.reply({ content: 'press', components: [row()], flags: MessageFlags.Ephemeral });
      if (interaction.isButton()) await interaction.update({ content: 'pressed', components: [] });
    });
    const { id } = await ann.slash(command('ping'));
    const message = await ann.answer(id);
    const stranger = await bob.ask({
      ...{ type: 3, message_id: message.id, message_flags: EPHEMERAL },
      data: { component_type: 2, custom_id: 'go' },
    });
    expect(stranger.body.code).toBe(10_008);
    await ann.click(message, 'go');
    expect((await ann.update(message.id)).content).toBe('pressed');
  });

  test('that select bring what was chosen', async () => {
    const chosen: string[] = [];
    answering<Interaction>(async (interaction) => {
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
    const { id } = await ann.slash(command('ping'));
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
  test('open for the invoker, and bring what was written', async () => {
    answering<Interaction>(async (interaction) => {
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
    const { id, nonce } = await ann.slash(command('ping'));
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
    answering<Interaction>(async (interaction) => {
      if (!interaction.isAutocomplete()) return;
      const typed = interaction.options.getFocused();
      await interaction.respond([{ name: `${typed}, the colour`, value: typed }]);
    });
    const { id, version, name, type } = command('colour');
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
    answering(async (interaction) => interaction.reply(`context ${interaction.context}`));
    const { body: channel } = await server
      .user()
      .ask<{ id: string }>('create_dm', { body: { recipient_id: server.info.bot.id } });
    const { id, version, name, type } = command('ping');
    const sent = await ann.send({
      ...{ type: 2, guild_id: null, channel_id: channel.id },
      data: { id, version, name, type },
    });
    expect(await ann.answer(sent.id)).toMatchObject({ content: 'context 1', channel_id: channel.id });
  });
});
