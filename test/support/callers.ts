import { expect } from 'vitest';
import { ask } from './players.ts';
import type { TestServer } from './server.ts';

/** Calls an operation by its method and path, as in `GET /users/@me`; any reply but a 2xx fails the test. */
export type Caller = <T = undefined>(request: string, body?: unknown) => Promise<T>;

/** A caller by a whole Authorization header; null: without. */
export function callerOf(server: TestServer, authorization: string | null): Caller {
  return async <T>(request: string, body?: unknown) => {
    const [method = '', path = ''] = request.split(' ');
    const reply = await ask(server, authorization, [method, path, body]);
    if (reply.status >= 300)
      expect.fail(`${request} was answered ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  };
}
