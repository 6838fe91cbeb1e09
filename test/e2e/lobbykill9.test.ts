// Goal: a player whose join was acknowledged is in the lobby after SIGKILL at any moment, in the one lobby of its
// secret, once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compareIds } from '../../protocol/ids.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const ROUNDS = 3;
const PLAYERS = 12;
const SECRETS = 6;
const PAGE = 200;

interface Lobby {
  readonly id: string;
  readonly members: readonly { readonly id: string }[];
}

interface Player {
  readonly id: string;
  readonly token: string;
  /** Whether it is in a lobby: as it was answered, and as it may be besides, where no answer came. */
  readonly places: Map<string, { sure: boolean; perhaps: boolean | null }>;
}

/** Changes that the server has acknowledged. */
interface Ledger {
  readonly lobbies: Map<string, string>;
  /** Ids of messages by lobby. */
  readonly said: Map<string, string[]>;
  joins: number;
}

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(pathOf(tmpdir(), 'guildhall-lobbykill9-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

async function playersOf(server: TestServer): Promise<Player[]> {
  return Promise.all(
    Array.from({ length: PLAYERS }, async (_, index) => {
      const body = { external_user_id: `player ${index}` };
      const { access_token: token } = await server
        .bot()
        .call<{ access_token: string }>('bot_partner_sdk_token', { body });
      const { id } = await server.restOf(`Bearer ${token}`).call<{ id: string }>('get_my_user');
      return { id, token, places: new Map() };
    }),
  );
}

/** The place of a player in a lobby, about to become what is asked for. */
function aboutTo(player: Player, lobbyId: string, isIn: boolean) {
  const place = player.places.get(lobbyId) ?? { sure: false, perhaps: null };
  player.places.set(lobbyId, place);
  place.perhaps = isIn;
  return () => {
    place.sure = isIn;
    place.perhaps = null;
  };
}

async function enter(rest: RestClient, player: Player, secret: string, ledger: Ledger): Promise<void> {
  const known = ledger.lobbies.get(secret);
  const settle = known === undefined ? null : aboutTo(player, known, true);
  const lobby = await rest.call<Lobby>('create_or_join_lobby', { body: { secret } });
  ledger.lobbies.set(secret, ledger.lobbies.get(secret) ?? lobby.id);
  expect(lobby.id).toBe(ledger.lobbies.get(secret));
  (settle ?? aboutTo(player, lobby.id, true))();
  ledger.joins += 1;
}

/** One player comes, talks and goes until the server is gone. */
async function play(server: TestServer, player: Player, ledger: Ledger, seed: number): Promise<void> {
  const rest = server.restOf(`Bearer ${player.token}`);
  for (let step = seed; ; step += 1) {
    const secret = `secret ${(step + Math.floor(step / 15)) % SECRETS}`;
    const lobbyId = ledger.lobbies.get(secret);
    const isIn = lobbyId !== undefined && player.places.get(lobbyId)?.sure === true;
    const params = { lobby_id: lobbyId ?? '' };
    try {
      if (!isIn || step % 5 === 0) await enter(rest, player, secret, ledger);
      else if (step % 3 === 0) {
        const settle = aboutTo(player, params.lobby_id, false);
        await rest.call('leave_lobby', { params });
        settle();
      } else {
        const body = { content: `step ${step}` };
        const { id } = await rest.call<{ id: string }>('create_lobby_message', { params, body });
        ledger.said.set(params.lobby_id, [...(ledger.said.get(params.lobby_id) ?? []), id]);
      }
    } catch (error) {
      // Only a connection that broke ends a player; a refusal fails the test.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

/** Acknowledged changes that are lost. */
async function broken(server: TestServer, players: readonly Player[], ledger: Ledger): Promise<string[]> {
  const wrong: string[] = [];
  for (const player of players) {
    const rest = server.restOf(`Bearer ${player.token}`);
    for (const [lobbyId, place] of player.places) {
      const params = { lobby_id: lobbyId };
      const { status, body } = await rest.ask<Lobby>('get_lobby', { params });
      const times = status === 200 ? body.members.filter(({ id }) => id === player.id).length : 0;
      const isIn = times === 1;
      if (times > 1 || (isIn !== place.sure && isIn !== place.perhaps))
        wrong.push(`${player.id} is ${times} times in ${lobbyId} (${status}), was answered ${place.sure}`);
      // The current state is the base of the next round.
      place.sure = isIn;
      place.perhaps = null;
      if (!isIn) continue;
      const shown = await rest.call<{ id: string }[]>('get_lobby_messages', {
        params,
        query: { limit: PAGE },
      });
      const ids = new Set(shown.map(({ id }) => id));
      const oldest = shown.length < PAGE ? '0' : (shown.at(-1)?.id ?? '0');
      for (const id of ledger.said.get(lobbyId) ?? [])
        if (compareIds(id, oldest) > 0 && !ids.has(id)) wrong.push(`message ${id} is lost`);
    }
  }
  return wrong;
}

test(`${ROUNDS} kills under load of ${PLAYERS} players neither lose an acknowledged join nor duplicate one`, async () => {
  const ledger: Ledger = { lobbies: new Map(), said: new Map(), joins: 0 };
  let players: Player[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await startServer({ dataDir });
    if (round === 0) players = await playersOf(server);
    expect(await broken(server, players, ledger)).toEqual([]);
    const storm = players.map((player, index) => play(server, player, ledger, round * 1_000 + index));
    await delay(400 + round * 350);
    await server.kill9();
    await Promise.all(storm);
    expect(server.complaints).toEqual([]);
  }
  const last = await startServer({ dataDir });
  expect(await broken(last, players, ledger)).toEqual([]);
  expect(await last.stop()).toBe(0);
  expect(ledger.joins).toBeGreaterThan(PLAYERS * ROUNDS);
  expect(ledger.said.size).toBeGreaterThan(1);
});
