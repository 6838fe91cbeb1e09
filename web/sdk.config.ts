import { defineConfig } from 'vite';
import { withCommit } from '../scripts/commit.mjs';

/** Builds the client library as one script for pages without a bundler: `<script src="sdk.js">` defines `Guildhall`. */
export default defineConfig({
  root: `${import.meta.dirname}/..`,
  publicDir: false,
  plugins: [
    { name: 'commit', transform: (code, id) => (id.endsWith('/sdk/version.ts') ? withCommit(code) : null) },
  ],
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    target: 'es2022',
    lib: { entry: 'sdk/index.ts', name: 'Guildhall', formats: ['iife'], fileName: () => 'sdk.js' },
  },
});
