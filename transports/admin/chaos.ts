import { chaosRule } from '../../protocol/chaos.ts';
import { isRecord } from '../../protocol/json.ts';
import { type AdminAnswer, AdminError, type AdminRoute, type Operated } from './route.ts';

type Control = NonNullable<Operated['chaos']>;

const route = (
  method: 'GET' | 'POST',
  path: string,
  run: (chaos: Control, body: unknown) => AdminAnswer,
): AdminRoute => ({
  method,
  path,
  async handle({ chaos }, { body }) {
    if (chaos) return run(chaos, body);
    const message = 'This server injects no failures: start it with `guildhall dev --chaos <file>`.';
    throw new AdminError(409, 'no_chaos', message);
  },
});

/** Routes for failures that are injected into a development server. */
export const chaosRoutes: readonly AdminRoute[] = [
  route('GET', '/chaos', (chaos) => ({ status: 200, body: { rules: chaos.list() } })),
  route('POST', '/chaos', (chaos, body) => {
    try {
      return { status: 201, body: { id: chaos.add(chaosRule(body)) } };
    } catch (error) {
      if (error instanceof RangeError) throw new AdminError(400, 'invalid_rule', error.message);
      throw error;
    }
  }),
  route('POST', '/chaos/remove', (chaos, body) => {
    const id = isRecord(body) ? body.id : undefined;
    if (typeof id !== 'string') throw new AdminError(400, 'invalid_body', 'Give the id of a rule.');
    if (!chaos.remove(id)) throw new AdminError(404, 'unknown_rule', `There is no rule ${id}.`);
    return { status: 204 };
  }),
  route('POST', '/chaos/clear', (chaos) => {
    chaos.clear();
    return { status: 204 };
  }),
];
