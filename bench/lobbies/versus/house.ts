import type { Engine, GameLobby } from '../../../embedding.ts';
import { createEngine } from '../../../main.ts';
import { present } from '../../../protocol/present.ts';
import { inParallel } from '../api.ts';
import { type Contender, textOf } from './contender.ts';
import { BEAT_MS, type Life, messagesOf, type Update } from './orders.ts';

const SIGNING_IN = 32;
const GAME = 'bench';
/** Bots that share the sessions. */
const BOTS = 100;

const SETTINGS: Readonly<Record<Life, object>> = {
  /** Connections that only count send no heartbeats. */
  busy: { heartbeat_interval_ms: 600_000 },
  idle: { heartbeat_interval_ms: BEAT_MS, heartbeat_grace_ms: 20_000, resume_window_ms: 5000 },
  usual: {},
};

function openEngine(life: Life): Promise<Engine> {
  const databaseUrl = process.env.BENCH_DATABASE_URL;
  return createEngine({
    config: {
      ...(databaseUrl !== undefined && { database_url: databaseUrl }),
      ...{ log_level: 'error', listen_port: 0, rate_limits: false, voice: false },
      ...SETTINGS[life],
    },
  });
}

/** The same server with bots in one guild. */
export async function openBots(life: Life): Promise<Contender> {
  const engine = await openEngine(life);
  const { api } = await engine.listen();
  const { user } = await engine.admin.createUser({ username: `owner${Date.now()}` });
  const { id: guildId } = await engine.admin.createGuild({ name: 'Bench', ownerId: user.id });
  const tokens: string[] = [];
  for (let at = 0; at < BOTS; at += 1)
    tokens.push((await engine.admin.createApplication({ name: `Bot ${at}`, guildId })).botToken);
  return {
    url: new URL(api).origin,
    prepare: async (count) => Array.from({ length: count }, (_, index) => present(tokens[index % BOTS])),
    update: () => undefined,
  };
}

/** The whole of this server, with what it writes to disk, as a program embeds it. `idle` and `usual` lobbies run no game. */
export async function openHouse(life: Life): Promise<Contender> {
  const engine = await openEngine(life);
  const { api } = await engine.listen();
  const { bot } = await engine.admin.createApplication({ name: 'Bench' });
  const lobbies = watchLobbies(engine, bot.id, life === 'busy');
  let players = 0;
  return {
    url: new URL(api).origin,
    prepare: async (count) => {
      const tokens: string[] = [];
      await inParallel(count, SIGNING_IN, async (index) => {
        players += 1;
        const body = { external_user_id: `player ${players}` };
        const signed = await engine.api.bot_partner_sdk_token?.({ body }, { as: bot.id });
        tokens[index] = (signed as { access_token: string }).access_token;
      });
      return tokens;
    },
    update: (update, index) =>
      Promise.all([...lobbies.values()].map((lobby) => send(engine, bot.id, lobby, update, index))),
  };
}

interface WatchedLobby {
  readonly id: string;
  readonly memberId: string;
  /** There once its game runs. */
  game: GameLobby<unknown> | null;
}

/** The lobbies by id, as players make them; with `games` each is given one, which may speak to all. */
function watchLobbies(engine: Engine, botId: string, games: boolean): ReadonlyMap<string, WatchedLobby> {
  const lobbies = new Map<string, WatchedLobby>();
  engine.lobbies.defineLobby<unknown>(GAME, {
    onCreate: (game) => {
      const lobby = lobbies.get(game.id);
      if (lobby) lobby.game = game;
    },
  });
  engine.after('create_or_join_lobby', ({ callerId }, { body }) => {
    const { id } = body as { id: string };
    if (callerId === null || lobbies.has(id)) return undefined;
    lobbies.set(id, { id, memberId: callerId, game: null });
    const settings = { params: { lobby_id: id }, body: { game: GAME } };
    if (games) void engine.api.edit_lobby_settings?.(settings, { as: botId });
    return undefined;
  });
  return lobbies;
}

async function send(
  engine: Engine,
  as: string,
  { id, memberId, game }: WatchedLobby,
  update: Update,
  index: number,
): Promise<unknown> {
  const text = textOf(index);
  if (update === 'broadcast' || update === 'burst') {
    for (let said = 0; said < messagesOf(update); said += 1) game?.broadcast('update', { text });
    return undefined;
  }
  const body = { metadata: { bench: text } };
  if (update === 'metadata') return engine.api.edit_lobby?.({ params: { lobby_id: id }, body }, { as });
  const params = { lobby_id: id, user_id: memberId };
  return engine.api.add_lobby_member?.({ params, body }, { as });
}
