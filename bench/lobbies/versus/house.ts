import type { Engine } from '../../../embedding.ts';
import { createEngine } from '../../../main.ts';
import { inParallel } from '../api.ts';
import { type Contender, textOf } from './contender.ts';
import type { Update } from './orders.ts';

const SIGNING_IN = 32;

/** The whole of this server, with what it writes to disk, as a program embeds it. */
export async function openHouse(): Promise<Contender> {
  const databaseUrl = process.env.BENCH_DATABASE_URL;
  const engine = await createEngine({
    config: {
      ...(databaseUrl !== undefined && { database_url: databaseUrl }),
      log_level: 'error',
      listen_port: 0,
      rate_limits: false,
      voice: false,
      // The connections only count; they send no heartbeats.
      heartbeat_interval_ms: 600_000,
    },
  });
  const { api } = await engine.listen();
  const { bot } = await engine.admin.createApplication({ name: 'Bench' });
  const lobbies = new Map<string, string>();
  engine.after('create_or_join_lobby', ({ callerId }, { body }) => {
    const { id } = body as { id: string };
    if (callerId !== null && !lobbies.has(id)) lobbies.set(id, callerId);
    return undefined;
  });
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
      Promise.all([...lobbies].map(([id, member]) => send(engine, bot.id, { update, index, id, member }))),
  };
}

interface Sending {
  readonly update: Update;
  readonly index: number;
  /** Of the lobby. */
  readonly id: string;
  /** One of its members. */
  readonly member: string;
}

function send(
  engine: Engine,
  as: string,
  { update, index, id, member }: Sending,
): Promise<unknown> | undefined {
  const body = { metadata: { bench: textOf(index) } };
  if (update === 'metadata') return engine.api.edit_lobby?.({ params: { lobby_id: id }, body }, { as });
  const params = { lobby_id: id, user_id: member };
  return engine.api.add_lobby_member?.({ params, body }, { as });
}
