// `npm start`: installs and builds what is missing, then runs the server. Arguments pass through:
// `npm start -- --port 4000`, or `npm start -- start --host 0.0.0.0`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureDocs, ensureInstalled, ROOT } from './prepare.mjs';

const WATCH_MS = 500;

checkNode();
ensureInstalled();
ensureBuilt();
ensureDocs();

const given = process.argv.slice(2);
const isCommand = given[0] !== undefined && !given[0].startsWith('-');
if (!isCommand) process.argv.splice(2, 0, isConfigured() ? 'start' : 'dev');
stopWithNpm();
await import(new URL('../dist/cli.js', import.meta.url).href);

/**
 * npm hands no signal on to what it runs: stopped by a supervisor, it would leave the server behind. So the server
 * drains, as on SIGTERM, when the npm that started it is gone.
 */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event !== 'start') return;
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, WATCH_MS);
  watch.unref();
}

/** A settings file or a database: what makes this more than a place to try things. */
function isConfigured() {
  const { GUILDHALL_CONFIG, GUILDHALL_DATABASE_URL, DATABASE_URL } = process.env;
  return (
    Boolean(GUILDHALL_CONFIG || GUILDHALL_DATABASE_URL || DATABASE_URL) ||
    existsSync(join(ROOT, 'guildhall.yaml'))
  );
}
