/** A mutation, why no promise depends on it, and text of the line where `from` stands elsewhere in the file too. */
export type Row = readonly [file: string, from: string, to: string, why: string, on?: string];
