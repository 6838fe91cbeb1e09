// `npm run example`: installs and builds what is missing, then runs examples/embed.ts.
import { checkNode, ensureBuilt, ensureInstalled } from './prepare.mjs';

checkNode();
ensureInstalled();
ensureBuilt();
await import(new URL('../dist/examples/embed.js', import.meta.url).href);
