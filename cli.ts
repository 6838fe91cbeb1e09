#!/usr/bin/env node
import { untilToldToStop } from './cli/signals.ts';

/** Commands that open something. The others end by a signal as any program does, unless they ask for it. */
const SERVERS = new Set(['start', 'dev', 'shard']);

const command = process.argv[2] ?? '';
if (SERVERS.has(command)) void untilToldToStop(command === 'shard');
// Only then the rest, which takes long enough for a signal to come meanwhile.
const { runProcess } = await import('./cli/process.ts');
await runProcess(import.meta.url);
