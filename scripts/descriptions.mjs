// A step of a build: writes the descriptions of the interface, which the package contains, for a server of `guildhall dev`.
import { readFileSync, writeFileSync } from 'node:fs';
import { asyncApi } from '../dist/transports/description/asyncapi.js';
import { openApi } from '../dist/transports/rest/openapi.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const write = (name, document) =>
  writeFileSync(new URL(`../dist/${name}`, import.meta.url), `${JSON.stringify(document)}\n`);

write('asyncapi.json', asyncApi(version, 'ws://127.0.0.1:3000'));
write('openapi.json', openApi(version, 'http://127.0.0.1:3000/api/v10'));
