// Goal: the page shows a bot live: a slash is completed, buttons, selects and forms work, and ephemeral messages show to one reader.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelSelectMenuBuilder,
  FileUploadBuilder,
  type Interaction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
  UserSelectMenuBuilder,
} from 'discord.js';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { InteractionBot } from '../support/interactionbot.ts';
import { startServer, type TestServer } from '../support/server.ts';

const A4_HZ = 440;

/** A field of a submitted form. */
interface Given {
  readonly value?: unknown;
  readonly values?: readonly string[];
}

let server: TestServer;
let bot: InteractionBot;
let browser: TestBrowser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  if (CHROMIUM === null) return;
  server = await startServer({ relayed: false });
  bot = await InteractionBot.of(server);
  browser = await launchBrowser(A4_HZ);
  page = await (await browser.browser.newContext()).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => {
    if (line.type() === 'error') complaints.push(line.text());
  });
  await page.goto(`http://127.0.0.1:${server.port}/voice-room/`);
  await page.getByLabel('Token').fill(server.info.users[0]!.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
});

afterAll(async () => {
  await browser?.close();
  await bot?.close();
  await server?.finish();
});

const type = (text: string) => page.getByLabel('Message', { exact: true }).fill(text);
const send = async (text: string) => {
  await type(text);
  await page.getByRole('button', { name: 'Send' }).click();
};
const me = async () => {
  const rest = server.restOf(`Bearer ${server.info.users[0]!.token}`);
  return { user: await rest.call<{ id: string; username: string }>('get_my_user') };
};
const messages = () => page.getByRole('list', { name: 'Messages' });

describe.runIf(CHROMIUM !== null)('a text channel of the page', () => {
  test('completes a slash, and shows the answer', async () => {
    bot.answers(async (one) => one.reply('pong from the bot'));
    await type('/pi');
    await page.getByRole('list', { name: 'Completions' }).getByRole('button', { name: '/ping' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await messages().getByText('pong from the bot').waitFor();
    await type('/every ');
    await page.getByRole('list', { name: 'Completions' }).getByText('count').waitFor();
    await send('/none');
    await page.getByRole('alert').getByText('There is no command "none"').waitFor();
  });

  test('has buttons and selects that change their message', async () => {
    bot.answers<Interaction>(async (one) => {
      if (one.isButton()) await one.update({ content: 'pressed', components: [] });
      if (one.isStringSelectMenu()) await one.update({ content: `chose ${one.values[0]}`, components: [] });
      if (one.isChatInputCommand())
        await one.reply({
          content: 'press or choose',
          components: [
            new ActionRowBuilder<ButtonBuilder>().addComponents(
              new ButtonBuilder().setCustomId('go').setLabel('Press me').setStyle(ButtonStyle.Primary),
            ),
            new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(
              new StringSelectMenuBuilder()
                .setCustomId('words')
                .setPlaceholder('Words')
                .addOptions({ label: 'A', value: 'a' }, { label: 'B', value: 'b' }),
            ),
          ],
        });
    });
    await send('/ping');
    await page.getByRole('button', { name: 'Press me' }).click();
    await messages().getByText('pressed', { exact: true }).waitFor();
    await send('/ping');
    await page.getByLabel('Words').selectOption('b');
    await messages().getByText('chose b').waitFor();
  });

  test('has selects of people and channels, and forms that take files', async () => {
    bot.answers<Interaction>(async (one) => {
      if (one.isUserSelectMenu()) {
        const file = new LabelBuilder()
          .setLabel('Your file')
          .setFileUploadComponent(new FileUploadBuilder().setCustomId('file'));
        const where = new LabelBuilder()
          .setLabel('Where')
          .setChannelSelectMenuComponent(new ChannelSelectMenuBuilder().setCustomId('where'));
        const form = new ModalBuilder().setCustomId('files').setTitle(`For ${one.users.first()?.username}`);
        await one.showModal(form.addLabelComponents(file, where));
      }
      if (one.isModalSubmit()) {
        const file = one.fields.getUploadedFiles('file', true).first();
        const where = one.fields.getSelectedChannels('where', true).first();
        await one.reply(`got ${file?.name} of ${file?.size} bytes for ${where?.id}`);
      }
      if (one.isChatInputCommand())
        await one.reply({
          components: [
            new ActionRowBuilder<UserSelectMenuBuilder>().addComponents(
              new UserSelectMenuBuilder().setCustomId('who').setPlaceholder('Who'),
            ),
          ],
        });
    });
    await send('/ping');
    const { user } = await me();
    await page.getByLabel('Who').selectOption(user.id);
    const form = page.getByRole('dialog', { name: `For ${user.username}` });
    const buffer = Buffer.from('hello');
    await form.getByLabel('Your file').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer });
    const { text_channel_id: channelId } = server.info.guild;
    await form.getByLabel('Where').selectOption(channelId);
    await form.getByRole('button', { name: 'Send' }).click();
    await messages().getByText(`got a.txt of 5 bytes for ${channelId}`).waitFor();
  });

  test('opens forms, and dismisses ephemeral answers', async () => {
    bot.answers<Interaction>(async (one) => {
      if (one.isModalSubmit())
        await one.reply({
          content: `only for you: ${one.fields.getTextInputValue('words')}`,
          flags: MessageFlags.Ephemeral,
        });
      if (one.isChatInputCommand())
        await one.showModal(
          new ModalBuilder()
            .setCustomId('form')
            .setTitle('Feedback')
            .addLabelComponents(
              new LabelBuilder()
                .setLabel('Your words')
                .setTextInputComponent(
                  new TextInputBuilder().setCustomId('words').setStyle(TextInputStyle.Short),
                ),
            ),
        );
    });
    await send('/ping');
    const form = page.getByRole('dialog', { name: 'Feedback' });
    await form.getByLabel('Your words').fill('well done');
    await form.getByRole('button', { name: 'Send' }).click();
    const answer = messages().getByText('only for you: well done');
    await answer.waitFor();
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await answer.waitFor({ state: 'detached' });
    expect((await deleted).status()).toBe(204);
  });

  test('shows the application’s autocomplete choices, also in subcommands, and lists users', async () => {
    const focused: string[] = [];
    bot.answers<Interaction>(async (one) => {
      if (one.isAutocomplete()) {
        focused.push(one.options.getFocused());
        await one.respond([{ name: 'Dark "red"', value: 'dark "red"' }]);
      }
      if (one.isChatInputCommand())
        await one.reply(`is ${one.options.getString('name') ?? one.options.getUser('user')?.id}`);
    });
    await type('');
    await page.getByLabel('Message', { exact: true }).pressSequentially('/colour name:dark');
    const completions = page.getByRole('list', { name: 'Completions' });
    await completions.getByRole('button', { name: 'Dark "red"' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await messages().getByText('is dark "red"').waitFor();
    expect(focused).toEqual(['dark']);
    const { user } = await me();
    await type(`/every text:x user:${user.username.slice(0, 3)}`);
    await completions.getByRole('button', { name: `@${user.username}` }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await messages().getByText(`is ${user.id}`).waitFor();
  });

  test('sends the files of a command, and says how many it takes', async () => {
    bot.answers(async (one) => one.reply(`file ${one.options.getAttachment('file')?.name}`));
    const file = { name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') };
    await page.getByLabel('Add files').setInputFiles(file);
    await send('/every text:x file:');
    await messages().getByText('file b.txt').waitFor();
    await page.getByLabel('Add files').setInputFiles(file);
    await send('/ping');
    await page.getByRole('alert').getByText('/ping takes no files.').waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
  });

  test('opens forms with every component, and shows their validation errors', async () => {
    const options = ['one', 'two', 'three'].map((value) => ({ value, label: `Label ${value}` }));
    const label = (text: string, component: object) => ({ type: 18, label: text, component });
    const components = [
      { type: 10, content: 'Some **words**' },
      {
        ...label('Which', { type: 22, custom_id: 'which', options, min_values: 2 }),
        description: 'Two at least',
      },
      label('Or', { type: 21, custom_id: 'or', options, required: false }),
      label('Sure', { type: 23, custom_id: 'sure', default: true }),
      label('Maybe', { type: 3, custom_id: 'maybe', options, required: false, min_values: 0 }),
    ];
    bot.answers<Interaction>(async (one) => {
      if (one.isChatInputCommand())
        await one.showModal({ custom_id: 'all', title: 'All', components } as never);
      if (one.isModalSubmit()) {
        const { components: given } = one as unknown as { components: { component?: Given }[] };
        const said = given.flatMap(({ component }) =>
          component ? [component.values ?? component.value] : [],
        );
        await one.reply(JSON.stringify(said));
      }
    });
    await send('/ping');
    const form = page.getByRole('dialog', { name: 'All' });
    await form.locator('strong', { hasText: 'words' }).waitFor();
    await form.getByText('Two at least').waitFor();
    await form.getByRole('checkbox', { name: 'Label one' }).check();
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByRole('alert').waitFor();
    await form.getByRole('checkbox', { name: 'Label three' }).check();
    await form.getByRole('button', { name: 'Send' }).click();
    await messages().getByText('[["one","three"],null,true,[]]').waitFor();
  });

  test('uses menu entries on messages and their authors', async () => {
    bot.answers<Interaction>(async (one) => {
      if (one.isMessageContextMenuCommand()) await one.reply(`quoted: ${one.targetMessage.content}`);
      if (one.isUserContextMenuCommand()) await one.reply(`greeted: ${one.targetUser.id}`);
    });
    await send('quote me');
    const row = messages().getByRole('listitem').filter({ hasText: 'quote me' }).first();
    const { user } = await me();
    for (const [entry, answer] of [
      ['Quote', 'quoted: quote me'],
      ['Greet', `greeted: ${user.id}`],
    ] as const) {
      await row.hover();
      await row.getByRole('button', { name: 'Apps' }).click();
      await row.getByRole('button', { name: entry }).click();
      await messages().getByText(answer).waitFor();
    }
    expect(complaints.filter((line) => !line.includes('400'))).toEqual([]);
  });
});
