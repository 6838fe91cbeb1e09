import { defineConfig } from 'vite';

/** Builds the page into what the server serves under /voice-room/. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/voice-room/',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
});
