// `npm start`: installs and builds what is missing, then runs the server. Arguments pass through:
// `npm start -- --port 4000`, or `npm start -- start --host 0.0.0.0`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, ROOT } from './prepare.mjs';

checkNode();
ensureInstalled();
ensureBuilt();

const given = process.argv.slice(2);
const isCommand = given[0] !== undefined && !given[0].startsWith('-');
if (!isCommand) process.argv.splice(2, 0, isConfigured() ? 'start' : 'dev');
await import(new URL('../dist/cli.js', import.meta.url).href);

/** A settings file or a database: what makes this more than a place to try things. */
function isConfigured() {
  const { GUILDHALL_CONFIG, GUILDHALL_DATABASE_URL, DATABASE_URL } = process.env;
  return (
    Boolean(GUILDHALL_CONFIG || GUILDHALL_DATABASE_URL || DATABASE_URL) ||
    existsSync(join(ROOT, 'guildhall.yaml'))
  );
}
