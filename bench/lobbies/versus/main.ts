import { runParts } from '../../fanout/parts.ts';
import { measureMemory } from './part.memory.ts';
import { measureUpdates } from './part.updates.ts';

const ROUNDS = 5;

await runParts({ g8memory: measureMemory, g8updates: measureUpdates }, ROUNDS);
process.exit();
