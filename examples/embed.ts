// Guildhall inside a program of its own: an engine in memory, a guild with a bot, a hook that tidies what is written,
// and messages sent without any network. Run it with `npm run example`.
import { ApiError, createEngine } from '../main.ts'; // In a program of your own: from 'guildhall'.

const PERMISSIONS = { administrator: 8n };
const TEXT_CHANNEL = 0;

const engine = await createEngine({ config: { log_level: 'warn' } });

// Someone to own the guild, and a bot that is an administrator in it.
const { user: owner } = await engine.admin.createUser({ username: 'keeper', globalName: 'The Keeper' });
const guild = await engine.admin.createGuild({ name: 'The Harbour', ownerId: owner.id });
const { bot } = await engine.admin.createApplication({ name: 'Beacon', ownerId: owner.id });
await engine.admin.addMember({
  guildId: guild.id,
  userId: bot.id,
  permissions: PERMISSIONS.administrator,
});

// Every operation of the HTTP API is a function; `as` says who calls, and the rules hold for them.
const channels = await engine.api.listGuildChannels({ as: bot.id, params: { guild_id: guild.id } });
const channel = channels.find(({ type }) => type === TEXT_CHANNEL)!;

// A hook may rewrite a call, or refuse it.
engine.before('create_message', ({ body }) => {
  const content = body.content ?? '';
  if (content.includes('shipwreck')) {
    return { refuse: { status: 400, code: 0, message: 'We do not speak of that here.' } };
  }
  return { body: { ...body, content: content.replaceAll('starboard', 'right') } };
});

// A listener sees every dispatch once, independent of its recipients.
engine.on('MESSAGE_CREATE', ({ author, content }) => {
  console.log(`${author.username}: ${content}`);
});

const say = (content: string) =>
  engine.api.createMessage({ as: bot.id, params: { channel_id: channel.id }, body: { content } });

await say('Light ahead, a little to starboard.');
await say('Mind the shipwreck!').catch((error: unknown) => {
  if (!(error instanceof ApiError)) throw error;
  console.log(`refused: ${error.message}`);
});

await engine.drain();
await engine.close();
