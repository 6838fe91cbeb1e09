import { measureActors } from './part.actors.ts';
import { measureBatches } from './part.batch.ts';
import { measureBytes } from './part.bytes.ts';
import { measureFanout } from './part.fanout.ts';
import { measureIdentify } from './part.identify.ts';
import { measureJournal } from './part.journal.ts';
import { measureLatency } from './part.latency.ts';
import { measureLinks } from './part.links.ts';
import { measureMemory } from './part.memory.ts';
import { measureResume } from './part.resume.ts';
import { runParts } from './parts.ts';

const ROUNDS = 7;

await runParts(
  {
    g1: measureFanout,
    g1b: measureBatches,
    g2: measureBytes,
    g3: measureMemory,
    g4: measureActors,
    g7: measureLatency,
    links: measureLinks,
    g9: measureResume,
    g9journal: measureJournal,
    g21: measureIdentify,
  },
  ROUNDS,
);
process.exit();
