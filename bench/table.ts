/** Columns and their values, in order. */
export type TableRow = readonly (readonly [column: string, value: string | number])[];

const cell = (value: string | number): string =>
  /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

/** CSV: a header line, and a line of plain values per row. */
export function csvTable(rows: readonly TableRow[]): string {
  const header = (rows[0] ?? []).map(([column]) => column);
  return `${[header, ...rows.map((row) => row.map(([, value]) => value))].map((cells) => cells.map(cell).join(',')).join('\n')}\n`;
}

/** Figures in two columns. */
export function figureLines(figures: TableRow): string[] {
  const width = Math.max(...figures.map(([name]) => name.length));
  return figures.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}

/** Figures in two columns, the headline last so that it stays visible on the screen. */
export function columnsOf(figures: TableRow, headline: string): string {
  return [...figureLines(figures), '', headline].join('\n');
}
