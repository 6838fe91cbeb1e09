import { defineConfig } from 'vitest/config';

/** Unit, property and suite tests. End-to-end tests have a project of their own: they start real processes. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/suites/**', 'node_modules/**'],
          pool: 'threads',
        },
      },
      {
        test: {
          name: 'suites',
          include: ['test/suites/**/*.test.ts'],
          globalSetup: ['test/support/postgres.setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          pool: 'forks',
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/e2e.setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          pool: 'forks',
        },
      },
    ],
  },
});
