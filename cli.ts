#!/usr/bin/env -S node --max-semi-space-size=64
// Objects of one request fill the young generation quickly: with the default of 16 MB many are copied repeatedly.
// `npm start` passes the same flag.
import { untilToldToStop } from './cli/signals.ts';

/** Commands that run a server. The others end at a signal as any program does, unless they handle it. */
const SERVERS = new Set(['start', 'dev', 'shard']);

const command = process.argv[2] ?? '';
if (SERVERS.has(command)) void untilToldToStop(command === 'shard');
// Imported only now, because loading the rest takes long enough for a signal to arrive meanwhile.
const { runProcess } = await import('./cli/process.ts');
await runProcess(import.meta.url);
