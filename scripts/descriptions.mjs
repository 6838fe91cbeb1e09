// A step of a build: writes the descriptions of the interface, which the package contains, for a server of `guildhall dev`,
// and the commit.
import { readFileSync, writeFileSync } from 'node:fs';
import { asyncApi } from '../dist/transports/description/asyncapi.js';
import { openApi } from '../dist/transports/rest/openapi.js';
import { withCommit } from './commit.mjs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const write = (name, document) =>
  writeFileSync(new URL(`../dist/${name}`, import.meta.url), `${JSON.stringify(document)}\n`);

write('asyncapi.json', asyncApi(version, 'ws://127.0.0.1:3000'));
write('openapi.json', openApi(version, 'http://127.0.0.1:3000/api/v10'));

const module = new URL('../dist/sdk/version.js', import.meta.url);
writeFileSync(module, withCommit(readFileSync(module, 'utf8')));
