// Goal: people vote in the polls of an unmodified discord.js bot, in a guild, in private and in answers to commands.
import {
  Client,
  type ClientEvents,
  Events,
  GatewayIntentBits,
  type Message,
  MessageType,
  Partials,
  type PollData,
  type TextChannel,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTENTS as BITS } from '../../protocol/intents.ts';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const INTENTS = Object.values(GatewayIntentBits).filter(
  (bit): bit is GatewayIntentBits => typeof bit === 'number',
);
const TIMEOUT_MS = 10_000;

let server: TestServer;
let bot: Client<true>;
let channel: TextChannel;
/** The demo's people, and their ids. */
let people: Caller[];
let ids: string[];

function heard<E extends keyof ClientEvents>(
  event: E,
  matches: (...args: ClientEvents[E]) => boolean = () => true,
): Promise<ClientEvents[E]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${event} did not come.`)), TIMEOUT_MS);
    const listener = (...args: ClientEvents[E]) => {
      if (!matches(...args)) return;
      clearTimeout(timer);
      bot.off(event as string, listener as () => void);
      resolve(args);
    };
    bot.on(event as string, listener as () => void);
  });
}

const poll = (more: Partial<PollData> = {}): PollData => ({
  question: { text: 'Which harbour?' },
  answers: [{ text: 'North', emoji: '🌊' }, { text: 'South' }, { text: 'None' }],
  duration: 1,
  allowMultiselect: false,
  ...more,
});
const pathOf = (message: Message) => `/channels/${message.channelId}/polls/${message.id}`;
const mine = (message: Message) => `${pathOf(message)}/answers/@me`;

beforeAll(async () => {
  server = await startServer();
  const { api, cdn, users, guild } = server.info;
  people = users.map(({ token }) => callerOf(server, `Bearer ${token}`));
  ids = users.map(({ id }) => id);
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel, Partials.Message, Partials.Poll, Partials.PollAnswer],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(server.info.bot.token);
  bot = await ready;
  channel = bot.channels.cache.get(guild.text_channel_id) as TextChannel;
});
afterAll(async () => {
  await bot?.destroy();
  await server?.finish();
});

describe('a poll in a guild', () => {
  test('receives, changes and removes votes, and the bot receives each event', async () => {
    const message = await channel.send({ poll: poll() });
    expect(message.poll).toMatchObject({ resultsFinalized: false, question: { text: 'Which harbour?' } });
    expect(message.poll!.answers.map(({ text }) => text)).toEqual(['North', 'South', 'None']);

    const added = heard(Events.MessagePollVoteAdd);
    await people[0]!(`PUT ${mine(message)}`, { answer_ids: ['2'] });
    const [answer, voter] = await added;
    expect([answer.id, answer.text, voter]).toEqual([2, 'South', ids[0]]);
    await people[1]!(`PUT ${mine(message)}`, { answer_ids: [2] });

    const removed = heard(Events.MessagePollVoteRemove);
    const moved = heard(Events.MessagePollVoteAdd, ({ id }) => id === 1);
    await people[1]!(`PUT ${mine(message)}`, { answer_ids: [1] });
    expect([(await removed)[0].id, (await moved)[1]]).toEqual([2, ids[1]]);
    const withdrawn = heard(Events.MessagePollVoteRemove, ({ id }) => id === 1);
    await people[1]!(`DELETE ${mine(message)}`);
    expect((await withdrawn)[1]).toBe(ids[1]);

    const read = await people[0]!<{ poll: { results: unknown } }>(
      `GET /channels/${channel.id}/messages/${message.id}`,
    );
    expect(read.poll.results).toEqual({
      is_finalized: false,
      answer_counts: [{ id: 2, count: 1, me_voted: true }],
    });
    const fetched = await channel.messages.fetch({ message: message.id, force: true });
    expect(fetched.poll!.answers.get(2)!.voteCount).toBe(1);
  });

  test('shows its voters by page', async () => {
    const message = await channel.send({ poll: poll({ allowMultiselect: true }) });
    for (const person of people) await person(`PUT ${mine(message)}`, { answer_ids: [1, 3] });
    const sorted = ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
    const answer = message.poll!.answers.get(3)!;
    expect([...(await answer.voters.fetch()).keys()]).toEqual(sorted);
    expect([...(await answer.voters.fetch({ limit: 1 })).keys()]).toEqual(sorted.slice(0, 1));
    expect([...(await answer.voters.fetch({ after: sorted[0]!, limit: 100 })).keys()]).toEqual(
      sorted.slice(1),
    );
    expect((await message.poll!.answers.get(2)!.voters.fetch()).size).toBe(0);
    await expect(bot.rest.get(`/channels/${channel.id}/polls/${message.id}/answers/4`)).rejects.toMatchObject(
      {
        code: 50035,
      },
    );
  });

  test('ends for its author with final counts and a message of the results', async () => {
    const message = await channel.send({ poll: poll() });
    await people[0]!(`PUT ${mine(message)}`, { answer_ids: [1] });
    await expect(people[0]!(`POST ${pathOf(message)}/expire`)).rejects.toThrow('50005');
    const updated = heard(Events.MessageUpdate, (_, { id }) => id === message.id);
    const told = heard(Events.MessageCreate, ({ type }) => type === MessageType.PollResult);
    const ended = await message.poll!.end();
    expect(ended.poll!.resultsFinalized).toBe(true);
    expect((await updated)[1].poll).toMatchObject({ resultsFinalized: true });
    const [result] = await told;
    expect(result.reference).toMatchObject({ messageId: message.id, channelId: channel.id });
    expect(result.author.id).toBe(bot.user.id);
    const fields = result.embeds[0]!.toJSON().fields!.map(({ name, value }) => [name, value]);
    expect(Object.fromEntries(fields)).toEqual({
      poll_question_text: 'Which harbour?',
      victor_answer_votes: '1',
      total_votes: '1',
      victor_answer_id: '1',
      victor_answer_text: 'North',
      victor_answer_emoji_name: '🌊',
    });
    await expect(people[1]!(`PUT ${mine(message)}`, { answer_ids: [1] })).rejects.toThrow('520001');
    await expect(bot.rest.post(`/channels/${channel.id}/polls/${message.id}/expire`)).rejects.toMatchObject({
      code: 520001,
    });
    await expect(message.edit('other')).rejects.toMatchObject({ code: 520003 });
    await expect(message.forward(channel)).rejects.toMatchObject({ code: 50068 });
  });

  test('dispatches votes only to sessions with the intent, and accepts votes of people only', async () => {
    const made = await server.newBot('Listener');
    const intents = BITS.GUILDS | BITS.GUILD_MESSAGES;
    const deaf = await GatewayClient.ready(server.info.gateway, { token: made.token, intents });
    const keen = await GatewayClient.ready(server.info.gateway, {
      token: made.token,
      intents: intents | BITS.GUILD_MESSAGE_POLLS,
    });
    const message = await channel.send({ poll: poll() });
    await people[0]!(`PUT ${mine(message)}`, { answer_ids: [3] });
    expect(await keen.dispatch('MESSAGE_POLL_VOTE_ADD')).toEqual({
      ...{ user_id: ids[0], channel_id: channel.id, message_id: message.id },
      ...{ guild_id: server.info.guild.id, answer_id: 3 },
    });
    const after = await channel.send('after the vote');
    await deaf.dispatch('MESSAGE_CREATE', (d) => d.id === after.id);
    expect(JSON.stringify(deaf.received)).not.toContain('MESSAGE_POLL_VOTE_ADD');
    await expect(
      bot.rest.put(`/channels/${channel.id}/polls/${message.id}/answers/@me`, {
        body: { answer_ids: [1] },
      }),
    ).rejects.toMatchObject({ code: 20001 });
    for (const client of [deaf, keen]) await client.close();
  });
});

test('a poll in a private channel is voted in and ended there', async () => {
  const user = await bot.users.fetch(ids[0]!);
  const message = await user.send({ poll: poll() });
  const added = heard(Events.MessagePollVoteAdd);
  await people[0]!(`PUT ${mine(message)}`, { answer_ids: [2] });
  expect([(await added)[0].id, (await added)[1]]).toEqual([2, ids[0]]);
  await expect(people[1]!(`PUT ${mine(message)}`, { answer_ids: [2] })).rejects.toThrow('10003');
  const told = heard(Events.MessageCreate, ({ type }) => type === MessageType.PollResult);
  await message.poll!.end();
  expect((await told)[0].guildId).toBeNull();
});

test('a deferred answer gets its poll by an edit, and a follow-up and a webhook bring theirs', async () => {
  const { application, guild } = server.info;
  const { body: command } = await server
    .bot()
    .ask<{ id: string; version: string; name: string; type: number }>('create_guild_application_command', {
      params: { application_id: application.id, guild_id: guild.id },
      body: { name: 'ask', description: 'Asks.' },
    });
  const ann = await Person.of(server);
  const run = heard(Events.InteractionCreate);
  await ann.slash(command);
  const [interaction] = await run;
  if (!interaction.isChatInputCommand()) return expect.unreachable();
  await interaction.deferReply();
  const edited = await interaction.editReply({ poll: poll() });
  expect(edited.poll!.answers.size).toBe(3);
  await people[1]!(`PUT ${mine(edited)}`, { answer_ids: [1] });
  await expect(interaction.editReply({ poll: poll() })).rejects.toMatchObject({ code: 520003 });
  const followed = await interaction.followUp({ poll: poll() });
  await people[1]!(`PUT ${mine(followed)}`, { answer_ids: [1] });
  const ended = await edited.poll!.end();
  expect(ended.poll!.answers.get(1)!.voteCount).toBe(1);
  const webhook = await channel.createWebhook({ name: 'Herald' });
  const sent = await webhook.send({ poll: poll() } as never);
  await people[1]!(`PUT /channels/${channel.id}/polls/${sent.id}/answers/@me`, { answer_ids: [2] });
  ann.close();
});
