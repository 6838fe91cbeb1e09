import { workerData } from 'node:worker_threads';

/** Which planted bug is in; '' is none. Read where a patched build looks for it, and by the models of this folder. */
export const planted: { name: string } = {
  name: String((workerData as { planted?: string } | null)?.planted ?? ''),
};

/** Bugs whose place has run, while that is recorded. */
export const reached = new Set<string>();

/** For code that a patch has put in: it imports nothing. */
Object.defineProperty(globalThis, 'isPlanted', {
  value: (name: string) => {
    if (planted.name === RECORDING) reached.add(name);
    return planted.name === name;
  },
});

/** In place of a bug's name: all are asleep, and `reached` is kept. */
export const RECORDING = '(recording)';
