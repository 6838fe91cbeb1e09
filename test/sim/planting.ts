import { workerData } from 'node:worker_threads';

/** The active planted bug, or ''. Read by the patches of a build and by the models of this folder. */
export const planted: { name: string } = {
  name: String((workerData as { planted?: string } | null)?.planted ?? ''),
};

/** Bugs whose code has run, while `RECORDING` is active. */
export const reached = new Set<string>();

/** Called by the code that a patch inserts, which cannot import. */
Object.defineProperty(globalThis, 'isPlanted', {
  value: (name: string) => {
    if (planted.name === RECORDING) reached.add(name);
    return planted.name === name;
  },
});

/** Instead of the name of a bug: no bug is active, and `reached` is recorded. */
export const RECORDING = '(recording)';
