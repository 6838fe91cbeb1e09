// The program from its modules as they were built one by one: in its bundle `walk.mjs` could not tell files apart.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { runProcess } = await import(pathToFileURL(join(process.env.WALK_DIST, 'cli/process.js')).href);
await runProcess(import.meta.url);
