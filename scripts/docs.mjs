// `npm run docs`: builds the documentation into dist/docs, as files that any web server can serve.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'vite';
import { siteOf } from './docs/site.mjs';
import { checkNode, ensureInstalled, ROOT, say } from './prepare.mjs';

checkNode();
ensureInstalled();

const OUT = join(ROOT, 'dist', 'docs');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
rmSync(OUT, { recursive: true, force: true });

const { output } = await build({ configFile: join(ROOT, 'web/docs/vite.config.ts'), logLevel: 'warn' });
const css = readFileSync(join(ROOT, 'web/docs/docs.css'), 'utf8');
const style = `assets/docs-${createHash('sha256').update(css).digest('hex').slice(0, 8)}.css`;
const files = siteOf(ROOT, { script: output[0].fileName, style }, version);
files.set(style, css);
for (const [path, text] of files) {
  mkdirSync(dirname(join(OUT, path)), { recursive: true });
  writeFileSync(join(OUT, path), text);
}
writeFileSync(join(OUT, 'icon.svg'), readFileSync(join(ROOT, 'web/icon.svg')));
if (process.argv[2] !== '--quiet')
  say(`${files.size} files of documentation are in ${OUT}; start with index.html.`);
