#!/usr/bin/env -S node --max-semi-space-size=64 --wasm-tiering-budget=40000000
// Objects of one request fill the young generation quickly: with the default of 16 MB many are copied repeatedly. V8 optimizes
// a function of the embedded database after 40 million bytes of its code have run instead of 2 million: optimizing early costs
// CPU and memory at every start. `npm start` passes the same flags.
import { untilToldToStop } from './cli/signals.ts';

/** Commands that run a server. The others end at a signal as any program does, unless they handle it. */
const SERVERS = new Set(['start', 'dev', 'shard']);

const command = process.argv[2] ?? '';
if (SERVERS.has(command)) void untilToldToStop(command === 'shard');
// Imported only now, because loading the rest takes long enough for a signal to arrive meanwhile.
const { runProcess } = await import('./cli/process.ts');
await runProcess(import.meta.url);
