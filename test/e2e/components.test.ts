// Goal: components that one stock bot sends are whole for every other one, and what would crash them is never sent.
import {
  ActionRowBuilder,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  ContainerBuilder,
  Events,
  FileBuilder,
  type FileComponent,
  GatewayIntentBits,
  MediaGalleryBuilder,
  type Message,
  MessageFlags,
  SectionBuilder,
  StringSelectMenuBuilder,
  type TextChannel,
  TextDisplayBuilder,
  ThumbnailBuilder,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAQAAAADCAIAAAA7ljmRAAAAEElEQVR4nGNgwAAKCgoABSAAweMFVR0AAAAASUVORK5CYII=',
  'base64',
);

let server: TestServer;
let sender: Client<true>;
let reader: Client<true>;
let channel: TextChannel;

async function online(token: string): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
  const client = new Client({
    intents: [Guilds, GuildMessages, MessageContent],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(token);
  return ready;
}

const next = (client: Client, event: Events.MessageCreate | Events.MessageUpdate) =>
  new Promise<Message>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${event} did not come.`)), TIMEOUT_MS);
    client.once(event as Events.MessageCreate, (...messages: Message[]) => {
      clearTimeout(timer);
      resolve(messages.at(-1)!);
    });
  });

beforeAll(async () => {
  server = await startServer({ bots: 2, set: { attachment_signatures_required: true } });
  [sender, reader] = await Promise.all([
    online(server.info.bots[0]!.token),
    online(server.info.bots[1]!.token),
  ]);
  channel = (await sender.channels.fetch(server.info.guild.text_channel_id)) as TextChannel;
});
afterAll(async () => {
  await Promise.all([sender?.destroy(), reader?.destroy()]);
  await server?.finish();
});

const report = () => ({
  flags: MessageFlags.IsComponentsV2 as const,
  files: [
    new AttachmentBuilder(PICTURE, { name: 'map.png' }),
    new AttachmentBuilder(Buffer.from('notes'), { name: 'notes.txt' }),
    new AttachmentBuilder(Buffer.from('unused'), { name: 'unused.txt' }),
  ],
  components: [
    new ContainerBuilder()
      .setAccentColor(0x336699)
      .addSectionComponents(
        new SectionBuilder()
          .addTextDisplayComponents(new TextDisplayBuilder().setContent('# Report'))
          .setThumbnailAccessory(
            new ThumbnailBuilder().setURL('attachment://map.png').setDescription('The bay'),
          ),
      )
      .addMediaGalleryComponents(
        new MediaGalleryBuilder().addItems({ media: { url: 'attachment://map.png' }, description: 'Again' }),
      )
      .addFileComponents(new FileBuilder().setURL('attachment://notes.txt'))
      .addActionRowComponents(
        new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(
          new StringSelectMenuBuilder().setCustomId('pick').addOptions({ label: 'One', value: '1' }),
        ),
      ),
    new ActionRowBuilder<ButtonBuilder>().addComponents(
      new ButtonBuilder().setCustomId('go').setLabel('Go').setStyle(ButtonStyle.Primary).setEmoji('🔥'),
      new ButtonBuilder().setURL('https://example.com').setLabel('Read').setStyle(ButtonStyle.Link),
    ),
  ],
});

const fileIn = (message: Message) => {
  const [container] = message.components as unknown as [{ components: FileComponent[] }];
  return container.components.find(({ type }) => type === 13)!.toJSON() as unknown as {
    readonly file: { readonly url: string; readonly size: number; readonly attachment_id: string };
    readonly name: string;
  };
};

describe('components between stock bots', () => {
  test('arrive whole over the gateway, with files that can be fetched', async () => {
    const seen = next(reader, Events.MessageCreate);
    const sent = await channel.send(report());
    const received = await seen;
    const bare = (message: Message) =>
      JSON.stringify(message.components.map((one) => one.toJSON())).replaceAll(/\?ex=[^"]*/g, '');
    expect(bare(received)).toBe(bare(sent));
    expect(received.attachments.size).toBe(0);
    const { file, name } = fileIn(received);
    expect([name, file.size]).toEqual(['notes.txt', 5]);
    expect(file.url).toMatch(/\?ex=[0-9a-f]+&is=[0-9a-f]+&hm=[0-9a-f]{64}/);
    const response = await fetch(file.url);
    expect([response.status, await response.text()]).toEqual([200, 'notes']);
    expect((await fetch(file.url.split('?')[0]!)).status).toBe(404);
  });

  test('stay whole when a bot sends back what it received', async () => {
    const sent = await channel.send(report());
    const seen = next(reader, Events.MessageUpdate);
    await sent.edit({ components: sent.components });
    const { file } = fileIn(await seen);
    expect(file.attachment_id).toBe(fileIn(sent).file.attachment_id);
    expect(await (await fetch(file.url)).text()).toBe('notes');
  });

  test('attachments of a plain message are signed over the gateway', async () => {
    const seen = next(reader, Events.MessageCreate);
    await channel.send({ content: 'x', files: [new AttachmentBuilder(PICTURE, { name: 'map.png' })] });
    const attachment = (await seen).attachments.first()!;
    expect((await fetch(attachment.url)).status).toBe(200);
  });

  test('are rejected when they would crash a bot, and the bot stays connected', async () => {
    for (const body of [
      { flags: 32_768, components: [{ type: 17 }] },
      { flags: 32_768, components: [{ type: 9 }] },
      { flags: 32_768, components: [{ type: 12 }] },
      { content: 'x', components: [{ type: 1 }] },
    ]) {
      const params = { channel_id: channel.id };
      const answer = await server.bot(0).ask('create_message', { params, body });
      expect(answer.status).toBe(400);
    }
    const seen = next(reader, Events.MessageCreate);
    await channel.send('still here');
    expect((await seen).content).toBe('still here');
  });
});
