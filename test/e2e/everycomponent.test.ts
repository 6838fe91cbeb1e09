// Goal: a message with every kind of component and media, built with an unmodified discord.js, reaches unmodified eris and
// oceanic.js bots whole; each answer and each dispatch on the way fits the published file.
import http from 'node:http';
import {
  ActionRowBuilder,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelSelectMenuBuilder,
  ChannelType,
  Client,
  ContainerBuilder,
  FileBuilder,
  GatewayIntentBits,
  MediaGalleryBuilder,
  MentionableSelectMenuBuilder,
  type MessageActionRowComponentBuilder,
  MessageFlags,
  RoleSelectMenuBuilder,
  SectionBuilder,
  SeparatorBuilder,
  SeparatorSpacingSize,
  StringSelectMenuBuilder,
  type TextChannel,
  TextDisplayBuilder,
  ThumbnailBuilder,
  UserSelectMenuBuilder,
} from 'discord.js';
import Eris from 'eris';
import { Client as Oceanic } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPONENT, COMPONENT_ROOTS, COMPONENT_SCHEMAS } from '../../protocol/components.ts';
import { everyComponent, type Tree } from '../support/components.ts';
import { startServer, type TestServer } from '../support/server.ts';

/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const WEB_IMAGE = 'https://example.com/bay.png';

let server: TestServer;
let sender: Client<true>;
let eris: Eris.Client;
let oceanic: Oceanic;
const errors: unknown[] = [];

beforeAll(async () => {
  server = await startServer({ bots: 3 });
  const { api, bots } = server.info;
  const client = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent],
    rest: { api, version: '10' },
  });
  client.on('error', (error) => errors.push(error));
  const ready = new Promise<Client<true>>((resolve) => client.once('clientReady', resolve));
  await client.login(bots[0]!.token);
  sender = await ready;

  const { hostname, port, pathname } = new URL(api);
  const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
  eris = Eris(`Bot ${bots[1]!.token}`, {
    intents: ['guilds', 'guildMessages', 'messageContent'],
    rest: {
      domain: hostname,
      baseURL: `${pathname}/v10`,
      agent: agent as unknown as import('node:https').Agent,
    },
  });
  eris.on('error', (error) => errors.push(error));
  const erisReady = new Promise((resolve) => eris.once('ready', () => resolve(null)));
  await eris.connect();
  await erisReady;

  oceanic = new Oceanic({
    auth: `Bot ${bots[2]!.token}`,
    gateway: { intents: ['GUILDS', 'GUILD_MESSAGES', 'MESSAGE_CONTENT'] },
    rest: { baseURL: `${api}/v10` },
  });
  oceanic.on('error', (error) => errors.push(error));
  const oceanicReady = new Promise((resolve) => oceanic.once('ready', () => resolve(null)));
  await oceanic.connect();
  await oceanicReady;
});
afterAll(async () => {
  await sender?.destroy();
  eris?.disconnect({ reconnect: false });
  oceanic?.disconnect(false);
  expect(server.relay?.dispatches.get('MESSAGE_CREATE')).toBeGreaterThanOrEqual(3);
  await server?.finish();
});

const row = (...components: MessageActionRowComponentBuilder[]) =>
  new ActionRowBuilder<MessageActionRowComponentBuilder>().addComponents(components);
const text = (content: string) => new TextDisplayBuilder().setContent(content);

/** Every kind, media of the web and of the message's own files, with and without the optional fields. */
function everyKind() {
  const { guild, users, application } = server.info;
  const container = new ContainerBuilder()
    .setAccentColor(0xaa5500)
    .setSpoiler(true)
    .addTextDisplayComponents(text('# Tides'))
    .addSectionComponents(
      new SectionBuilder()
        .addTextDisplayComponents(text('Low'), text('High'))
        .setThumbnailAccessory(
          new ThumbnailBuilder({ media: { url: 'attachment://map.png' } })
            .setDescription('The bay')
            .setSpoiler(true),
        ),
      new SectionBuilder()
        .addTextDisplayComponents(text('Sail'))
        .setButtonAccessory(
          new ButtonBuilder().setCustomId('sail').setStyle(ButtonStyle.Primary).setLabel('Sail'),
        ),
    )
    .addMediaGalleryComponents(
      new MediaGalleryBuilder().addItems(
        { media: { url: 'attachment://map.png' }, description: 'Uploaded', spoiler: true },
        { media: { url: WEB_IMAGE } },
      ),
    )
    .addSeparatorComponents(
      new SeparatorBuilder().setDivider(false).setSpacing(SeparatorSpacingSize.Large),
      new SeparatorBuilder(),
    )
    .addFileComponents(new FileBuilder().setURL('attachment://notes.txt').setSpoiler(true));
  const selects = [
    new StringSelectMenuBuilder()
      .setCustomId('boat')
      .setPlaceholder('Which boat')
      .addOptions(
        { label: 'Punt', value: 'punt', description: 'Slow', emoji: '🔥', default: true },
        { label: 'Yawl', value: 'yawl' },
      ),
    new UserSelectMenuBuilder().setCustomId('mate').addDefaultUsers(users[0]!.id),
    new RoleSelectMenuBuilder().setCustomId('rank').addDefaultRoles(guild.id),
    new MentionableSelectMenuBuilder().setCustomId('any').addDefaultUsers(application.id).setMaxValues(3),
    new ChannelSelectMenuBuilder()
      .setCustomId('port')
      .setChannelTypes(ChannelType.GuildText, ChannelType.GuildVoice)
      .setDisabled(true),
  ];
  const buttons = row(
    new ButtonBuilder().setCustomId('a').setStyle(ButtonStyle.Secondary).setEmoji('🔥'),
    new ButtonBuilder().setCustomId('b').setStyle(ButtonStyle.Success).setLabel('Yes').setDisabled(true),
    new ButtonBuilder().setCustomId('c').setStyle(ButtonStyle.Danger).setLabel('No'),
    new ButtonBuilder().setURL('https://example.com').setStyle(ButtonStyle.Link).setLabel('Chart'),
  );
  return [
    text('Outside of the container'),
    container,
    new MediaGalleryBuilder().addItems({ media: { url: WEB_IMAGE } }),
    new SeparatorBuilder(),
    new FileBuilder().setURL('attachment://notes.txt'),
    new SectionBuilder()
      .addTextDisplayComponents(text('Web'))
      .setThumbnailAccessory(new ThumbnailBuilder({ media: { url: WEB_IMAGE } })),
    buttons,
    ...selects.map((select) => row(select)),
  ];
}

/** The kinds that a message may hold at all, by number. */
function kindsOfMessages(): number[] {
  const known = new Set<number>(COMPONENT_ROOTS.standalone.kinds);
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const field = value as { is?: string; of?: { message?: readonly number[] } };
    if (field.is === 'component')
      for (const kind of field.of?.message ?? []) {
        if (known.has(kind)) continue;
        known.add(kind);
        visit(COMPONENT_SCHEMAS[kind as keyof typeof COMPONENT_SCHEMAS]);
      }
    else for (const child of Object.values(value)) visit(child);
  };
  for (const kind of COMPONENT_ROOTS.standalone.kinds) visit(COMPONENT_SCHEMAS[kind]);
  return [...known].filter((kind) => kind !== COMPONENT.TEXT_INPUT).sort((a, b) => a - b);
}
const byNumber = (a: number, b: number) => a - b;
const kindsIn = (components: readonly unknown[]) =>
  [...new Set(everyComponent(components as Tree[]).map(({ type }) => type as number))].sort(byNumber);

test('eris and oceanic.js receive every kind of component that discord.js sends, with media resolved', async () => {
  const byEris = new Promise<Eris.Message>((resolve) => eris.once('messageCreate', resolve));
  const byOceanic = new Promise<{ id: string; components: unknown[] }>((resolve) =>
    oceanic.once('messageCreate', (message) => resolve(message as never)),
  );
  const channel = (await sender.channels.fetch(server.info.guild.text_channel_id)) as TextChannel;
  const sent = await channel.send({
    flags: MessageFlags.IsComponentsV2,
    components: everyKind(),
    files: [
      new AttachmentBuilder(PNG, { name: 'map.png' }),
      new AttachmentBuilder(Buffer.from('0412 1.2 m'), { name: 'notes.txt' }),
    ],
  });
  expect(kindsIn(sent.components.map((one) => one.toJSON()))).toEqual(kindsOfMessages());

  const [erisMessage, oceanicMessage] = await Promise.all([byEris, byOceanic]);
  for (const message of [erisMessage, oceanicMessage]) {
    expect(message.id).toBe(sent.id);
    expect(kindsIn(message.components as unknown[])).toEqual(kindsOfMessages());
  }
  const media = sent.components.flatMap((one) => mediaIn(one.toJSON()));
  expect(media.length).toBe(7);
  for (const { url } of media.filter((one) => one.attachment_id !== undefined)) {
    expect((await fetch(url)).status).toBe(200);
  }
  const fetched = await oceanic.rest.channels.getMessage(channel.id, sent.id);
  expect(kindsIn(fetched.components as unknown[])).toEqual(kindsOfMessages());
  const edited = await sent.edit({ components: [...everyKind().slice(0, 3), text('Edited')] });
  expect(edited.components.at(-1)?.toJSON()).toMatchObject({ content: 'Edited' });
  expect(errors).toEqual([]);
});

type Media = { readonly url: string; readonly proxy_url: string; readonly attachment_id?: string };

/** Resolved media items of a component, at whatever depth. */
function mediaIn(value: unknown): Media[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('proxy_url' in value) return [value as Media];
  return Object.values(value).flatMap(mediaIn);
}
