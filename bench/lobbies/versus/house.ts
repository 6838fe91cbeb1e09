import type { Engine, GameLobby } from '../../../embedding.ts';
import { createEngine } from '../../../main.ts';
import { inParallel } from '../api.ts';
import { type Contender, textOf } from './contender.ts';
import { BEAT_MS, messagesOf, type Update } from './orders.ts';

const SIGNING_IN = 32;
const GAME = 'bench';
const IDLE = { heartbeat_interval_ms: BEAT_MS, heartbeat_grace_ms: 20_000, resume_window_ms: 5000 };
/** Connections that only count send no heartbeats. */
const COUNTING = { heartbeat_interval_ms: 600_000 };

/**
 * The whole of this server, with what it writes to disk, as a program embeds it.
 *
 * @param idle Connections that are left alone, in lobbies that run no game.
 */
export async function openHouse(idle: boolean): Promise<Contender> {
  const databaseUrl = process.env.BENCH_DATABASE_URL;
  const engine = await createEngine({
    config: {
      ...(databaseUrl !== undefined && { database_url: databaseUrl }),
      ...{ log_level: 'error', listen_port: 0, rate_limits: false, voice: false },
      ...(idle ? IDLE : COUNTING),
    },
  });
  const { api } = await engine.listen();
  const { bot } = await engine.admin.createApplication({ name: 'Bench' });
  const lobbies = watchLobbies(engine, bot.id, !idle);
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
