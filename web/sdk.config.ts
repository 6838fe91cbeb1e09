import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

/** With the commit, which an earlier step of the build has written. */
const builtVersion = (): string => readFileSync(`${import.meta.dirname}/../dist/sdk/version.js`, 'utf8');

/** Builds the client library as one script for pages without a bundler: `<script src="sdk.js">` defines `Guildhall`. */
export default defineConfig({
  root: `${import.meta.dirname}/..`,
  publicDir: false,
  plugins: [{ name: 'commit', load: (id) => (id.endsWith('/sdk/version.ts') ? builtVersion() : null) }],
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    target: 'es2022',
    lib: { entry: 'sdk/index.ts', name: 'Guildhall', formats: ['iife'], fileName: () => 'sdk.js' },
  },
});
