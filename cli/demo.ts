import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../directories.ts';
import type { Engine } from '../embedding.ts';
import type { GuildId, UserId } from '../protocol/ids.ts';
import { P } from '../protocol/permissions.ts';
import { present } from '../protocol/present.ts';
import type { ErrorTree, Refusal } from '../protocol/refusal.ts';
import { codeOf } from '../protocol/thrown.ts';
import { damagedFile } from './failures.ts';
import { type Guide, makeGuide } from './guide.ts';

/** The demo's objects, with the keys of `guildhall dev --json`. */
export interface Demo {
  /** Owns guild and applications; not printed. */
  readonly owner_id: UserId;
  readonly application: { readonly id: string; readonly public_key: string; readonly client_secret: string };
  readonly bots: readonly DemoBot[];
  readonly users: readonly { readonly id: UserId; readonly name: string; readonly token: string }[];
  /** A player of the demo's game without an account, with a token for the client library. */
  readonly player: { readonly token: string };
  readonly guild: {
    readonly id: GuildId;
    readonly text_channel_id: string;
    readonly voice_channel_id: string;
  };
  /** The built-in bot; absent without it, not printed. */
  readonly guide?: Guide;
}

/** The stored part of a demo. A player's token expires, so each start creates a new one. */
type KeptDemo = Omit<Demo, 'player'>;

interface DemoBot {
  readonly id: string;
  readonly token: string;
  readonly application_id: string;
}

const GUILD_NAME = 'The Guildhall';
/** Owns guild and applications, so that the rules apply to all demo accounts. */
const OWNER = { username: 'keeper', globalName: 'The Keeper' };
const USERS = [
  { username: 'juniper', globalName: 'Juniper' },
  { username: 'rowan', globalName: 'Rowan' },
] as const;
const BOT_NAMES = [
  'Lantern',
  'Bellows',
  'Compass',
  'Thimble',
  'Sundial',
  'Anvil',
  'Quill',
  'Kettle',
] as const;
/** Redirect URIs, on any port: of the client library's sign-in, and of the players page. */
const REDIRECT_URIS = ['http://127.0.0.1/callback', 'http://127.0.0.1/voice-room/players/callback.html'];
const TEXT_CHANNEL = 0;
const VOICE_CHANNEL = 2;
const FILE = 'demo.json';
const USERNAME_TAKEN_CODE = 'USERNAME_ALREADY_TAKEN';

const botName = (index: number): string => {
  const round = Math.floor(index / BOT_NAMES.length);
  const name = BOT_NAMES[index % BOT_NAMES.length]!;
  return round === 0 ? name : `${name} ${round + 1}`;
};

/**
 * Creates the demo: a guild with a text and a voice channel, `bots` applications whose bots are administrators of the
 * guild, and two users who are ordinary members.
 */
export async function seedDemo(engine: Engine, options: DemoOptions): Promise<Demo> {
  return withPlayer(engine, await withGuide(engine, await makeDemo(engine, options), options));
}

interface DemoOptions {
  readonly bots: number;
  /** Whether a built-in bot lives in the guild. */
  readonly guide?: boolean;
}

const withGuide = async (
  engine: Engine,
  demo: KeptDemo,
  { guide = false }: DemoOptions,
): Promise<KeptDemo> =>
  guide && demo.guide === undefined ? { ...demo, guide: await makeGuide(engine, demo) } : demo;

async function makeDemo(engine: Engine, { bots: botCount }: { readonly bots: number }): Promise<KeptDemo> {
  const owner = await createPerson(engine, OWNER);
  const ownerId = owner.user.id;
  const created = await engine.admin.createGuild({ name: GUILD_NAME, ownerId });
  const guildId = created.id;

  const users: Demo['users'][number][] = [];
  for (const { username, globalName } of USERS) {
    const { user, token } = await createPerson(engine, { username, globalName });
    await engine.admin.addMember({ guildId, userId: user.id });
    users.push({ id: user.id, name: user.username, token });
  }

  const first = await addBot(engine, guildId, ownerId, 0);
  // The demo's game: people sign in to it from their own machine, where no secret would stay one.
  const applicationId = first.application.id;
  await engine.admin.configureClient({ applicationId, redirectUris: REDIRECT_URIS, publicClient: true });
  const bots = [first.bot];
  while (bots.length < botCount) bots.push((await addBot(engine, guildId, ownerId, bots.length)).bot);
  const guild = await guildOf(engine, guildId, ownerId);
  return { owner_id: ownerId, application: first.application, bots, users, guild };
}

/** Signs in a player of the demo's game, as a game server does. */
async function withPlayer(engine: Engine, demo: KeptDemo): Promise<Demo> {
  const body = { external_user_id: 'demo-player', preferred_global_name: 'Player' };
  const [bot] = demo.bots;
  const { access_token: token } = await engine.api.bot_partner_sdk_token({ body }, { as: present(bot).id });
  return { ...demo, player: { token } };
}

/** Most names tried for one demo user. */
const NAMES_TRIED = 50;

/** Creates a demo user; if the name is taken by an earlier demo in the same data, a number is added. */
async function createPerson(
  engine: Engine,
  { username, globalName }: { readonly username: string; readonly globalName: string },
): Promise<{ readonly user: { readonly id: UserId; readonly username: string }; readonly token: string }> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? username : `${username}_${number}`;
    try {
      return await engine.admin.createUser({ username: name, globalName });
    } catch (error) {
      if (!isTaken(error) || number === NAMES_TRIED) throw error;
    }
  }
}

/** Whether an engine refused a username because it is taken. */
function isTaken(error: unknown): boolean {
  if (!(error instanceof Error) || !('refusal' in error)) return false;
  const { errors } = error.refusal as Refusal;
  const field = errors?.username as ErrorTree | undefined;
  return field?._errors?.some(({ code }) => code === USERNAME_TAKEN_CODE) ?? false;
}

async function addBot(engine: Engine, guildId: GuildId, ownerId: UserId, index: number) {
  const made = await engine.admin.createApplication({ name: botName(index), ownerId });
  const { application, bot, botToken, clientSecret } = made;
  await engine.admin.addMember({ guildId, userId: bot.id, permissions: P.ADMINISTRATOR });
  return {
    application: { id: application.id, public_key: application.verify_key, client_secret: clientSecret },
    bot: { id: bot.id, token: botToken, application_id: application.id },
  };
}

async function guildOf(engine: Engine, guildId: GuildId, ownerId: UserId): Promise<Demo['guild']> {
  const call = { params: { guild_id: guildId } };
  const channels = await engine.api.list_guild_channels(call, { as: ownerId });
  const first = async (type: typeof TEXT_CHANNEL | typeof VOICE_CHANNEL, name: string): Promise<string> => {
    const found = channels.find((channel) => channel.type === type);
    if (found !== undefined) return found.id;
    return (await engine.api.create_guild_channel({ ...call, body: { name, type } }, { as: ownerId })).id;
  };
  return {
    id: guildId,
    text_channel_id: await first(TEXT_CHANNEL, 'general'),
    voice_channel_id: await first(VOICE_CHANNEL, 'General'),
  };
}

/**
 * The demo of a data folder: created at the first start, and the same at every later one. Its tokens are stored beside the
 * data in a file that only this user can read, because the database contains only their hashes.
 *
 * @returns the demo with exactly `bots` bots; further bots created earlier stay in the folder.
 */
export async function keptDemo(engine: Engine, directory: string, options: DemoOptions): Promise<Demo> {
  const { bots } = options;
  const kept = await readDemo(directory);
  const isThere = kept !== null && (await hasGuild(engine, kept.guild.id));
  let demo = isThere ? kept : await makeDemo(engine, { bots });
  while (demo.bots.length < bots) {
    const { bot } = await addBot(engine, demo.guild.id, demo.owner_id, demo.bots.length);
    demo = { ...demo, bots: [...demo.bots, bot] };
  }
  demo = await withGuide(engine, demo, options);
  if (demo !== kept) await writeDemo(directory, demo);
  return withPlayer(engine, { ...demo, bots: demo.bots.slice(0, bots) });
}

async function hasGuild(engine: Engine, guildId: GuildId): Promise<boolean> {
  const before = String(BigInt(guildId) - 1n) as GuildId;
  return (await engine.admin.listGuilds(before, 1)).some(({ id }) => id === guildId);
}

async function readDemo(directory: string): Promise<KeptDemo | null> {
  const path = join(directory, FILE);
  try {
    const demo = JSON.parse(await readFile(path, 'utf8')) as KeptDemo;
    if (typeof demo?.guild?.id !== 'string' || !Array.isArray(demo.bots)) throw damagedFile(path, null);
    return demo;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error instanceof SyntaxError ? damagedFile(path, error) : error;
  }
}

async function writeDemo(directory: string, demo: KeptDemo): Promise<void> {
  await makeDirectory(directory);
  const path = join(directory, FILE);
  await writeFile(`${path}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
