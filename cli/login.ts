import type { Command } from 'commander';
import { type Credentials, forgetCredentials, readCredentials, writeCredentials } from './credentials.ts';
import { CommandError, printResult, type World } from './world.ts';

interface LoginFlags {
  readonly url: string;
  readonly json?: true;
}

const TIMEOUT_MS = 15_000;
const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Adds `login` and `logout`: the person of this machine, for the commands that act for a person. */
export function addLoginCommands(program: Command, world: World): void {
  program
    .command('login')
    .description('sign in on this machine, with a code that you confirm in a browser')
    .option('--url <url>', 'the server', DEFAULT_URL)
    .option('--json', 'as JSON lines')
    .action((flags: LoginFlags) => login(world, flags));
  program
    .command('logout')
    .description('sign out on this machine')
    .option('--json', 'as one JSON line')
    .action((flags: { readonly json?: true }) => logout(world, flags.json === true));
}

/** The API of a server that is named by its address, with or without a path. */
export function apiOf(url: string): string {
  const base = url.replace(/\/+$/, '').replace(/\/api(\/v\d+)?$/, '');
  if (!URL.canParse(base) || !/^https?:/.test(base))
    throw new CommandError(`${url} is not a URL.`, 'Write --url http://127.0.0.1:3000, without a path.');
  return `${base}/api`;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A call to a server's API. @throws CommandError when no server answers */
export async function callApi(
  api: string,
  path: string,
  { token, body }: { readonly token?: string; readonly body?: object } = {},
): Promise<Answer> {
  const sent = body !== undefined;
  const response = await fetch(`${api}/v10${path}`, {
    method: sent ? 'POST' : 'GET',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(sent && { 'content-type': 'application/json' }),
    },
    ...(sent && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: Error) => {
    throw new CommandError(`No server answers at ${api}.`, 'Name the server with --url.', { cause });
  });
  const text = await response.text();
  try {
    const value: unknown = text === '' ? {} : JSON.parse(text);
    if (typeof value === 'object' && value !== null)
      return { status: response.status, body: value as Answer['body'] };
  } catch {
    // Answered below.
  }
  throw new CommandError(`${api} does not answer as this server does (${response.status}).`, 'Check --url.');
}

async function login(world: World, flags: LoginFlags): Promise<void> {
  const api = apiOf(flags.url);
  const begun = await callApi(api, '/auth/device', { body: {} });
  if (begun.status !== 200) throw refused(begun);
  const { device_code: code, user_code: userCode, verification_uri_complete: page } = begun.body;
  printResult(world, flags.json === true, { user_code: userCode, verification_uri: page }, [
    `Open  ${String(page)}`,
    `and confirm the code  ${String(userCode)}`,
  ]);
  const session = await answered(world, api, {
    code: String(code),
    intervalSec: Number(begun.body.interval),
  });
  const token = String(session.token);
  const { body: user } = await callApi(api, '/users/@me', { token });
  const credentials: Credentials = {
    ...{ api, token, user_id: String(session.user_id), username: String(user.username) },
  };
  const path = await writeCredentials(world, credentials);
  const { user_id, username } = credentials;
  printResult(world, flags.json === true, { api, user_id, username }, [
    `Signed in as ${username}. The token is in ${path}, which only you can read.`,
    'Next: guildhall rpc shows what your games do to your friends.',
  ]);
}

/** Polls until the person has answered. */
async function answered(
  world: World,
  api: string,
  { code, intervalSec }: { readonly code: string; readonly intervalSec: number },
): Promise<Answer['body']> {
  let waitSec = intervalSec;
  for (;;) {
    await world.pause(waitSec * 1000);
    const answer = await callApi(api, '/auth/device/token', { body: { device_code: code } });
    if (answer.status === 200) return answer.body;
    if (answer.body.error === 'slow_down') waitSec += 5;
    else if (answer.body.error !== 'authorization_pending') throw refused(answer);
  }
}

function refused({ status, body }: Answer): CommandError {
  const { error, error_description: description, message } = body;
  if (error === 'access_denied')
    return new CommandError('You refused the sign-in.', 'Begin again to sign in.');
  if (error === 'expired_token')
    return new CommandError('The code was not confirmed in time.', 'Begin again: guildhall login.');
  const why = description ?? message ?? status;
  return new CommandError(`The server refused: ${String(why)}`, 'Check --url.');
}

async function logout(world: World, isJson: boolean): Promise<void> {
  const credentials = await readCredentials(world);
  if (credentials === null)
    throw new CommandError('No account is signed in on this machine.', 'Sign in with guildhall login.');
  // The token is forgotten here also when its server is gone.
  const { api, token } = credentials;
  const ended = await callApi(api, '/auth/logout', { token, body: {} }).catch(() => null);
  await forgetCredentials(world);
  printResult(world, isJson, { signed_out: true, revoked: ended?.status === 204 }, [
    ended?.status === 204 ? 'Signed out.' : 'Signed out on this machine. The server could not be reached.',
  ]);
}
