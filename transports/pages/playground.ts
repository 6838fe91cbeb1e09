import { networkOf } from '../../protocol/addresses.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { SignInCodes } from '../../services/accounts/signincodes.ts';
import { Exchange } from '../http/exchange.ts';
import type { Installer } from '../http/server.ts';
import { cookieJar, readCookie } from './cookies.ts';
import { isOwnOrigin } from './origin.ts';
import type { PagesDeps } from './routes.ts';

interface PlaygroundDeps extends PagesDeps {
  readonly codes: Pick<SignInCodes, 'redeem'>;
}

/** The header that carries the one-time code: neither URLs nor logs contain it. */
const CODE_HEADER = /^Code ([\w-]{32})$/;
const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
};

interface Answer {
  readonly status: number;
  readonly body: object;
}

const no = (status: number, message: string): Answer => ({ status, body: { message } });
const FOREIGN = no(403, 'This request was not sent by a page of this server.');
const BUSY = no(429, 'There were too many sign-ins from here. Try again in a minute.');
const USED = no(401, 'This link was used before, or is too old.');
const SIGNED_OUT = no(401, 'No account is signed in in this browser.');

/**
 * Signs the playground in, with POST from its own page only: `/playground/code` takes a one-time code, and
 * `/playground/session` the cookie of a browser that has signed in on the pages. Both issue a user token of their own, which
 * signing out revokes.
 */
export const playgroundRoutes =
  (deps: PlaygroundDeps): Installer =>
  (app, state) => {
    const route = (path: string, sign: (exchange: Exchange) => Promise<Answer>): void => {
      app.post(path, (res, req) => {
        const exchange = new Exchange(res, req, state);
        const answering = guarded(exchange, deps, sign)
          .catch((err: unknown) => {
            deps.logger.error({ err, path }, 'Signing the playground in failed.');
            return no(503, 'Something failed here. Try again in a moment.');
          })
          .then(({ status, body }) => exchange.send(status, HEADERS, JSON.stringify(body)));
        void state.run(answering);
      });
    };
    route('/playground/code', (exchange) => byCode(exchange, deps));
    route('/playground/session', (exchange) => byCookie(exchange, deps));
  };

async function guarded(
  exchange: Exchange,
  deps: PlaygroundDeps,
  sign: (exchange: Exchange) => Promise<Answer>,
): Promise<Answer> {
  if (!isOwnOrigin(exchange, deps.fixedUrl)) return FOREIGN;
  const address = exchange.address(deps.trustProxy);
  if ((deps.watch?.blockedMs(address) ?? 0) > 0 || deps.take('form', networkOf(address)) > 0) return BUSY;
  return sign(exchange);
}

async function byCode({ headers }: Exchange, deps: PlaygroundDeps): Promise<Answer> {
  const code = CODE_HEADER.exec(headers.get('authorization') ?? '')?.[1];
  const entry = code === undefined ? null : deps.codes.redeem(code);
  if (entry === null) return USED;
  return { status: 200, body: { ...(await issued(entry.userId, deps)), demo: entry.demo } };
}

async function byCookie({ headers }: Exchange, deps: PlaygroundDeps): Promise<Answer> {
  const jar = cookieJar(deps.publicUrl().startsWith('https:'));
  const cookie = readCookie(headers.get('cookie'), jar.session);
  const browser = cookie === null ? null : await deps.accounts.browserSession(cookie);
  if (browser === null) return SIGNED_OUT;
  return { status: 200, body: { ...(await issued(browser.userId, deps)), demo: null } };
}

const issued = async (userId: UserId, { accounts }: PlaygroundDeps) => ({
  token: (await accounts.issueToken(userId)).reveal(),
});
