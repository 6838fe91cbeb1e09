// Goal: an application learns what its invoker may see, and only the invoker sees, presses and dismisses an ephemeral answer.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  type Interaction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  PermissionFlagsBits,
  REST,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CATEGORY = 4;
const EPHEMERAL = 1 << 6;

let server: TestServer;
let bot: InteractionBot;
let ann: Person;
let bob: Person;
let rest: REST;
let seen: { readonly id: string }[];

beforeAll(async () => {
  server = await startServer();
  bot = await InteractionBot.of(server);
  [ann, bob] = [await Person.of(server), await Person.of(server, { index: 1 })];
  rest = new REST({ version: '10', api: server.info.api, retries: 0 }).setToken(server.info.bot.token);
  seen = [];
  bot.client.on('messageCreate', ({ id }) => seen.push({ id }));
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

const row = () =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId('go').setLabel('Go').setStyle(ButtonStyle.Primary),
  );
const every = (options: readonly object[], more: object = {}) => {
  const { id, version, name, type } = bot.command('every');
  const text = { type: 3, name: 'text', value: 'x' };
  return { type: 2, data: { id, version, name, type, options: [text, ...options] }, ...more };
};
const made = async (body: object): Promise<string> => {
  const channel = await rest.post(`/guilds/${server.info.guild.id}/channels`, { body });
  return (channel as { id: string }).id;
};

describe('a channel', () => {
  test('is not named in an option when the invoker cannot see it', async () => {
    const everyone = { id: server.info.guild.id, type: 0, deny: String(PermissionFlagsBits.ViewChannel) };
    const self = { id: server.info.bot.id, type: 1, allow: String(PermissionFlagsBits.ViewChannel) };
    const hidden = await made({ name: 'hidden', type: 0, permission_overwrites: [self, everyone] });
    const refused = await bob.ask(every([{ type: 7, name: 'channel', value: hidden }]));
    expect(refused).toMatchObject({ status: 400, body: { code: 50_035 } });
    expect((await bob.ask(every([], { channel_id: hidden }))).body.code).toBe(50_001);
  });

  test('takes no commands when it holds no messages', async () => {
    const category = await made({ name: 'category', type: CATEGORY });
    expect(await bob.ask(every([], { channel_id: category }))).toMatchObject({
      ...{ status: 400, body: { code: 50_024 } },
    });
  });

  test('takes the name of anyone in an option when it is private', async () => {
    const users: string[] = [];
    bot.answers(async (interaction) => {
      users.push(interaction.options.getUser('user')!.id);
      await interaction.reply('heard');
    });
    const { body: channel } = await server
      .user()
      .ask<{ id: string }>('create_dm', { body: { recipient_id: server.info.bot.id } });
    const place = { guild_id: null, channel_id: channel.id };
    const sent = await ann.send(every([{ type: 6, name: 'user', value: bob.userId }], place));
    await ann.answer(sent.id);
    expect(users).toEqual([bob.userId]);
    const nobody = every([{ type: 6, name: 'user', value: '1' }], place);
    expect(await ann.ask(nobody)).toMatchObject({ status: 400, body: { code: 50_035 } });
  });
});

describe('an ephemeral answer', () => {
  const answered = async () => {
    bot.answers<Interaction>(async (interaction) => {
      if (!interaction.isChatInputCommand()) return;
      const files = [{ name: 'secret.txt', attachment: Buffer.from('secret') }];
      await interaction.reply({ content: 'x', components: [row()], files, flags: MessageFlags.Ephemeral });
    });
    const { id } = await ann.slash(bot.command('ping'));
    return ann.answer(id);
  };
  const remove = (person: number, message: { readonly id: string; readonly channel_id: string }) =>
    server.user(person).ask('delete_message', {
      params: { channel_id: message.channel_id, message_id: message.id },
    });

  test('marks its files as ephemeral, and is not dispatched to bots', async () => {
    const message = await answered();
    expect(message.attachments).toMatchObject([{ filename: 'secret.txt', ephemeral: true }]);
    const later = (await rest.post(`/channels/${message.channel_id}/messages`, {
      body: { content: 'later' },
    })) as { id: string };
    await expect.poll(() => seen.some(({ id }) => id === later.id)).toBe(true);
    expect(seen.map(({ id }) => id)).not.toContain(message.id);
  });

  test('accepts button presses in its own channel only', async () => {
    const message = await answered();
    const elsewhere = await made({ name: 'elsewhere', type: 0 });
    const click = { type: 3, message_id: message.id, message_flags: EPHEMERAL, channel_id: elsewhere };
    const data = { component_type: 2, custom_id: 'go' };
    expect((await ann.ask({ ...click, data })).body.code).toBe(10_008);
  });

  test('is dismissed by its reader alone, and once', async () => {
    const message = await answered();
    expect(await remove(1, message)).toMatchObject({ status: 404, body: { code: 10_008 } });
    expect((await remove(0, message)).status).toBe(204);
    const gone = await ann.gateway.dispatch('MESSAGE_DELETE', (d) => d.id === message.id);
    expect(gone).toMatchObject({ channel_id: message.channel_id, guild_id: server.info.guild.id });
    expect(await remove(0, message)).toMatchObject({ status: 404, body: { code: 10_008 } });
  });
});

test('a form and suggestions show the invoker that the application has answered', async () => {
  bot.answers<Interaction>(async (interaction) => {
    if (interaction.isAutocomplete()) await interaction.respond([]);
    if (!interaction.isChatInputCommand()) return;
    const words = new TextInputBuilder().setCustomId('words').setStyle(TextInputStyle.Short);
    const label = new LabelBuilder().setLabel('Words').setTextInputComponent(words);
    const form = new ModalBuilder().setCustomId('form').setTitle('Form').addLabelComponents(label);
    await interaction.showModal(form);
  });
  const { id, nonce } = await ann.slash(bot.command('ping'));
  expect(await ann.hears('INTERACTION_SUCCESS', nonce)).toEqual({ id, nonce });
  const elsewhere = await made({ name: 'another', type: 0 });
  const component = { type: 4, custom_id: 'words', value: 'x' };
  const data = { id, custom_id: 'form', components: [{ type: 18, component }] };
  expect((await ann.ask({ type: 5, channel_id: elsewhere, data })).body.code).toBe(10_062);
  const colour = bot.command('colour');
  const options = [{ type: 3, name: 'name', value: 'r', focused: true }];
  const typed = { id: colour.id, version: colour.version, name: colour.name, type: colour.type, options };
  const asked = await ann.send({ type: 4, data: typed });
  expect(await ann.hears('INTERACTION_SUCCESS', asked.nonce)).toEqual(asked);
});
