import type { Prompts } from './commands.ts';
import { RpcError } from './link.ts';

/** Questions that may wait for the person's answer to an earlier one. */
const WAITING_MAX = 4;

/** Asks the person one question at a time, whichever applications ask, and refuses more than a few that wait. */
export function inTurn(page: Prompts): Prompts {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  const ask = (question: () => Promise<boolean>): Promise<boolean> => {
    if (waiting > WAITING_MAX)
      return Promise.reject(
        new RpcError('RATE_LIMITED', 'Other questions wait for an answer; ask again later.'),
      );
    waiting += 1;
    const answer = last.then(question).finally(() => {
      waiting -= 1;
    });
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    locale: page.locale,
    openExternal: (url) => page.openExternal(url),
    consent: (request) => ask(() => page.consent(request)),
    confirm: (question) => ask(() => page.confirm(question)),
  };
}
