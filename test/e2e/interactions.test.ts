// Goal: an unmodified discord.js bot answers slash commands and menu entries of people.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  AttachmentBuilder,
  type ChatInputCommandInteraction,
  type Interaction,
  MessageFlags,
} from 'discord.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { heard, InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { ROOT } from '../support/root.ts';
import { startServer, type TestServer } from '../support/server.ts';

const run = promisify(execFile);

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

describe('slash commands', () => {
  test('answer in the channel, with a message that names its interaction', async () => {
    bot.answers(async (interaction) => interaction.reply('pong'));
    const { id, nonce } = await ann.slash(bot.command('ping'));
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
      bot.answers(async (interaction) => {
        resolve(interaction);
        await interaction.reply('seen');
      });
    });
    const { guild } = server.info;
    await ann.slash(
      bot.command('every'),
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
    const { id, version, name, type } = bot.command('every');
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
    bot.answers(async (interaction) => {
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
    const { id } = await ann.slash(bot.command('group'), deep);
    expect((await ann.answer(id)).content).toBe('more two 3');
    const bare = await ann.ask({ type: 2, data: { ...bot.command('group'), options: [] } });
    expect(bare.status).toBe(400);
  });

  test('fail when they are not answered in time, and cannot be answered later', async () => {
    const late = heard<unknown>((resolve) => {
      bot.answers(async (interaction) => {
        await new Promise((wait) => setTimeout(wait, 3_300));
        resolve(await interaction.reply('late').catch((error: { code: number }) => error.code));
      });
    });
    const { nonce } = await ann.slash(bot.command('ping'));
    expect(await ann.hears('INTERACTION_FAILURE', nonce)).toMatchObject({ reason_code: 2 });
    expect(await late).toBe(10_062);
  });

  test('run once under one nonce', async () => {
    let runs = 0;
    bot.answers(async (interaction) => {
      runs += 1;
      await interaction.reply('once');
    });
    const { id, version, name, type } = bot.command('ping');
    const body = { type: 2, nonce: 'same', data: { id, version, name, type } };
    const [one, two] = await Promise.all([ann.ask(body), ann.ask(body)]);
    expect([one.status, two.status]).toEqual([204, 204]);
    await ann.hears('INTERACTION_SUCCESS', 'same');
    await ann.gateway.settled(server.info.guild.id);
    expect(runs).toBe(1);
  });
});

describe('answers', () => {
  test('are rejected the second time', async () => {
    const codes = heard<unknown>((resolve) => {
      bot.answers(async (interaction) => {
        await interaction.reply('first');
        const again = await bot.client.rest
          .post(`/interactions/${interaction.id}/${interaction.token}/callback`, {
            body: { type: 4, data: { content: 'second' } },
            auth: false,
          })
          .catch((error: { code: number }) => error.code);
        resolve(again);
      });
    });
    await ann.slash(bot.command('ping'));
    expect(await codes).toBe(40_060);
  });

  test('keep their id when they are deferred, and complete with a file', async () => {
    bot.answers(async (interaction) => {
      await interaction.deferReply();
      await interaction.editReply({
        content: 'done',
        files: [new AttachmentBuilder(Buffer.from('report'), { name: 'report.txt' })],
      });
    });
    const { id } = await ann.slash(bot.command('ping'));
    const loading = await ann.answer(id);
    expect([loading.content, loading.flags]).toEqual(['', MessageFlags.Loading]);
    const done = await ann.update(loading.id);
    expect(done).toMatchObject({ content: 'done', flags: 0, attachments: [{ filename: 'report.txt' }] });
    expect(await (await fetch(done.attachments[0]!.url)).text()).toBe('report');
  });

  test('reach only the invoker when they are ephemeral, and no history', async () => {
    bot.answers(async (interaction) => {
      await interaction.reply({ content: 'secret', flags: MessageFlags.Ephemeral });
      await interaction.editReply('secret, edited');
      await interaction.followUp({ content: 'another', flags: MessageFlags.Ephemeral });
    });
    const { id } = await ann.slash(bot.command('ping'));
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
      bot.answers(async (interaction) => {
        await interaction.reply('one');
        const follow = await interaction.followUp('two');
        resolve((await interaction.fetchReply()).content);
        await interaction.deleteReply();
        await follow.edit('three');
      });
    });
    const { id } = await ann.slash(bot.command('ping'));
    const first = await ann.answer(id);
    const second = await ann.answer(id);
    expect([first.content, second.content, await read]).toEqual(['one', 'two', 'one']);
    expect(second.message_reference?.message_id).toBe(first.id);
    await ann.gateway.dispatch('MESSAGE_DELETE', (d) => d.id === first.id);
    expect((await ann.update(second.id)).content).toBe('three');
  });

  test('come with their message when the bot asks for it', async () => {
    const told = heard<unknown>((resolve) => {
      bot.answers(async (interaction) => {
        const response = await interaction.reply({ content: 'here', withResponse: true });
        resolve([response.interaction.responseMessageId, response.resource?.message?.content]);
      });
    });
    const { id } = await ann.slash(bot.command('ping'));
    expect(await told).toEqual([(await ann.answer(id)).id, 'here']);
  });
});

describe('menu entries', () => {
  test('send the user or the message that they were used on', async () => {
    const told: string[] = [];
    bot.answers<Interaction>(async (interaction) => {
      if (interaction.isUserContextMenuCommand()) {
        told.push(interaction.targetUser.id);
        await interaction.reply('user');
      } else if (interaction.isMessageContextMenuCommand()) {
        told.push(interaction.targetMessage.content);
        await interaction.reply('message');
      }
    });
    const user = await ann.slash(bot.command('Greet'), [], { target_id: bob.userId });
    expect((await ann.answer(user.id)).type).toBe(23);
    const { body: said } = await server.user().ask<{ id: string }>('create_message', {
      params: { channel_id: server.info.guild.text_channel_id },
      body: { content: 'words' },
    });
    const quoted = await ann.slash(bot.command('Quote'), [], { target_id: said.id });
    await ann.answer(quoted.id);
    expect(told).toEqual([bob.userId, 'words']);
    const unknown = await ann.ask({ type: 2, data: { ...bot.command('Quote'), target_id: '123' } });
    expect(unknown.body.code).toBe(10_008);
  });
});

describe('the command line', () => {
  const cli = async (...argv: readonly string[]) => {
    const { url, token } = server.info.admin;
    const env = { ...process.env, GUILDHALL_ADMIN_URL: url, GUILDHALL_ADMIN_TOKEN: token };
    return run(process.execPath, [join(ROOT, 'dist/cli.js'), 'interact', ...argv], { env }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => error,
    );
  };

  test('runs a command of a bot, and shows the answer', async () => {
    bot.answers(async (one) => one.reply(`pong for ${one.options.getString('text')}`));
    const said = await cli('Lantern', '/every', 'text:you', '--as', ann.userId);
    expect(said.stdout.trim()).toBe('pong for you');
    const json = await cli('Lantern', '/every', 'text:me', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'message', message: { content: 'pong for me' } });
  });

  test('lists the known ones when a command, an option or a bot is unknown', async () => {
    expect((await cli('Lantern', '/none')).stderr).toContain('There is: ping, every, colour, group.');
    expect((await cli('Lantern', '/every', 'what:x')).stderr).toContain('It takes: text, count');
    expect((await cli('Nobody', '/ping')).stderr).toContain('There is: Lantern');
  });
});
