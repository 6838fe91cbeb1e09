import { CommandError } from '../../cli/world.ts';
import { MORE } from '../gateway/verdict.ts';
import type { Progress } from '../progress.ts';
import { type Answer, type Api, inParallel, isSuccess } from './api.ts';
import { Turns } from './turns.ts';

/** A player signed in by the game's bot. */
export interface Player {
  readonly userId: string;
  /** `Bearer <token>`. */
  readonly authorization: string;
}

interface PlayersPlan {
  /** `Bot <token>`. */
  readonly bot: string;
  /** Distinguishes the players of a run from those of other runs. */
  readonly runId: string;
  readonly count: number;
  readonly atOnce: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Called once when the server's limits slow the sign-ins. */
  readonly onNote?: (note: string) => void;
}

const WORTH_SAYING_SECONDS = 5;

/**
 * Signs players in as a game's backend does, with names of its own.
 *
 * @throws CommandError when the server refuses.
 */
export async function signIn(api: Api, plan: PlayersPlan): Promise<Player[]> {
  const { bot, runId, count, atOnce, onProgress } = plan;
  const players: Player[] = [];
  const turns = new Turns();
  let done = 0;
  await inParallel(count, atOnce, async (index) => {
    const body = { external_user_id: `bench-${runId}-${index}` };
    const signed = await turns.ask(() => api.ask('POST', '/partner-sdk/token/bot', bot, body));
    if (index === 0) noteLong(plan, turns.secondsFor(count));
    const token = (signed.body as { access_token?: string } | null)?.access_token;
    if (!token) throw refused('sign a player in', signed);
    const authorization = `Bearer ${token}`;
    const self = await new Turns().ask(() => api.ask('GET', '/users/@me', authorization));
    const userId = (self.body as { id?: string } | null)?.id;
    if (!userId) throw refused('say who a player is', self);
    players[index] = { userId, authorization };
    done += 1;
    onProgress?.({ phase: 'signing in', done, of: count });
  });
  return players;
}

function noteLong({ count, onNote }: PlayersPlan, seconds: number): void {
  if (seconds < WORTH_SAYING_SECONDS) return;
  onNote?.(
    `Signing ${count} players in takes about ${Math.ceil(seconds)} s, as the server's rate limits allow. ${MORE}`,
  );
}

interface Joined {
  readonly lobbyId: string;
  readonly answer: Answer;
}

/** Joins the lobby of a secret. `lobbyId` is empty on failure. */
export async function join(
  api: Api,
  { authorization }: Player,
  secret: string,
  idleTimeoutSeconds: number,
): Promise<Joined> {
  const body = { secret, idle_timeout_seconds: idleTimeoutSeconds };
  const answer = await new Turns().ask(() => api.ask('PUT', '/lobbies', authorization, body));
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
