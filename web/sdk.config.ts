import { defineConfig } from 'vite';

/** Builds the client library as one script for pages without a bundler: `<script src="sdk.js">` defines `Guildhall`. */
export default defineConfig({
  root: `${import.meta.dirname}/..`,
  publicDir: false,
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    target: 'es2022',
    lib: { entry: 'sdk/index.ts', name: 'Guildhall', formats: ['iife'], fileName: () => 'sdk.js' },
  },
});
