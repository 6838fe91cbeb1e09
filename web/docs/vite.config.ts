import { defineConfig } from 'vite';

/** Builds the script of the documentation; `scripts/docs.mjs` adds the style sheet and the pages. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  build: {
    outDir: '../../dist/docs',
    emptyOutDir: false,
    target: 'es2022',
    reportCompressedSize: false,
    rolldownOptions: {
      input: `${import.meta.dirname}/main.ts`,
      output: {
        format: 'iife',
        entryFileNames: 'assets/docs-[hash].js',
      },
    },
  },
});
