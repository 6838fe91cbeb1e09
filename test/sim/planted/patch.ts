import type { Feature } from '../features.ts';

/** A bug that is put into the program to test whether the simulation finds it. */
interface Bug {
  /** The name that activates it. */
  readonly name: string;
  /** The bug's consequence, in one line. */
  readonly about: string;
  /** The features of every seed, for a bug that few seeds show. */
  readonly features?: readonly Feature[];
  /** The database is lost in every seed. */
  readonly outages?: boolean;
}

/**
 * A bug in the text of a source: most bugs are in the middle of a method, where nothing could be overridden.
 * `from` must occur exactly once. A replaced statement declares nothing.
 */
interface SourceBug extends Bug {
  readonly file: string;
  readonly kind: 'expression' | 'statement';
  readonly from: string;
  /** Where `from` begins in the file, for a generated patch; otherwise `from` is searched for. */
  readonly at?: number;
  readonly to: string;
}

/** A bug in a model of the simulation, which checks for its name. */
interface ModelBug extends Bug {
  readonly model: true;
}

export type Patch = SourceBug | ModelBug;
