import { defineConfig } from 'vite';

const page = (name: string): string => `${import.meta.dirname}/${name}.html`;

/** Builds the pages that the server serves under /voice-room/. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/voice-room/',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: [page('index'), page('players/index'), page('players/callback')] },
  },
  worker: { format: 'es' },
});
