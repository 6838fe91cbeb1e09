import { CommandError } from '../../cli/world.ts';
import { present } from '../../protocol/present.ts';
import type { Allowance, Guest } from './seats.ts';
import { MORE } from './verdict.ts';

const ANSWER_TIMEOUT_MS = 10_000;
const ASKING_AT_ONCE = 16;
const GUILDS_LOOKED_AT = 10;
const TEXT_CHANNEL = 0;
const PROBES_MAX = 3;
const PROBE_WAIT_MAX_S = 30;
/** Share of a limit that is used, so that the rate stays below it. */
const MARGIN = 0.9;

export const authorizationOf = (token: string): string => (token.includes(' ') ? token : `Bot ${token}`);
export const bareToken = (token: string): string => token.slice(token.indexOf(' ') + 1);
const isBot = (token: string): boolean => authorizationOf(token).startsWith('Bot ');

async function ask(api: URL, path: string, token: string, body?: object): Promise<Response | null> {
  const headers = {
    authorization: authorizationOf(token),
    'user-agent': 'guildhall-bench',
    'content-type': 'application/json',
  };
  const post = body && { method: 'POST', body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  return fetch(`${api.href.replace(/\/$/, '')}/v10${path}`, { headers, signal, ...post }).catch(() => null);
}

async function read<T>(api: URL, path: string, token: string): Promise<T | null> {
  const reply = await ask(api, path, token);
  return reply?.ok ? ((await reply.json().catch(() => null)) as T | null) : null;
}

interface GatewayBot {
  readonly shards?: number;
  readonly session_start_limit?: { readonly max_concurrency?: number; readonly remaining?: number };
}

const atLeastOne = (value: unknown): number => Math.max(1, Math.floor(Number(value)) || 1);

/** The server's limits for each token. @throws CommandError when the server does not know a token. */
export async function guestsOf(api: URL, tokens: readonly string[]): Promise<Guest[]> {
  const guests: Guest[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < tokens.length) {
      const at = next;
      next += 1;
      const token = present(tokens[at]);
      guests[at] = {
        token: bareToken(token),
        allowance: isBot(token) ? await allowanceOf(api, token) : null,
      };
    }
  };
  await Promise.all(Array.from({ length: Math.min(ASKING_AT_ONCE, tokens.length) }, lane));
  return guests;
}

async function allowanceOf(api: URL, token: string): Promise<Allowance> {
  const reply = await ask(api, '/gateway/bot', token);
  if (reply?.status === 401)
    throw new CommandError('The server does not know the token.', 'Use the token of a bot of that server.');
  const { shards, session_start_limit: limit }: GatewayBot = reply?.ok
    ? ((await reply.json()) as GatewayBot)
    : {};
  const remaining = Number(limit?.remaining ?? Number.POSITIVE_INFINITY);
  return {
    shards: atLeastOne(shards),
    maxConcurrency: atLeastOne(limit?.max_concurrency),
    remaining: Number.isNaN(remaining) ? Number.POSITIVE_INFINITY : Math.max(0, remaining),
  };
}

/** The channel to which messages are sent. */
export interface BenchGuild {
  readonly guildId: string | null;
  readonly channelId: string;
}

/** The named channel, or the first text channel of the first guild that has one; null when REST does not tell. */
export async function placeOf(api: URL, token: string, channelId: string | null): Promise<BenchGuild | null> {
  if (channelId !== null) {
    const channel = await read<{ guild_id?: string }>(api, `/channels/${channelId}`, token);
    return { guildId: channel?.guild_id ?? null, channelId };
  }
  const guilds = await read<{ id: string }[]>(api, '/users/@me/guilds', token);
  for (const { id } of Array.isArray(guilds) ? guilds.slice(0, GUILDS_LOOKED_AT) : []) {
    const channels = await read<{ id: string; type: number }[]>(api, `/guilds/${id}/channels`, token);
    const found = Array.isArray(channels) && channels.find(({ type }) => type === TEXT_CHANNEL);
    if (found) return { guildId: id, channelId: found.id };
  }
  return null;
}

interface SendPace {
  /** Null when the server reports no limit. */
  readonly perSecond: number | null;
  /** When the first message may be sent, Unix ms: by then the probe no longer counts against the limit. */
  readonly freeAtMs: number;
}

/**
 * How many messages per second the server lets a bot create in a channel. Only the answer to a message reports that, so one
 * message is sent, which is not counted.
 *
 * @source https://docs.discord.com/developers/topics/rate-limits#header-format
 */
export async function allowedSends(api: URL, token: string, channelId: string): Promise<SendPace> {
  let status = 0;
  for (let tries = 0; tries < PROBES_MAX; tries += 1) {
    const content = 'guildhall bench asks how often it may send here';
    const reply = await ask(api, `/channels/${channelId}/messages`, token, { content });
    const header = (name: string): number => Number(reply?.headers.get(name) ?? Number.NaN);
    await reply?.arrayBuffer().catch(() => null);
    status = reply?.status ?? 0;
    if (!reply || (!reply.ok && status !== 429)) break;
    const [limit, left] = [header('x-ratelimit-limit'), header('x-ratelimit-remaining')];
    const windowS = header('x-ratelimit-reset-after');
    if (reply.ok && !(limit > 0 && windowS > 0)) return { perSecond: null, freeAtMs: 0 };
    // Only the first message of a window sees its full duration.
    if (reply.ok && left === limit - 1)
      return { perSecond: (limit / windowS) * MARGIN, freeAtMs: Date.now() + windowS * 1000 };
    const waitS = Math.min(PROBE_WAIT_MAX_S, windowS || header('retry-after') || 1);
    await new Promise((resolve) => setTimeout(resolve, waitS * 1000 + 50));
  }
  if (status >= 200 && status < 300) return { perSecond: null, freeAtMs: 0 };
  throw new CommandError(
    `The run failed: its first message was ${status === 0 ? 'not answered' : `answered ${status}`}.`,
    status === 429 ? MORE : 'Give the token of a bot that may write there, or name a channel with --channel.',
  );
}
