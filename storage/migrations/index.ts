import { foundation } from './0001_foundation.ts';
import { stages } from './0002_stages.ts';

/** One step of the schema. A step that was released is never edited: its checksum is in every database. */
export interface Migration {
  /** 1, 2, 3, … without a gap. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'foundation', sql: foundation },
  { version: 2, name: 'stages', sql: stages },
];
