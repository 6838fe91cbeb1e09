// `npm run fuzz`: generated inputs for everything that reads what strangers send. `FUZZ_FRAMES` is how many each target is
// given, `FUZZ_TARGETS` names some of them, `FUZZ_SEED` repeats a run, `FUZZ_SLOW_MS` is how long one call may take. A
// failure prints what repeats it. One line for each target: inputs, the slowest call, what came of them.
// `npm run fuzz -- clients --seed N --inputs N --from N` names targets and the rest on the command line. `clients` is run
// only when it is named: it starts a server and three bots, and 200,000 bodies take it minutes.
import { parseArgs } from 'node:util';
import { fuzzAuthorize, fuzzIdToken, fuzzPages, fuzzPresence } from './accounts.ts';
import { fuzzClients } from './clients/main.ts';
import { fuzzDelivery, fuzzMls } from './dave.ts';
import { fuzzGateway } from './gateway.ts';
import { fuzzLinks } from './links.ts';
import { fuzzMedia, fuzzStun } from './media.ts';
import { fuzzPeer, fuzzRtcp, fuzzRtp, fuzzSdp } from './parsers.ts';
import { fuzzRpc } from './rpc.ts';
import { fuzzFraming, fuzzVoice } from './voice.ts';
import { SLOW_MS, SLOW_ONCE_MS, type Target } from './watch.ts';

const TARGETS: Readonly<Record<string, Target>> = {
  gateway: fuzzGateway,
  voice: fuzzVoice,
  framing: fuzzFraming,
  media: (inputs, seed) => fuzzMedia(inputs, seed),
  stun: fuzzStun,
  rtp: fuzzRtp,
  rtcp: fuzzRtcp,
  sdp: fuzzSdp,
  peer: fuzzPeer,
  mls: fuzzMls,
  delivery: fuzzDelivery,
  authorize: fuzzAuthorize,
  pages: fuzzPages,
  idtoken: fuzzIdToken,
  presence: fuzzPresence,
  links: fuzzLinks,
  rpc: fuzzRpc,
};
const { values: OPTIONS, positionals: NAMED } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, inputs: { type: 'string' }, from: { type: 'string' } },
});
const INPUTS = Number(OPTIONS.inputs ?? process.env.FUZZ_FRAMES ?? 1_000_000);
const SEED = Number(OPTIONS.seed ?? process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const NAMES = NAMED.length > 0 ? NAMED : (process.env.FUZZ_TARGETS?.split(',') ?? Object.keys(TARGETS));
const CLIENT_BODIES = 200_000;

process.on('unhandledRejection', (error) => {
  console.error(`An unhandled rejection, seed ${SEED}:`, error);
  process.exit(1);
});

for (const name of NAMES) {
  if (name === 'clients') {
    const bodies = Number(OPTIONS.inputs ?? CLIENT_BODIES);
    if (!(await fuzzClients(bodies, SEED, Number(OPTIONS.from ?? 0)))) process.exitCode = 1;
    continue;
  }
  const target = TARGETS[name];
  if (!target) {
    console.error(`There is no target "${name}". The targets are ${Object.keys(TARGETS).join(', ')}.`);
    process.exit(2);
  }
  const startedMs = performance.now();
  try {
    const { inputs, slowestMs, slow, outcomes } = await target(INPUTS, SEED);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
    const sum = [...outcomes].sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }));
    console.log(
      `${name.padEnd(9)} ${inputs} inputs in ${seconds} s, slowest ${slowestMs.toFixed(1)} ms:`,
      sum.map(([outcome, times]) => `${outcome} ${times}`).join(', '),
    );
    if (slow > 0) throw new Error(`Over ${SLOW_MS} ms (or once over ${SLOW_ONCE_MS}): ${slow} calls.`);
  } catch (error) {
    console.error(`${name} failed with seed ${SEED}:`, error);
    process.exitCode = 1;
  }
}
