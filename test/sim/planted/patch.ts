import type { Feature } from '../features.ts';

/** A bug, to be put into the program when it is tested whether the simulation finds it. */
interface Bug {
  /** By which it is woken. */
  readonly name: string;
  /** What is wrong with it in, in a line. */
  readonly about: string;
  /** For a bug that few seeds show: what every seed has people do. */
  readonly features?: readonly Feature[];
}

/**
 * In the source, as it is read: most of these bugs are in the midst of a method, where nothing could be overridden.
 * `from` must be there once. A statement that is replaced declares nothing.
 */
interface SourceBug extends Bug {
  readonly file: string;
  readonly kind: 'expression' | 'statement';
  readonly from: string;
  /** Where `from` begins in the file, for a patch that a program has made; else it is looked for. */
  readonly at?: number;
  readonly to: string;
}

/** In a model of the simulation, which asks for its name. */
interface ModelBug extends Bug {
  readonly model: true;
}

export type Patch = SourceBug | ModelBug;
