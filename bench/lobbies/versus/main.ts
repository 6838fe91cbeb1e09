import { runParts } from '../../fanout/parts.ts';
import { measureMemory } from './part.memory.ts';
import { measureSessions } from './part.sessions.ts';
import { measureUpdates } from './part.updates.ts';

const ROUNDS = 5;

await runParts({ g8memory: measureMemory, g8updates: measureUpdates, g20: measureSessions }, ROUNDS);
process.exit();
