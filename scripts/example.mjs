// `npm run example`: installs and builds what is missing, then runs examples/embed.ts, or the example that is named:
// `npm run example -- lobby-chat <secret> <name>`.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkNode, ensureBuilt, ensureInstalled } from './prepare.mjs';

checkNode();
ensureInstalled();
ensureBuilt();
const [name = 'embed'] = process.argv.splice(2, 1);
const file = new URL(`../dist/examples/${name}.js`, import.meta.url);
if (/^[\w-]+$/.test(name) && existsSync(fileURLToPath(file))) await import(file.href);
else {
  process.stderr.write(`There is no example "${name}". They are the files of examples/.\n`);
  process.exitCode = 2;
}
