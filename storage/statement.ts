/**
 * One row's worth of a set-based statement. `sql` takes a single parameter, `$1::jsonb`, an array of `row`s, and
 * reads it with `jsonb_to_recordset`. Statements with the same text that follow each other in a group commit are
 * sent as one, with all their rows.
 */
export interface Statement {
  readonly sql: string;
  readonly row: object;
}

/** How the facts of one topic reach their tables. Ephemeral facts answer an empty list. */
export type StatementTable<Facts extends Record<string, object>> = {
  readonly [K in keyof Facts]: (ownerId: string, fact: Facts[K]) => readonly Statement[];
};

export const none = (): readonly Statement[] => [];
