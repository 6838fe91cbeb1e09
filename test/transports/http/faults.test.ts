// Goal: calls that fail for one cause fill no log.
import { expect, test } from 'vitest';
import { anything } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../../../transports/rest/operation.ts';
import { startApi } from '../../support/rest.ts';

test('thousands of calls that fail while the database is away leave few lines in the log', async () => {
  const lines: object[] = [];
  const logger = { error: (line: object) => void lines.push(line) };
  const operations = resource({
    get_gateway: op({
      ...{ method: 'GET', path: '/gateway', auth: 'none', status: 200, reply: anything },
      bucket: { per: null, limit: 1_000, windowMs: 1_000 },
      handle: () => Promise.reject(new Error('the database is away')),
    }),
  });
  const { server, url, clock } = await startApi(operations, { logger: logger as never });
  const fail = async (times: number) => {
    for (let n = 0; n < times; n += 1) expect((await fetch(`${url}/api/v10/gateway`)).status).toBe(503);
  };
  await fail(30);
  expect(lines).toHaveLength(20);
  clock.advance(10_000);
  await fail(1);
  expect(lines[20]).toMatchObject({ operationId: 'get_gateway', omitted_before: 10 });
  server.close();
});
