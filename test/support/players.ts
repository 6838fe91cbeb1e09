import type { ErrorBody, RestClient } from './rest-client.ts';
import type { TestServer } from './server.ts';

/** A player authenticated by the bot of a game. */
export interface Player {
  readonly id: string;
  readonly token: string;
  readonly rest: RestClient;
}

/** A player by the name that the game at `index` has for them. */
export async function playerOf(server: TestServer, name: string, index = 0): Promise<Player> {
  const body = { external_user_id: name };
  const made = await server.bot(index).call<{ access_token: string }>('bot_partner_sdk_token', { body });
  const rest = server.restOf(`Bearer ${made.access_token}`);
  return { id: (await rest.call<{ id: string }>('get_my_user')).id, token: made.access_token, rest };
}

/** Asks for what the published interface does not list, and for what no client would. */
export async function ask(
  server: TestServer,
  authorization: string | null,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
): Promise<{ readonly status: number; readonly body: ErrorBody }> {
  const response = await fetch(`${server.info.api}/v10${path}`, {
    method,
    headers: {
      ...(authorization !== null && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: (isJson && text !== '' ? JSON.parse(text) : null) as ErrorBody };
}
