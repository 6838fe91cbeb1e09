import { defineConfig } from 'vite';

const page = (name: string): string => `${import.meta.dirname}/${name}.html`;

/** The playground is served at `/`; its files and the other pages under `/voice-room/`. */
const PAGES = ['index', 'players/index', 'players/callback', 'playground/index', 'console/index'];

/** Builds the pages that the server serves. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/voice-room/',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: PAGES.map(page) },
  },
  worker: { format: 'es' },
});
