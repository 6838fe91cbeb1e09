import { CommandError } from '../../cli/world.ts';
import { MORE } from '../gateway/verdict.ts';
import type { Progress } from '../progress.ts';
import { type Answer, type Api, inParallel, isSuccess } from './api.ts';

/** Someone whom the game's bot vouched for. */
export interface Player {
  readonly userId: string;
  /** `Bearer <token>`. */
  readonly authorization: string;
}

export interface PlayersPlan {
  /** `Bot <token>`. */
  readonly bot: string;
  /** Distinguishes the players of a run from those of others. */
  readonly runId: string;
  readonly count: number;
  readonly atOnce: number;
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * Signs players in as a game's backend does, by names of its own.
 *
 * @throws CommandError when the server will not.
 */
export async function signIn(api: Api, plan: PlayersPlan): Promise<Player[]> {
  const { bot, runId, count, atOnce, onProgress } = plan;
  const players: Player[] = [];
  await inParallel(count, atOnce, async (index) => {
    const body = { external_user_id: `bench-${runId}-${index}` };
    const signed = await api.ask('POST', '/partner-sdk/token/bot', bot, body);
    const token = (signed.body as { access_token?: string } | null)?.access_token;
    if (!token) throw refused('sign a player in', signed);
    const authorization = `Bearer ${token}`;
    const self = await api.ask('GET', '/users/@me', authorization);
    const userId = (self.body as { id?: string } | null)?.id;
    if (!userId) throw refused('say who a player is', self);
    players[index] = { userId, authorization };
    onProgress?.({ phase: 'signing in', done: index + 1, of: count });
  });
  return players;
}

export interface Joined {
  readonly lobbyId: string;
  readonly answer: Answer;
}

/** Joins the lobby of a secret. `lobbyId` is empty when that failed. */
export async function join(
  api: Api,
  { authorization }: Player,
  secret: string,
  idleTimeoutSeconds: number,
): Promise<Joined> {
  const body = { secret, idle_timeout_seconds: idleTimeoutSeconds };
  const answer = await api.ask('PUT', '/lobbies', authorization, body);
  const { id } = (answer.body ?? {}) as { id?: string };
  return { lobbyId: isSuccess(answer) && id ? id : '', answer };
}

const refused = (what: string, { status }: Answer): CommandError =>
  new CommandError(
    `The server did not ${what}: ${status === 0 ? 'there was no answer' : `it answered ${status}`}.`,
    status === 429
      ? MORE
      : 'Give the token of a bot whose application may sign players in (openid and sdk.social_layer).',
  );
