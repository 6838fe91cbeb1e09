// Goal: whatever body is answered 2xx, bots of three unmodified libraries with every cache on take in what comes of it,
// and the answer fits the published file. `npm run fuzz -- clients` sends 200,000 bodies; these are a few of a fixed seed.
import { expect, test } from 'vitest';
import { described, runClients } from '../fuzz/clients/run.ts';

const SEED = 11;
const BODIES = 400;

test(`discord.js, eris and oceanic.js survive ${BODIES} generated bodies, of which many are accepted`, async () => {
  const { bodies, found, outcomes } = await runClients(BODIES, SEED);
  expect(found.map((each) => described(each, SEED))).toEqual([]);
  expect(bodies).toBe(BODIES);
  const times = (to: string, status: RegExp) =>
    [...outcomes].reduce(
      (sum, [key, count]) => (key.startsWith(to) && status.test(key) ? sum + count : sum),
      0,
    );
  for (const to of ['create_message', 'update_message', 'update_channel', 'create_lobby', 'update_guild'])
    expect(times(to, / 2\d\d$/), `${to} accepted`).toBeGreaterThan(0);
  expect(times('', / 2\d\d$/)).toBeGreaterThan(BODIES / 4);
  expect(times('', / 4\d\d$/)).toBeGreaterThan(BODIES / 10);
  expect(times('op 3', /sent$/)).toBeGreaterThan(0);
});
